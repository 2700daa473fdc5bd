import { Button, Skeleton, Text } from "@mantine/core";
import type { UsagePeriod } from "@pennyblack/sdk";
import { keepPreviousData, useQuery } from "@tanstack/react-query";
import { getRouteApi, Link } from "@tanstack/react-router";
import { lazy, Suspense, useCallback, useMemo, useState } from "react";
import { keysQuery } from "../../api/keys.ts";
import { type Usage, type UsageGroup, usageQuery } from "../../api/usage.ts";
import { Chips } from "../../components/chips.tsx";
import { Metric } from "../../components/metric.tsx";
import { Section } from "../../components/page.tsx";
import { RelativeTime } from "../../components/relative-time.tsx";
import { EmptyState, QueryState } from "../../components/states.tsx";
import { useTimeZone } from "../../components/use-time-zone.ts";
import { formatMoney } from "../../format/format-money.ts";
import { formatCount } from "../../format/format-time.ts";
import { useMode } from "../../layout/mode.tsx";
import { useWallet } from "../../layout/use-wallet.ts";
import { formatBucket, formatBucketZone } from "./format-bucket.ts";
import { Legend } from "./legend.tsx";
import { type Measure, measures } from "./measure.ts";
import { type Bucket, pivot, totalOf } from "./pivot.ts";
import { SelectedSearches } from "./selected-searches.tsx";
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
    // A selected bar may not exist in another period or interval.
    navigate({ search: (before) => ({ ...before, bucket: undefined, ...change }), replace: true });
  return (
    <div className={classes.controls}>
      <Chips label="Period" value={span} options={timeRanges} onChange={(value) => setSearch({ span: value })} />
      <Chips
        label="Interval"
        value={by}
        options={days > 1 && days <= 30 ? bucketOptions : bucketOptions.filter(({ value }) => value === by)}
        onChange={(value) => setSearch({ by: value })}
      />
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
  { value: "day", label: "Day" },
  { value: "hour", label: "Hour" },
] as const;
const groupOptions = [
  { value: "all", label: "None" },
  { value: "key", label: "Key" },
  { value: "category", label: "Category" },
  { value: "outcome", label: "Outcome" },
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
  const { zone } = useTimeZone();
  const { bucket: selected } = route.useSearch();
  const navigate = route.useNavigate();
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
  const select = (bucket: Bucket, series?: number): Promise<void> => {
    const value = series === undefined ? undefined : table.series[series]?.value;
    const none = { key: undefined, category: undefined, outcome: undefined, run: undefined };
    const filter = group === undefined || value === undefined ? {} : { [group]: value };
    return navigate({
      search: (before) => ({ ...before, ...none, ...filter, bucket: bucket.start }),
      resetScroll: false,
    });
  };
  return (
    <>
      <UsageMetrics buckets={buckets} by={by} />
      <div className={classes.chart}>
        {table.series.length > 1 && <Legend table={table} group={group} />}
        <Suspense fallback={<Skeleton height={320} />}>
          <UsageChart
            key={drawing}
            pivot={table}
            {...view}
            asOf={usage.as_of}
            height={320}
            selected={selected}
            onSelect={select}
            zoom={{ visible: buckets, onChange: onZoom }}
          />
        </Suspense>
      </div>
      <div className={classes.footer}>
        <span>
          Includes searches up to <RelativeTime at={usage.as_of} />. {by === "day" ? "Days" : "Times"} are in{" "}
          {formatBucketZone(usage.as_of, by, zone)}. The last bar is {by === "day" ? "today" : "this hour"} so far.
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
      <SelectedSearches usage={usage} by={by} keyNames={keyNames} />
      <Section title={by === "day" ? "By day" : "By hour"}>
        <UsageTable pivot={table} buckets={buckets} by={by} group={group} measure={view.measure} asOf={usage.as_of} />
      </Section>
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
  const { zone } = useTimeZone();
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
          value={formatBucket(busiest.start, by, zone)}
          description={formatCount(busiest.searches, "search", "searches")}
        />
      )}
    </div>
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
