import { Anchor } from "@mantine/core";
import { Link } from "@tanstack/react-router";
import type { ReactNode } from "react";
import type { PlaygroundResponse } from "../../api/playground.ts";
import { LensLink } from "../../components/lens-link.tsx";
import { formatMoney, toNumber } from "../../format/format-money.ts";
import { formatCount, formatMs } from "../../format/format-time.ts";
import classes from "./playground.module.css";

export function ResponseSummary({ response, walletId }: { response: PlaygroundResponse; walletId: string }) {
  const { headers, status, ms, answer, problem } = response;
  const id = headers.get("request-id") ?? problem?.requestId;
  const lens = headers.get("rank-lens");
  const upstreams = headers.get("search-upstreams");
  const lines: [string, ReactNode][] = [
    ["Status", problem ? `${status}, ${problem.message}` : String(status)],
    ...(answer ? [["Results", formatCount(answer.n, "result")] as [string, ReactNode]] : []),
    ["Charge", describeCharge(headers)],
    ["Duration", `${formatMs(ms)}, measured in the browser`],
    ...(id ? [["Request", <RequestLink key="id" walletId={walletId} id={id} />] as [string, ReactNode]] : []),
    ...(upstreams ? [["Upstreams queried", upstreams] as [string, ReactNode]] : []),
    ...(lens ? [["Lens", <LensLink key="lens" lens={lens} />] as [string, ReactNode]] : []),
  ];
  return (
    <dl className={classes.facts}>
      {lines.map(([term, value]) => (
        <div key={term} className={classes.row}>
          <dt>{term}</dt>
          <dd>{value}</dd>
        </div>
      ))}
    </dl>
  );
}

/** Parses `Wallet-Charge: 0.01;currency=usd`, which errors do not have. */
export function describeCharge(headers: Headers): string {
  const [amount = "0.00"] = (headers.get("wallet-charge") ?? "0.00").split(";");
  return toNumber(amount) > 0 ? `${formatMoney(amount)} charged` : "not charged";
}

function RequestLink({ walletId, id }: { walletId: string; id: string }) {
  return (
    <Anchor
      component={Link}
      to="/w/$walletId/searches/$requestId"
      params={{ walletId, requestId: id } as never}
      className={`mono ${classes.id}`}
    >
      {id}
    </Anchor>
  );
}
