import { Anchor, Skeleton, Stack, Text } from "@mantine/core";
import {
  describeRank,
  parseExplanation,
  type RankExplanation,
  type SearchResponse,
  type SearchResult,
} from "@pennyblack/sdk";
import type { PlaygroundResponse } from "../../api/playground.ts";
import type { Mode } from "../../api/wallet.ts";
import { EmptyState } from "../../components/states.tsx";
import { TierBadge } from "../../components/tier-badge.tsx";
import { formatCount, formatMs } from "../../format/format-time.ts";
import classes from "./playground.module.css";
import { ProblemCard } from "./problem-card.tsx";
import { describeCharge } from "./response-summary.tsx";

export function Results(props: {
  walletId: string;
  mode: Mode;
  response: PlaygroundResponse | undefined;
  isBusy: boolean;
}) {
  const { walletId, mode, response, isBusy } = props;
  return (
    <section aria-label="Results" aria-busy={isBusy}>
      {isBusy && <Searching />}
      {!isBusy && !response && (
        <EmptyState title="No results yet">
          {mode === "live"
            ? "Enter a query above. Results appear here, with the API response beside them. Failed searches are not charged."
            : "Enter a query above, or simulate a failure. Results are synthetic and the same every time."}
        </EmptyState>
      )}
      {!isBusy && response?.problem && <ProblemCard problem={response.problem} walletId={walletId} />}
      {!isBusy && response?.answer && <Answer response={response} answer={response.answer} />}
    </section>
  );
}

function Answer({ response, answer }: { response: PlaygroundResponse; answer: SearchResponse }) {
  const ranking = parseExplanation(response.headers.get("rank-explain") ?? "");
  const sources = answer.results.map(({ source }) => source);
  return (
    <>
      <Text size="sm" c="dimmed" role="status" mb="sm">
        {formatCount(answer.n, "result")}, {describeCharge(response.headers)}, {formatMs(response.ms)}
      </Text>
      {answer.results.length === 0 && (
        <EmptyState title="No results">
          The upstream found nothing for this query. That is a successful search, so a live one is charged. Failed
          searches show an error instead.
        </EmptyState>
      )}
      <ol className={classes.results}>
        {answer.results.map((result, index) => (
          <Result
            key={`${index} ${result.url}`}
            result={result}
            rank={ranking.find(({ position }) => position === index + 1)}
            describe={(rank) => describeRank(rank, { sources }).adjustments}
          />
        ))}
      </ol>
    </>
  );
}

function Result(props: {
  result: SearchResult;
  rank: RankExplanation | undefined;
  describe: (rank: RankExplanation) => string[];
}) {
  const { result, rank, describe } = props;
  const sentences = rank ? describe(rank) : [];
  const isWeb = /^https?:\/\//.test(result.url);
  return (
    <li className={classes.result}>
      <div className={classes.source}>
        <span>{result.source}</span>
        {rank && <TierBadge tier={rank.tier} reason={rank.reason} />}
      </div>
      <Anchor href={isWeb ? result.url : undefined} target="_blank" rel="noopener noreferrer" fz={17}>
        {result.title || result.url}
      </Anchor>
      <Text size="sm" className={classes.snippet}>
        {result.snippet}
      </Text>
      {sentences.length > 0 && (
        <Text size="xs" c="dimmed" mt={4}>
          {sentences.join(" ")}
        </Text>
      )}
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
