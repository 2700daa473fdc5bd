import { Button } from "@mantine/core";
import type { Search } from "@pennyblack/sdk";
import type { Mode } from "../../api/wallet.ts";
import { RelativeTime } from "../../components/relative-time.tsx";
import { describeOutcome } from "../../format/describe-outcome.ts";
import { formatMs } from "../../format/format-time.ts";
import classes from "./welcome.module.css";

export function FirstSearchStatus(props: {
  request: Search | null | undefined;
  error: unknown;
  onContinue: (mode: Mode) => unknown;
}) {
  const { request, error, onContinue } = props;
  const data = request?.kind === "search" ? request : undefined;
  const isRefused = request?.kind === "refused";
  return (
    <>
      <div className={classes.status} data-state={stateOf(data, isRefused || Boolean(error))} role="status">
        <span className={classes.dot} aria-hidden="true" />
        <span>{data ? <SearchReceived search={data} /> : waitingText(error, isRefused ? request : undefined)}</span>
      </div>
      {data && (
        <Button mt="md" onClick={() => onContinue(data.mode)}>
          Go to overview
        </Button>
      )}
    </>
  );
}

function stateOf(data: Search | undefined, isFailed: boolean): string {
  if (data) return "arrived";
  return isFailed ? "failed" : "waiting";
}

function waitingText(error: unknown, refused: Search | undefined): string {
  if (refused) {
    const { summary, action } = describeOutcome(refused.outcome);
    return `Your request was refused, because ${summary}. ${action} Request ${refused.request_id}`;
  }
  return error ? "Can't check for your search right now. Retrying." : "Waiting for your first search.";
}

function SearchReceived({ search }: { search: Search }) {
  const { outcome, ms, at, request_id: id } = search;
  const took = ms === null ? "" : ` in ${formatMs(ms)}`;
  const result = outcome === "ok" || outcome === "pending" ? `completed${took}` : describeOutcome(outcome).summary;
  return (
    <>
      Your first search was received <RelativeTime at={at} />: {result}. Request <span className="mono">{id}</span>
    </>
  );
}
