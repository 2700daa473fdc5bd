import { Text } from "@mantine/core";
import type { Search, SearchDetails } from "@pennyblack/sdk";
import { ExactTime } from "../../components/relative-time.tsx";
import { capitalize, describeOutcome } from "../../format/describe-outcome.ts";
import { formatMoney } from "../../format/format-money.ts";
import { formatMs } from "../../format/format-time.ts";
import classes from "./search.module.css";

/** Hold, upstream, and charge or release. The two times come from the database. */
export function Timeline({ search }: { search: SearchDetails }) {
  const { at, ms, mode } = search;
  const refund = search.entries.find(({ kind }) => kind === "refund");
  return (
    <ol className={classes.timeline}>
      <li>
        <span>{mode === "test" ? "Accepted" : "Price held"}</span>
        <ExactTime at={at} hasMs className={classes.time} />
      </li>
      <li>
        <span>Upstream and ranking</span>
        <span className={classes.time}>{ms === null ? "in progress" : formatMs(ms)}</span>
      </li>
      {ms !== null && (
        <li>
          <span>{describeEnd(search)}</span>
          <ExactTime at={new Date(Date.parse(at) + ms).toISOString()} hasMs className={classes.time} />
        </li>
      )}
      {refund && (
        <li>
          <span>Refunded {formatMoney(refund.amount)}</span>
          <ExactTime at={refund.created_at} hasMs className={classes.time} />
        </li>
      )}
    </ol>
  );
}

function describeEnd({ outcome, charged, mode }: Search) {
  if (outcome === "ok") return mode === "test" ? "Completed" : `Charged ${formatMoney(charged)}`;
  return (
    <>
      {mode === "test" ? "Failed" : "Hold released"}
      <Text size="sm" c="dimmed">
        {capitalize(describeOutcome(outcome).summary)}. {describeOutcome(outcome).action}
      </Text>
    </>
  );
}
