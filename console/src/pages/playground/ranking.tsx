import { Anchor, Text } from "@mantine/core";
import { describeRank, parseExplanation, type RankExplanation, type SearchResponse } from "@pennyblack/sdk";
import { useQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { lensesQuery } from "../../api/lenses.ts";
import type { PlaygroundResponse } from "../../api/playground.ts";
import { ErrorState, RowsSkeleton } from "../../components/states.tsx";
import { useWallet } from "../../layout/use-wallet.ts";
import { explainScore } from "./explain-score.ts";
import classes from "./playground.module.css";

/** Explains the rank of each result. */
export function Ranking({ response }: { response: PlaygroundResponse }) {
  const lenses = useQuery(lensesQuery);
  const { answer, headers } = response;
  const ranking = parseExplanation(headers.get("rank-explain") ?? "");
  const lens = headers.get("rank-lens")?.split("@")[0] ?? "base";
  if (!answer || ranking.length === 0) return <Text c="dimmed">No results to rank.</Text>;
  if (lenses.isPending) return <RowsSkeleton rows={5} />;
  const lambda = lenses.data?.find(({ name }) => name === lens)?.lambda;
  if (lambda === undefined) {
    return (
      <ErrorState error={lenses.error} title="Couldn't load the ranking rules." onRetry={() => lenses.refetch()} />
    );
  }
  return (
    <>
      <ol className={classes.ranking}>
        {ranking.map((explanation) => (
          <RankedResult
            key={explanation.position}
            explanation={explanation}
            answer={answer}
            lens={lens}
            lambda={lambda}
          />
        ))}
      </ol>
      {ranking.length < answer.results.length && (
        <Text size="sm" c="dimmed" mb="sm">
          The Rank-Explain header is limited to 4 kB. The last {answer.results.length - ranking.length} results did not
          fit.
        </Text>
      )}
      <Text size="sm" c="dimmed">
        Score = {(1 - lambda).toFixed(2)} × Rel + {lambda.toFixed(2)} × Auth. Rel is derived from the upstream&rsquo;s
        rank: 21 / (20 + rank). Auth is the authority of the source.{" "}
        <Anchor href="/docs/ranking" target="_blank" size="sm" underline="always">
          How ranking works
        </Anchor>
      </Text>
    </>
  );
}

function RankedResult(props: { explanation: RankExplanation; answer: SearchResponse; lens: string; lambda: number }) {
  const { explanation, answer, lens, lambda } = props;
  const result = answer.results[explanation.position - 1];
  const sources = answer.results.map(({ source }) => source);
  const { move, tier, adjustments } = describeRank(explanation, { sources });
  const { rel, auth, sum } = explainScore(explanation, lambda);
  return (
    <li>
      <Text size="sm" fw={600} className={classes.id}>
        {result?.source}
      </Text>
      <Text size="sm">
        {move} {tier} {result && <InspectLink lens={lens} url={result.url} />}
      </Text>
      {adjustments.length > 0 && <Text size="sm">{adjustments.join(" ")}</Text>}
      <Text size="xs" c="dimmed" className="mono">
        {(1 - lambda).toFixed(2)} × {rel.toFixed(3)} + {lambda.toFixed(2)} × {auth.toFixed(2)} = {sum.toFixed(3)}
        {describeChange(explanation.score, sum)}
      </Text>
    </li>
  );
}

/** How a guard changed the score. The server rounds it to three digits. */
function describeChange(score: number, sum: number): string {
  if (Math.abs(score - sum) < 0.001) return "";
  return `, ${score < sum ? "limited" : "raised"} to ${score.toFixed(3)}`;
}

/** Opens another tab, because this page does not keep its results. */
function InspectLink({ lens, url }: { lens: string; url: string }) {
  const { id: walletId } = useWallet();
  return (
    <Anchor
      component={Link}
      to="/w/$walletId/lens"
      params={{ walletId } as never}
      search={{ lens, url } as never}
      target="_blank"
      size="sm"
      aria-label={`Inspect ${url}`}
    >
      Inspect
    </Anchor>
  );
}
