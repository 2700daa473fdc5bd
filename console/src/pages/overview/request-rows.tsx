import { Anchor } from "@mantine/core";
import type { Search } from "@pennyblack/sdk";
import { Link } from "@tanstack/react-router";
import { ExactTime } from "../../components/relative-time.tsx";
import { capitalize, formatOutcome } from "../../format/describe-outcome.ts";
import { formatMoney, toNumber } from "../../format/format-money.ts";
import { formatMs } from "../../format/format-time.ts";
import classes from "./overview.module.css";

/** Searches and refused requests, each with its reason, charge, key, run and request ID. */
export function RequestRows({ walletId, requests }: { walletId: string; requests: readonly Search[] }) {
  return (
    <ul className={classes.requests}>
      {requests.map((request) => (
        <RequestRow key={request.request_id} walletId={walletId} request={request} />
      ))}
    </ul>
  );
}

function RequestRow({ walletId, request }: { walletId: string; request: Search }) {
  const { kind, outcome, key_name: keyName, run, charged, ms } = request;
  const details = [
    ...(kind === "refused" ? ["refused"] : []),
    toNumber(charged) > 0 ? `${formatMoney(charged)} charged` : "not charged",
    ...(ms === null ? [] : [formatMs(ms)]),
    ...(keyName ? [`key ${keyName}`] : []),
    ...(run === null ? [] : [`run ${run}`]),
  ];
  return (
    <li>
      <ExactTime at={request.at} className={classes.time} />
      <span>
        {formatOutcome(outcome)}
        {outcome !== "ok" && outcome !== "pending" && <span className={`mono ${classes.code}`}> {outcome}</span>}
        <br />
        {capitalize(details.join(", "))}, request{" "}
        <Anchor
          component={Link}
          to="/w/$walletId/searches/$requestId"
          params={{ walletId, requestId: request.request_id } as never}
          className={`mono ${classes.id}`}
        >
          {request.request_id}
        </Anchor>
      </span>
    </li>
  );
}
