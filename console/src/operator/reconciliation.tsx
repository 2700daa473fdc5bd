import { Text } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { Page, Section } from "../components/page.tsx";
import { RelativeTime } from "../components/relative-time.tsx";
import { EmptyState, ErrorState, RowsSkeleton } from "../components/states.tsx";
import { formatCount } from "../format/format-time.ts";
import classes from "./operator.module.css";
import { reconciliationQuery } from "./queries.ts";
import { Runs } from "./runs.tsx";

export function Reconciliation() {
  const { data, error, refetch } = useQuery(reconciliationQuery);
  const last = data?.last;
  return (
    <Page
      title="Ledger reconciliation"
      description="Every hour the worker compares balances, budgets and payments with the entries of the ledger."
    >
      {error && <ErrorState error={error} title="Couldn't load the last reconciliation." onRetry={refetch} />}
      {!data && !error && <RowsSkeleton />}
      {data?.last === null && (
        <EmptyState title="Not run yet">
          The worker runs it within an hour. To run it now: npm run admin -- reconcile
        </EmptyState>
      )}
      {last && (
        <>
          <Text size="lg" fw={600} c={last.differences === 0 ? undefined : "var(--pb-danger)"}>
            {last.differences === 0 ? "No differences" : formatCount(last.differences, "difference")}
            <Text span c="dimmed" fw={400}>
              , checked <RelativeTime at={last.at} />
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
          <Section title="Previous runs">
            <Runs runs={data?.before.toReversed() ?? []} />
          </Section>
        </>
      )}
    </Page>
  );
}
