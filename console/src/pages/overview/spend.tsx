import { Anchor, Skeleton } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { lazy, Suspense, useMemo } from "react";
import { keysQuery } from "../../api/keys.ts";
import { type Usage, usageQuery } from "../../api/usage.ts";
import type { Mode } from "../../api/wallet.ts";
import { Moment } from "../../parts/moment.tsx";
import { Section } from "../../parts/page.tsx";
import { Empty, Failure } from "../../parts/states.tsx";
import { formatMoney } from "../../words/format-money.ts";
import { formatCount } from "../../words/format-time.ts";
import { stackDays } from "./stack-days.ts";

// The library that draws is larger than all of the rest together, and only this chart needs it.
const SpendChart = lazy(() =>
  import("./spend-chart.tsx").then(
    (loaded) => ({ default: loaded.SpendChart }),
    () => ({ default: NoChart }),
  ),
);

const days = 30;

export function Spend({ walletId, mode }: { walletId: string; mode: Mode }) {
  const use = useQuery(usageQuery(walletId, { from: firstDay(), by: "day", group: "key" }));
  return (
    <Section
      title={mode === "live" ? "Spend by day" : "Test searches by day"}
      about={use.data && <About use={use.data} />}
      actions={
        <Anchor component={Link} to="/w/$walletId/usage" params={{ walletId } as never} size="sm">
          All usage
        </Anchor>
      }
    >
      {use.isPending && <ChartSkeleton />}
      {use.isError && !use.data && (
        <Failure error={use.error} what="Usage could not be read." retry={() => use.refetch()} />
      )}
      {use.data && <Chart walletId={walletId} mode={mode} use={use.data} />}
    </Section>
  );
}

function About({ use }: { use: Usage }) {
  return (
    <>
      The last {days} days, UTC, by key. Counted up to <Moment at={use.as_of} />.
    </>
  );
}

function Chart({ walletId, mode, use }: { walletId: string; mode: Mode; use: Usage }) {
  const keys = useQuery(keysQuery(walletId)).data;
  const stack = useMemo(() => {
    const names = new Map(keys?.map(({ id, name }) => [id, name]));
    return stackDays({ use: use.lines, names, mode, days, now: new Date() });
  }, [keys, use, mode]);
  if (stack.layers.length === 0) {
    return (
      <Empty title={mode === "live" ? "Nothing was spent in 30 days" : "No test search in 30 days"}>
        {mode === "live"
          ? "A search that answers costs $0.01 and shows up here a few minutes later, under the key that sent it."
          : "Test searches cost nothing. They show up here a few minutes later, under the key that sent them."}
      </Empty>
    );
  }
  const format = (amount: string): string =>
    mode === "live" ? formatMoney(amount) : formatCount(Number(amount), "search", "searches");
  // On the axis a count needs no unit, which the heading says; money has its sign anywhere.
  const formatTick = (value: number): string => (mode === "live" ? formatMoney(value.toFixed(2)) : String(value));
  return (
    <Suspense fallback={<ChartSkeleton />}>
      <SpendChart stack={stack} format={format} formatTick={formatTick} />
    </Suspense>
  );
}

/** A drawing that cannot be fetched takes nothing else with it. */
function NoChart() {
  return (
    <Empty title="The chart could not be loaded">
      Load the page again, or look at the same numbers as a table under Usage.
    </Empty>
  );
}

function firstDay(): string {
  return new Date(Date.now() - (days - 1) * 86_400_000).toISOString().slice(0, 10);
}

function ChartSkeleton() {
  return <Skeleton height={280} radius={2} aria-label="Loading" role="status" />;
}
