import { Anchor, Text } from "@mantine/core";
import { describeRank, parseExplanation, type RankExplanation } from "@pennyblack/sdk";
import { useQuery } from "@tanstack/react-query";
import { lensesQuery, lensTextsQuery, type PlaygroundResponse, type SearchAnswer } from "../../api/playground.ts";
import { ErrorState, RowsSkeleton } from "../../components/states.tsx";
import { explainScore } from "./explain-score.ts";
import { findRule, linkToRule } from "./find-rule.ts";
import classes from "./playground.module.css";

/** Why each result has its rank. */
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
            ranking={ranking}
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

function RankedResult(props: {
  explanation: RankExplanation;
  ranking: readonly RankExplanation[];
  answer: SearchAnswer;
  lens: string;
  lambda: number;
}) {
  const { explanation, ranking, answer, lens, lambda } = props;
  const result = answer.results[explanation.position - 1];
  const sources = answer.results.map(({ source }) => source);
  const { move, tier, adjustments } = describeRank(explanation, { ranking, sources });
  const { rel, auth } = explainScore(explanation, lambda);
  return (
    <li>
      <Text size="sm" fw={600} className={classes.id}>
        {result?.source}
      </Text>
      <Text size="sm">
        {move} {tier} <RuleLink lens={lens} url={result?.url ?? ""} reason={explanation.reason} />
      </Text>
      {adjustments.length > 0 && <Text size="sm">{adjustments.join(" ")}</Text>}
      <Text size="xs" c="dimmed" className="mono">
        {(1 - lambda).toFixed(2)} × {rel.toFixed(3)} + {lambda.toFixed(2)} × {auth.toFixed(2)} ={" "}
        {explanation.score.toFixed(3)}
      </Text>
    </li>
  );
}

/** Links to the line of the lens, which browsers highlight. Nothing if no line is found. */
function RuleLink({ lens, url, reason }: { lens: string; url: string; reason: string }) {
  const texts = useQuery(lensTextsQuery(lens));
  const rule = texts.data && findRule(texts.data, { url, reason });
  if (!rule) return undefined;
  return (
    <Anchor href={linkToRule(rule)} target="_blank" rel="noopener" size="sm" title={rule.text}>
      Line {rule.line} of {rule.lens}
    </Anchor>
  );
}
