import { Anchor, Button, Skeleton, Text } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { Link, useNavigate } from "@tanstack/react-router";
import { lazy, Suspense, useMemo } from "react";
import { keysQuery } from "../../api/keys.ts";
import { type Usage, usageQuery } from "../../api/usage.ts";
import type { Mode } from "../../api/wallet.ts";
import { Section } from "../../components/page.tsx";
import { RelativeTime } from "../../components/relative-time.tsx";
import { EmptyState, ErrorState } from "../../components/states.tsx";
import { Legend } from "../usage/legend.tsx";
import { measures } from "../usage/measure.ts";
import { type Bucket, pivot, totalOf } from "../usage/pivot.ts";
import { seriesLabel } from "../usage/series-label.ts";
import usageClasses from "../usage/usage.module.css";
import classes from "./overview.module.css";

// The chart library is larger than the rest of the console, so it is loaded separately.
const UsageChart = lazy(() =>
  import("../usage/usage-chart.tsx").then(
    (loaded) => ({ default: loaded.UsageChart }),
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
      Last {days} days (UTC), by key. The last bar is today so far, up to <RelativeTime at={usage.as_of} />. Select a
      bar to list its searches.
    </>
  );
}

function Chart({ walletId, mode, usage }: { walletId: string; mode: Mode; usage: Usage }) {
  const keys = useQuery(keysQuery(walletId)).data;
  const navigate = useNavigate();
  const measure = measures[mode === "live" ? "charged" : "searches"];
  const table = useMemo(() => {
    const names = new Map(keys?.map(({ id, name }) => [id, name]));
    return pivot(
      usage.lines.filter((line) => line.mode === mode),
      {
        from: usage.from,
        to: usage.to,
        by: "day",
        group: "key",
        numberOf: measure.numberOf,
        labelOf: (line) => seriesLabel(line, "key", names),
      },
    );
  }, [keys, usage, mode, measure]);
  if (table.series.length === 0) {
    return (
      <EmptyState
        title={mode === "live" ? "No spend in the last 30 days" : "No test searches in the last 30 days"}
        action={
          <Button variant="default" component={Link} to="/w/$walletId/playground" params={{ walletId } as never}>
            Open playground
          </Button>
        }
      >
        {mode === "live"
          ? "A successful search costs $0.01 and appears here under the key that sent it."
          : "Test searches are free and appear here under the key that sent them."}
      </EmptyState>
    );
  }
  const select = (bucket: Bucket, series?: number): Promise<void> => {
    const key = series === undefined ? undefined : table.series[series]?.value;
    const view = { group: "key", ...(mode === "live" && { measure: "charged" }) };
    return navigate({
      to: "/w/$walletId/usage",
      params: { walletId },
      search: { ...view, bucket: bucket.start, ...(key !== undefined && { key }) },
    });
  };
  return (
    <figure className={`${classes.chart} ${usageClasses.chart}`}>
      <figcaption>
        <Text span fw={600} fz={22}>
          {measure.format(totalOf(table.buckets, 0))}
        </Text>
        <Legend table={table} group="key" />
      </figcaption>
      <Suspense fallback={<ChartSkeleton />}>
        <UsageChart
          pivot={table}
          by="day"
          days={days}
          group="key"
          measure={measure}
          asOf={usage.as_of}
          height={240}
          onSelect={select}
        />
      </Suspense>
    </figure>
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
