import { Anchor, Text } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { lensesQuery, type PlaygroundResponse, type SearchAnswer } from "../../api/playground.ts";
import { ErrorState, RowsSkeleton } from "../../components/states.tsx";
import { explainScore, parseExplanation, type RankExplanation } from "./parse-explanation.ts";
import classes from "./playground.module.css";

/** How the rank of each result was computed. */
export function Ranking({ response }: { response: PlaygroundResponse }) {
  const lenses = useQuery(lensesQuery);
  const { answer, headers } = response;
  const reasons = parseExplanation(headers.get("rank-explain"));
  const lens = headers.get("rank-lens")?.split("@")[0];
  if (!answer || reasons.length === 0) return <Text c="dimmed">No results to rank.</Text>;
  if (lenses.isPending) return <RowsSkeleton rows={5} />;
  const lambda = lenses.data?.find(({ name }) => name === lens)?.lambda;
  if (lambda === undefined) {
    return (
      <ErrorState error={lenses.error} title="Couldn't load the ranking rules." onRetry={() => lenses.refetch()} />
    );
  }
  return (
    <>
      <Text size="sm" mb="sm">
        Score = {(1 - lambda).toFixed(2)} × Rel + {lambda.toFixed(2)} × Auth. Rel is derived from the upstream&rsquo;s
        rank: 21 / (20 + rank). Auth is the authority of the source.{" "}
        <Anchor href="/docs/ranking" target="_blank" size="sm" underline="always">
          How ranking works
        </Anchor>
      </Text>
      <ScoreTable answer={answer} reasons={reasons} lambda={lambda} />
      {reasons.length < answer.results.length && (
        <Text size="sm" c="dimmed" mt="sm">
          The Rank-Explain header is limited to 4 kB. The last {answer.results.length - reasons.length} results did not
          fit.
        </Text>
      )}
    </>
  );
}

function ScoreTable(props: { answer: SearchAnswer; reasons: RankExplanation[]; lambda: number }) {
  const { answer, reasons, lambda } = props;
  return (
    <div className={classes.scroll} tabIndex={0} role="region" aria-label="Scores">
      <table className={classes.scores}>
        <thead>
          <tr>
            <th scope="col">Rank</th>
            <th scope="col">Upstream</th>
            <th scope="col">Source</th>
            <th scope="col">Tier</th>
            <th scope="col">Rel</th>
            <th scope="col">Auth</th>
            <th scope="col">Score</th>
          </tr>
        </thead>
        <tbody>
          {reasons.map((reason) => {
            const { rel, auth } = explainScore(reason, lambda);
            return (
              <tr key={reason.rank}>
                <td className="mono">{reason.rank}</td>
                <td className="mono">{reason.upstreamRank}</td>
                <td>
                  {answer.results[reason.rank - 1]?.source}
                  {reason.guards.map((guard) => (
                    <span key={guard} className={classes.guard} title={guardDescriptions[guard]}>
                      {guard}
                    </span>
                  ))}
                </td>
                <td>
                  <strong>{reason.tier}</strong> {reason.reason}
                </td>
                <td className="mono">{rel.toFixed(3)}</td>
                <td className="mono">{auth.toFixed(2)}</td>
                <td className="mono">{reason.score.toFixed(3)}</td>
              </tr>
            );
          })}
        </tbody>
      </table>
    </div>
  );
}

const guardDescriptions: Record<string, string> = {
  navigational: "The query names this site, so its authority is at least 0.90.",
  anchor: "The upstream's first result never drops below third place.",
  copy: "Nearly the same text as a result above, so it is moved to the end.",
  "third-of-site": "The third and later results of one site are moved to the end.",
};
