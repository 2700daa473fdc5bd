import { Text } from "@mantine/core";
import type { Search, SearchDetails } from "@pennyblack/sdk";
import { ExactTime } from "../../components/relative-time.tsx";
import { capitalize, describeOutcome } from "../../format/describe-outcome.ts";
import { formatMoney } from "../../format/format-money.ts";
import { formatMs } from "../../format/format-time.ts";
import classes from "./search.module.css";

/** The events of a request, in order. Times come from the database, durations from the server. */
export function Timeline({ search }: { search: SearchDetails }) {
  const { at, ms, steps, mode } = search;
  const heldMs = steps ? steps.auth + steps.hold : 0;
  const refund = search.entries.find(({ kind }) => kind === "refund");
  if (search.kind !== "search") {
    return (
      <ol className={classes.timeline}>
        <li>
          <span>{describeEnd(search)}</span>
          <ExactTime at={at} hasMs className={classes.time} />
        </li>
      </ol>
    );
  }
  return (
    <ol className={classes.timeline}>
      {steps && <Step name="Key found" ms={steps.auth} />}
      <li>
        <span>
          {mode === "test" ? "Accepted" : "Price held"}
          {steps && ` after ${formatMs(steps.hold)}`}
        </span>
        <ExactTime at={at} hasMs className={classes.time} />
      </li>
      {steps ? (
        <>
          <Step name="Upstream" ms={steps.upstream} />
          <Step name="Ranking" ms={steps.rank} />
        </>
      ) : (
        <Step name="Upstream and ranking" ms={ms} />
      )}
      {ms !== null && (
        <li>
          <span>{describeEnd(search)}</span>
          <ExactTime at={new Date(Date.parse(at) + ms - heldMs).toISOString()} hasMs className={classes.time} />
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

function Step({ name, ms }: { name: string; ms: number | null }) {
  return (
    <li>
      <span>{name}</span>
      <span className={classes.time}>{ms === null ? "in progress" : formatMs(ms)}</span>
    </li>
  );
}

function describeEnd({ kind, outcome, charged, mode }: Search) {
  if (kind === "replayed") return "Answered from its Idempotency-Key, without another search";
  if (outcome === "ok") return mode === "test" ? "Completed" : `Charged ${formatMoney(charged)}`;
  return (
    <>
      {endOf(kind, mode)}
      <Text size="sm" c="dimmed">
        {capitalize(describeOutcome(outcome).summary)}. {describeOutcome(outcome).action}
      </Text>
    </>
  );
}

function endOf(kind: Search["kind"], mode: Search["mode"]): string {
  if (kind === "refused") return "Refused before the price was held";
  return mode === "test" ? "Failed" : "Hold released";
}
