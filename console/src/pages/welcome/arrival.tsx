import { Button } from "@mantine/core";
import type { SearchFact } from "../../api/ledger.ts";
import type { Mode } from "../../api/wallet.ts";
import { Moment } from "../../parts/moment.tsx";
import { describeOutcome } from "../../words/describe-outcome.ts";
import { formatMs } from "../../words/format-time.ts";
import classes from "./welcome.module.css";

/** Waits for the wallet's first search, and says that it has come. */
export function Arrival(props: { search: SearchFact | null | undefined; error: unknown; go: (mode: Mode) => unknown }) {
  const { search: data, error, go } = props;
  return (
    <>
      <div className={classes.arrival} data-state={stateOf(data, error)} role="status">
        <span className={classes.dot} aria-hidden="true" />
        <span>{data ? <Arrived search={data} /> : waiting(error)}</span>
      </div>
      {data && (
        <Button mt="md" onClick={() => go(data.mode)}>
          Go to the overview
        </Button>
      )}
    </>
  );
}

function stateOf(data: SearchFact | null | undefined, error: unknown): string {
  if (data) return "arrived";
  return error ? "failed" : "waiting";
}

function waiting(error: unknown): string {
  return error ? "We cannot look for your search right now, and keep trying." : "Waiting for your first search.";
}

function Arrived({ search }: { search: SearchFact }) {
  const { outcome, ms, at, request_id: id } = search;
  const took = ms === null ? "" : ` in ${formatMs(ms)}`;
  const became = outcome === "ok" || outcome === "pending" ? `answered${took}` : describeOutcome(outcome).happened;
  return (
    <>
      Your first search arrived <Moment at={at} />: {became}. Request <span className="mono">{id}</span>
    </>
  );
}
