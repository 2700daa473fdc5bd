import { Text } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { Moment } from "../parts/moment.tsx";
import { Page, Section } from "../parts/page.tsx";
import { Empty, Failure, RowsSkeleton } from "../parts/states.tsx";
import { formatCount, formatExact } from "../words/format-time.ts";
import classes from "./operator.module.css";
import { reconciliationQuery } from "./queries.ts";

/** The proof that the books add up, and when it was made. */
export function Books() {
  const { data, error, refetch } = useQuery(reconciliationQuery);
  const last = data?.last;
  return (
    <Page title="Books" about="Every hour the worker compares balances, holds, entries and payments, row by row.">
      {error && <Failure error={error} what="The last proof could not be read." retry={refetch} />}
      {!data && !error && <RowsSkeleton />}
      {data?.last === null && (
        <Empty title="No proof yet">
          The worker makes the first within an hour, or now: npm run admin -- reconcile
        </Empty>
      )}
      {last && (
        <>
          <Text size="lg" fw={600} c={last.differences === 0 ? undefined : "var(--pb-danger)"}>
            {last.differences === 0 ? "All of it adds up" : formatCount(last.differences, "difference")}
            <Text span c="dimmed" fw={400}>
              , proved <Moment at={last.at} />
            </Text>
          </Text>
          <Section title={formatCount(last.checks.length, "check")}>
            <ul className={classes.checks}>
              {last.checks.map(({ name, sentence, compared, differing }) => (
                <li key={name}>
                  <span className={differing === 0 ? classes.tick : classes.cross} aria-hidden="true">
                    {differing === 0 ? "✓" : "✗"}
                  </span>
                  <span>
                    {sentence}
                    <Text span size="xs" c="dimmed" display="block">
                      {formatCount(compared, "row")} compared, {formatCount(differing, "difference")}
                    </Text>
                  </span>
                </li>
              ))}
            </ul>
          </Section>
          <Section title="Before that">
            <div className={classes.proofs} role="img" aria-label={describe(data?.before ?? [])}>
              {data?.before.toReversed().map(({ at, differences }) => (
                <span
                  key={at}
                  className={classes.proof}
                  data-differs={differences > 0}
                  title={`${formatExact(new Date(at))}: ${formatCount(differences, "difference")}`}
                />
              ))}
            </div>
          </Section>
        </>
      )}
    </Page>
  );
}

function describe(before: readonly { differences: number }[]): string {
  const clean = before.filter(({ differences }) => differences === 0).length;
  return `Of the ${before.length} proofs before, ${clean} found nothing`;
}
