import { Anchor } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import type { SearchFact } from "../../api/ledger.ts";
import { lastFailuresQuery } from "../../api/searches.ts";
import type { Mode } from "../../api/wallet.ts";
import { Section } from "../../parts/page.tsx";
import { Empty, Failure, RowsSkeleton } from "../../parts/states.tsx";
import { useNow } from "../../parts/use-now.ts";
import { describeOutcome } from "../../words/describe-outcome.ts";
import { formatClock } from "../../words/format-clock.ts";
import { formatMoney, toNumber } from "../../words/format-money.ts";
import { formatExact } from "../../words/format-time.ts";
import classes from "./overview.module.css";

/** What went wrong last, as sentences. */
export function Failures({ walletId, mode }: { walletId: string; mode: Mode }) {
  const { data, error, isPending, refetch } = useQuery(lastFailuresQuery(walletId, mode));
  return (
    <Section title="Last failures" about="A search that fails costs nothing.">
      {isPending && <RowsSkeleton rows={3} />}
      {error && !data && <Failure error={error} what="The last failures could not be read." retry={refetch} />}
      {data?.length === 0 && (
        <Empty title={mode === "live" ? "Nothing failed" : "No test search failed"}>
          Should a search fail, what happened stands here in a sentence, with its request id.
        </Empty>
      )}
      {data && data.length > 0 && (
        <ul className={classes.failures}>
          {data.map((search) => (
            <Line key={search.request_id} walletId={walletId} search={search} />
          ))}
        </ul>
      )}
    </Section>
  );
}

function Line({ walletId, search }: { walletId: string; search: SearchFact }) {
  const now = useNow(60_000);
  const at = new Date(search.at);
  const charged = toNumber(search.charged) > 0 ? `${formatMoney(search.charged)} charged` : "nothing charged";
  const sentence = [describeOutcome(search.outcome).happened, charged, ...(search.key_name ? [search.key_name] : [])];
  return (
    <li>
      <time dateTime={search.at} title={formatExact(at)} className={classes.when}>
        {formatClock(at, now)}
      </time>
      <span>
        {sentence.join(", ")}, request{" "}
        <Anchor
          component={Link}
          to="/w/$walletId/ledger"
          params={{ walletId } as never}
          search={{ request_id: search.request_id } as never}
          className={`mono ${classes.id}`}
        >
          {search.request_id}
        </Anchor>
      </span>
    </li>
  );
}
