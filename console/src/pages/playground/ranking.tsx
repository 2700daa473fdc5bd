import { Anchor, Text } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { lensesQuery, type Outcome, type SearchAnswer } from "../../api/playground.ts";
import { Failure, RowsSkeleton } from "../../parts/states.tsx";
import classes from "./playground.module.css";
import { explainScore, type Reason, readExplanation } from "./read-explanation.ts";

/** Why each result stands where it does: the arithmetic, with the numbers of this answer. */
export function Why({ outcome }: { outcome: Outcome }) {
  const lenses = useQuery(lensesQuery);
  const { answer, headers } = outcome;
  const reasons = readExplanation(headers.get("rank-explain"));
  const lens = headers.get("rank-lens")?.split("@")[0];
  if (!answer || reasons.length === 0) return <Text c="dimmed">Only results have an order, and there are none.</Text>;
  if (lenses.isPending) return <RowsSkeleton rows={5} />;
  const lambda = lenses.data?.find(({ name }) => name === lens)?.lambda;
  if (lambda === undefined) {
    return <Failure error={lenses.error} what="The ranking rules could not be read." retry={() => lenses.refetch()} />;
  }
  return (
    <>
      <Text size="sm" mb="sm">
        Score = {(1 - lambda).toFixed(2)} × Rel + {lambda.toFixed(2)} × Auth. Rel is the upstream&rsquo;s order, 21 /
        (20 + its place); Auth is the standing of the source.{" "}
        <Anchor href="/docs/ranking" target="_blank" size="sm" underline="always">
          How results are ranked
        </Anchor>
      </Text>
      <ScoreTable answer={answer} reasons={reasons} lambda={lambda} />
      {reasons.length < answer.results.length && (
        <Text size="sm" c="dimmed" mt="sm">
          The explanation has 4 kB at most; the last {answer.results.length - reasons.length} did not fit.
        </Text>
      )}
    </>
  );
}

function ScoreTable(props: { answer: SearchAnswer; reasons: Reason[]; lambda: number }) {
  const { answer, reasons, lambda } = props;
  return (
    <div className={classes.scroll} tabIndex={0} role="region" aria-label="Scores">
      <table className={classes.scores}>
        <thead>
          <tr>
            <th scope="col">Place</th>
            <th scope="col">Was</th>
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
              <tr key={reason.place}>
                <td className="mono">{reason.place}</td>
                <td className="mono">{reason.from}</td>
                <td>
                  {answer.results[reason.place - 1]?.source}
                  {reason.guards.map((guard) => (
                    <span key={guard} className={classes.guard} title={guardWords[guard]}>
                      {guard}
                    </span>
                  ))}
                </td>
                <td>
                  <strong>{reason.tier}</strong> {reason.why}
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

const guardWords: Record<string, string> = {
  navigational: "The query names this site, so its standing counts as at least 0.90.",
  anchor: "The upstream's first result never falls below the third place.",
  copy: "Nearly the same text as a result above, so it comes after everything else.",
  "third-of-site": "The third and later results of one site come after everything else.",
};
