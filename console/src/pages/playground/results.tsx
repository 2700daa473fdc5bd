import { Anchor, Skeleton, Stack, Text } from "@mantine/core";
import type { Hit, Outcome, SearchAnswer } from "../../api/playground.ts";
import type { Mode } from "../../api/wallet.ts";
import { Empty } from "../../parts/states.tsx";
import { formatCount, formatMs } from "../../words/format-time.ts";
import classes from "./playground.module.css";
import { ProblemCard } from "./problem-card.tsx";
import { type Reason, readExplanation } from "./read-explanation.ts";
import { describeCharge } from "./receipt.tsx";
import { TierBadge } from "./tier-badge.tsx";

/** Left: what a person reads. */
export function Results(props: { walletId: string; mode: Mode; outcome: Outcome | undefined; isBusy: boolean }) {
  const { walletId, mode, outcome, isBusy } = props;
  return (
    <section aria-label="Results" aria-busy={isBusy}>
      {isBusy && <Searching />}
      {!isBusy && !outcome && (
        <Empty title="No search yet">
          {mode === "live"
            ? "Results stand here as a person reads them; beside them what the API said. A search that fails costs nothing."
            : "Made-up results stand here, the same every time. Or run one of the failures above."}
        </Empty>
      )}
      {!isBusy && outcome?.problem && <ProblemCard problem={outcome.problem} walletId={walletId} />}
      {!isBusy && outcome?.answer && <Answer outcome={outcome} answer={outcome.answer} />}
    </section>
  );
}

function Answer({ outcome, answer }: { outcome: Outcome; answer: SearchAnswer }) {
  const reasons = new Map(readExplanation(outcome.headers.get("rank-explain")).map((reason) => [reason.place, reason]));
  return (
    <>
      <Text size="sm" c="dimmed" role="status" mb="sm">
        {formatCount(answer.n, "result")}, {describeCharge(outcome.headers)}, {formatMs(outcome.ms)}
      </Text>
      {answer.results.length === 0 && (
        <Empty title="Nothing was found">
          The upstream answered, and its answer is that there is nothing. That is an answer, and a live one is charged
          like any other; a failure never looks like this.
        </Empty>
      )}
      <ol className={classes.results}>
        {answer.results.map((hit, index) => (
          <Result key={`${index} ${hit.url}`} hit={hit} reason={reasons.get(index + 1)} />
        ))}
      </ol>
    </>
  );
}

function Result({ hit, reason }: { hit: Hit; reason: Reason | undefined }) {
  const isWeb = /^https?:\/\//.test(hit.url);
  return (
    <li className={classes.result}>
      <div className={classes.source}>
        <span>{hit.source}</span>
        {reason && <TierBadge reason={reason} />}
      </div>
      <Anchor href={isWeb ? hit.url : undefined} target="_blank" rel="noopener noreferrer" fz={17}>
        {hit.title || hit.url}
      </Anchor>
      <Text size="sm" className={classes.snippet}>
        {hit.snippet}
      </Text>
    </li>
  );
}

function Searching() {
  return (
    <Stack gap="lg" role="status" aria-label="Searching">
      {[0, 1, 2].map((row) => (
        <Stack key={row} gap={8}>
          <Skeleton height={12} width="30%" />
          <Skeleton height={20} width="70%" />
          <Skeleton height={36} />
        </Stack>
      ))}
    </Stack>
  );
}
