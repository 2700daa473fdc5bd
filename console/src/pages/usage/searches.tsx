import { Button, Skeleton, Text } from "@mantine/core";
import type { UsagePeriod } from "@pennyblack/sdk";
import { keepPreviousData, useQuery } from "@tanstack/react-query";
import { getRouteApi, Link } from "@tanstack/react-router";
import { lazy, Suspense, useCallback, useMemo, useState } from "react";
import { keysQuery } from "../../api/keys.ts";
import { type Usage, type UsageGroup, usageQuery } from "../../api/usage.ts";
import { Chips } from "../../components/chips.tsx";
import { Metric } from "../../components/metric.tsx";
import { RelativeTime } from "../../components/relative-time.tsx";
import { EmptyState, QueryState } from "../../components/states.tsx";
import { formatMoney } from "../../format/format-money.ts";
import { formatCount } from "../../format/format-time.ts";
import { useMode } from "../../layout/mode.tsx";
import { useWallet } from "../../layout/use-wallet.ts";
import { formatBucket } from "./format-bucket.ts";
import { type Measure, measures } from "./measure.ts";
import { type Bucket, type Pivot, pivot, totalOf } from "./pivot.ts";
import { seriesColor } from "./series-color.ts";
import { seriesLabel } from "./series-label.ts";
import { parseTimeRange, startOf, timeRanges } from "./time-range.ts";
import classes from "./usage.module.css";
import { download, toUsageCsv } from "./usage-csv.ts";
import { UsageTable } from "./usage-table.tsx";

// The chart library is large, so it is loaded after the numbers.
const UsageChart = lazy(() =>
  import("./usage-chart.tsx").then(
    (loaded) => ({ default: loaded.UsageChart }),
    () => ({ default: ChartLoadError }),
  ),
);

const route = getRouteApi("/signed-in/w/$walletId/usage");

interface View {
  days: number;
  by: "hour" | "day";
  group: UsageGroup | undefined;
  measure: Measure;
}

export function Searches() {
  const { id } = useWallet();
  const { mode } = useMode();
  const search = route.useSearch();
  const { days, by } = parseTimeRange(search.span, search.by);
  const group = parseGroup(search.group);
  const from = startOf({ days, by }, new Date());
  const usage = useQuery({ ...usageQuery(id, { from, by, group }), placeholderData: keepPreviousData });
  // Only for key names. Until they load, ids are shown.
  const keys = useQuery(keysQuery(id));
  const keyNames = useMemo(() => new Map(keys.data?.map((key) => [key.id, key.name])), [keys.data]);
  const measure = measures[search.measure === "charged" && mode === "live" ? "charged" : "searches"];
  return (
    <>
      <Controls />
      <QueryState query={usage} title="Couldn't load usage." rows={10} />
      {usage.data && (
        <UsageReport
          key={`${from} ${by} ${group ?? ""} ${mode}`}
          usage={usage.data}
          lines={usage.data.lines.filter((line) => line.mode === mode)}
          keyNames={keyNames}
          view={{ days, by, group, measure }}
        />
      )}
    </>
  );
}

const groups = ["key", "category", "outcome"] as const;

function parseGroup(text: string | undefined): UsageGroup | undefined {
  return groups.find((group) => group === text);
}

function Controls() {
  const { mode } = useMode();
  const search = route.useSearch();
  const navigate = route.useNavigate();
  const { range: span, days, by } = parseTimeRange(search.span, search.by);
  const setSearch = (change: Partial<typeof search>): Promise<void> =>
    navigate({ search: (before) => ({ ...before, ...change }), replace: true });
  return (
    <div className={classes.controls}>
      <Chips label="Period" value={span} options={timeRanges} onChange={(value) => setSearch({ span: value })} />
      {days > 1 && days <= 30 && (
        <Chips label="Interval" value={by} options={bucketOptions} onChange={(value) => setSearch({ by: value })} />
      )}
      <Chips
        label="Group by"
        value={parseGroup(search.group) ?? "all"}
        options={groupOptions}
        onChange={(value) => setSearch({ group: value === "all" ? undefined : value })}
      />
      {mode === "live" && (
        <Chips
          label="Metric"
          value={search.measure === "charged" ? "charged" : "searches"}
          options={counts}
          onChange={(value) => setSearch({ measure: value })}
        />
      )}
    </div>
  );
}

const bucketOptions = [
  { value: "day", label: "Per day" },
  { value: "hour", label: "Per hour" },
] as const;
const groupOptions = [
  { value: "all", label: "Total" },
  { value: "key", label: "By key" },
  { value: "category", label: "By category" },
  { value: "outcome", label: "By outcome" },
] as const;
const counts = [
  { value: "searches", label: "Searches" },
  { value: "charged", label: "Spend" },
] as const;

