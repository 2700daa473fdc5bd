import { Anchor, Skeleton } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { lazy, Suspense, useMemo } from "react";
import { keysQuery } from "../../api/keys.ts";
import { type Usage, usageQuery } from "../../api/usage.ts";
import type { Mode } from "../../api/wallet.ts";
import { Section } from "../../components/page.tsx";
import { RelativeTime } from "../../components/relative-time.tsx";
import { EmptyState, ErrorState } from "../../components/states.tsx";
import { formatMoney } from "../../format/format-money.ts";
import { formatCount } from "../../format/format-time.ts";
import { stackDays } from "./stack-days.ts";

// The chart library is larger than the rest of the console, so it is loaded separately.
const SpendChart = lazy(() =>
  import("./spend-chart.tsx").then(
    (loaded) => ({ default: loaded.SpendChart }),
    () => ({ default: ChartLoadError }),
  ),
);

const days = 30;

export function Spend({ walletId, mode }: { walletId: string; mode: Mode }) {
  const usage = useQuery(usageQuery(walletId, { from: firstDay(), by: "day", group: "key" }));
  return (
    <Section
      title={mode === "live" ? "Spend per day" : "Test searches per day"}
      description={usage.data && <SpendDescription usage={usage.data} />}
      actions={
        <Anchor component={Link} to="/w/$walletId/usage" params={{ walletId } as never} size="sm">
          View usage
        </Anchor>
      }
    >
      {usage.isPending && <ChartSkeleton />}
      {usage.isError && !usage.data && (
        <ErrorState error={usage.error} title="Couldn't load usage." onRetry={() => usage.refetch()} />
      )}
      {usage.data && <Chart walletId={walletId} mode={mode} usage={usage.data} />}
    </Section>
  );
}

function SpendDescription({ usage }: { usage: Usage }) {
  return (
    <>
      Last {days} days (UTC), by key. Includes searches up to <RelativeTime at={usage.as_of} />.
    </>
  );
}

function Chart({ walletId, mode, usage }: { walletId: string; mode: Mode; usage: Usage }) {
  const keys = useQuery(keysQuery(walletId)).data;
  const stack = useMemo(() => {
    const names = new Map(keys?.map(({ id, name }) => [id, name]));
    return stackDays({ usage: usage.lines, names, mode, days, now: new Date() });
  }, [keys, usage, mode]);
  if (stack.layers.length === 0) {
    return (
      <EmptyState title={mode === "live" ? "No spend in the last 30 days" : "No test searches in the last 30 days"}>
        {mode === "live"
          ? "A successful search costs $0.01 and appears here under the key that sent it."
          : "Test searches are free and appear here under the key that sent them."}
      </EmptyState>
    );
  }
  const format = (amount: string): string =>
    mode === "live" ? formatMoney(amount) : formatCount(Number(amount), "search", "searches");
  const formatTick = (value: number): string => (mode === "live" ? formatMoney(value.toFixed(2)) : String(value));
  return (
    <Suspense fallback={<ChartSkeleton />}>
      <SpendChart stack={stack} format={format} formatTick={formatTick} />
    </Suspense>
  );
}

function ChartLoadError() {
  return (
    <EmptyState title="Couldn't load the chart">
      Reload the page, or see the same numbers in the table under Usage.
    </EmptyState>
  );
}

function firstDay(): string {
  return new Date(Date.now() - (days - 1) * 86_400_000).toISOString().slice(0, 10);
}

function ChartSkeleton() {
  return <Skeleton height={280} radius={2} aria-label="Loading" role="status" />;
}