interface CountedProps {
  usage: Usage;
  lines: UsagePeriod[];
  keyNames: ReadonlyMap<string, string>;
  view: View;
}

function UsageReport({ usage, lines, keyNames, view }: CountedProps) {
  const { by, group } = view;
  const [zoom, setZoom] = useState<{ first: number; last: number }>();
  const [drawing, setDrawing] = useState(0);
  const table = useMemo(
    () =>
      pivot(lines, {
        from: usage.from,
        to: usage.to,
        by,
        group,
        labelOf: (line) => seriesLabel(line, group, keyNames),
      }),
    [lines, usage, by, group, keyNames],
  );
  const onZoom = useCallback((first: number, last: number) => setZoom({ first, last }), []);
  if (lines.length === 0) return <NoSearches asOf={usage.as_of} />;
  const buckets = zoom ? table.buckets.slice(zoom.first, zoom.last + 1) : table.buckets;
  const isZoomed = buckets.length < table.buckets.length;
  const save = (): void => {
    const starts = new Set(buckets.map(({ start }) => Date.parse(start)));
    const shown = lines.filter(({ start }) => starts.has(Date.parse(start)));
    download(fileName(buckets), toUsageCsv(shown, { by, group, keyNames }));
  };
  const reset = (): void => {
    setZoom(undefined);
    setDrawing(drawing + 1);
  };
  return (
    <>
      <UsageMetrics buckets={buckets} by={by} />
      <div className={classes.chart}>
        {table.series.length > 1 && <Legend table={table} group={group} />}
        <Suspense fallback={<Skeleton height={320} />}>
          <UsageChart key={drawing} pivot={table} {...view} onZoom={onZoom} />
        </Suspense>
      </div>
      <div className={classes.footer}>
        <span>
          Includes searches up to <RelativeTime at={usage.as_of} />. Times are in UTC.
        </span>
        <span>
          {isZoomed && (
            <Button variant="subtle" size="compact-xs" onClick={reset}>
              Reset zoom
            </Button>
          )}
          <Button variant="default" size="xs" onClick={save}>
            Download CSV
          </Button>
        </span>
      </div>
      <UsageTable pivot={table} buckets={buckets} by={by} measure={view.measure} />
    </>
  );
}

function ChartLoadError() {
  return (
    <Text c="dimmed" py="xl">
      Couldn't load the chart. Reload the page to try again. The numbers are below.
    </Text>
  );
}

function fileName(buckets: readonly Bucket[]): string {
  const day = (bucket: Bucket | undefined): string => bucket?.start.slice(0, 10) ?? "";
  return `usage-${day(buckets[0])}-to-${day(buckets.at(-1))}.csv`;
}

const number = new Intl.NumberFormat("en");

function UsageMetrics({ buckets, by }: { buckets: Bucket[]; by: "hour" | "day" }) {
  const { mode } = useMode();
  const { searches, charged } = totalOf(buckets, 0);
  const busiest = buckets.reduce<Bucket | undefined>(
    (max, bucket) => (max === undefined || bucket.searches > max.searches ? bucket : max),
    undefined,
  );
  return (
    <div className={classes.metrics}>
      <Metric label="Searches" value={number.format(searches)} />
      <Metric label="Charged" value={mode === "test" ? "Free" : formatMoney(charged)} />
      {busiest && (
        <Metric
          label={by === "day" ? "Busiest day" : "Busiest hour"}
          value={formatBucket(busiest.start, by)}
          description={formatCount(busiest.searches, "search", "searches")}
        />
      )}
    </div>
  );
}

function Legend({ table, group }: { table: Pivot; group: UsageGroup | undefined }) {
  return (
    <ul className={classes.legend} aria-label="Legend">
      {table.series.map(({ name }, index) => (
        <li key={name}>
          <span className={classes.swatch} style={{ background: seriesColor(index, group) }} />
          {name}
        </li>
      ))}
    </ul>
  );
}

function NoSearches({ asOf }: { asOf: string }) {
  const { id } = useWallet();
  const { mode } = useMode();
  return (
    <EmptyState
      title={mode === "test" ? "No test searches in this period" : "No searches in this period"}
      action={
        <Button variant="default" component={Link} to="/w/$walletId/playground" params={{ walletId: id } as never}>
          Open playground
        </Button>
      }
    >
      Searches appear here when they have finished. Includes searches up to <RelativeTime at={asOf} />.
      <Text span inherit>
        {" "}
        {mode === "test" ? "Switch to live mode to see live searches." : "Switch to test mode to see test searches."}
      </Text>
    </EmptyState>
  );
}
