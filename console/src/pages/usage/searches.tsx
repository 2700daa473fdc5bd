import { Anchor, Box, Button, Skeleton, Text } from "@mantine/core";
import type { UsagePeriod } from "@pennyblack/sdk";
import { keepPreviousData, useQuery } from "@tanstack/react-query";
import { getRouteApi, Link } from "@tanstack/react-router";
import { lazy, Suspense, useCallback, useMemo, useState } from "react";
import { keysQuery } from "../../api/keys.ts";
import { type Usage, usageQuery } from "../../api/usage.ts";
import type { UsageGroup } from "../../api/usage-group.ts";
import { Metric } from "../../components/metric.tsx";
import { Notice } from "../../components/notice.tsx";
import { Section } from "../../components/page.tsx";
import { RelativeTime } from "../../components/relative-time.tsx";
import { EmptyState, QueryState } from "../../components/states.tsx";
import { useTimeZone } from "../../components/use-time-zone.ts";
import { download } from "../../format/download.ts";
import { formatMoney } from "../../format/format-money.ts";
import { formatCount } from "../../format/format-time.ts";
import { useMode } from "../../layout/mode.tsx";
import { useWallet } from "../../layout/use-wallet.ts";
import { Controls } from "./controls.tsx";
import { formatBucket, formatBucketZone } from "./format-bucket.ts";
import { Legend } from "./legend.tsx";
import { type Measure, measures, measuresOf } from "./measure.ts";
import { parseView, type UsageView } from "./parse-view.ts";
import { type Bucket, pivot, totalOf } from "./pivot.ts";
import { SelectedSearches } from "./selected-searches.tsx";
import { seriesLabel } from "./series-label.ts";
import { startOf } from "./time-range.ts";
import classes from "./usage.module.css";
import { toUsageCsv } from "./usage-csv.ts";
import { UsageTable } from "./usage-table.tsx";

// The chart library is large, so it is loaded after the numbers.
const UsageChart = lazy(() =>
  import("./usage-chart.tsx").then(
    (loaded) => ({ default: loaded.UsageChart }),
    () => ({ default: ChartLoadError }),
  ),
);

const route = getRouteApi("/signed-in/w/$walletId/usage");

interface View extends UsageView {
  measure: Measure;
}

export function Searches() {
  const { id } = useWallet();
  const { mode } = useMode();
  const search = route.useSearch();
  const view = parseView(search);
  const { by, group, endUser } = view;
  const from = startOf(view, new Date());
  const usage = useQuery({ ...usageQuery(id, { from, by, group, endUser }), placeholderData: keepPreviousData });
  // Only for key names. Until they load, ids are shown.
  const keys = useQuery(keysQuery(id));
  const keyNames = useMemo(() => new Map(keys.data?.map((key) => [key.id, key.name])), [keys.data]);
  const measure = measures[measuresOf(mode, group).find((name) => name === search.measure) ?? "searches"];
  return (
    <>
      <Controls view={view} />
      <QueryState query={usage} title="Couldn't load usage." rows={10} />
      {usage.data && (
        <UsageReport
          key={`${from} ${by} ${group ?? ""} ${endUser ?? ""} ${mode}`}
          usage={usage.data}
          lines={usage.data.lines.filter((line) => line.mode === mode)}
          keyNames={keyNames}
          view={{ ...view, measure }}
        />
      )}
    </>
  );
}

interface CountedProps {
  usage: Usage;
  lines: UsagePeriod[];
  keyNames: ReadonlyMap<string, string>;
  view: View;
}

function UsageReport({ usage, lines, keyNames, view }: CountedProps) {
  const { days, by, group, measure } = view;
  const [zoom, setZoom] = useState<{ first: number; last: number }>();
  const [drawing, setDrawing] = useState(0);
  const table = useMemo(
    () =>
      pivot(lines, {
        from: usage.from,
        to: usage.to,
        by,
        group,
        numberOf: measure.numberOf,
        labelOf: (line) => seriesLabel(line, group, keyNames),
      }),
    [lines, usage, by, group, measure, keyNames],
  );
  const onZoom = useCallback((first: number, last: number) => setZoom({ first, last }), []);
  const { zone } = useTimeZone();
  const { bucket: selected } = route.useSearch();
  const navigate = route.useNavigate();
  if (lines.length === 0) return <NoSearches asOf={usage.as_of} view={view} />;
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
    const none = { key: undefined, category: undefined, outcome: undefined, end_user: undefined, run: undefined };
    const filter = group === undefined || value === undefined ? {} : { [group]: value };
    return navigate({
      search: (before) => ({ ...before, ...none, ...filter, kind: measure.kind, bucket: bucket.start }),
      resetScroll: false,
    });
  };
  return (
    <>
      {usage.isTruncated && <TruncationNotice usage={usage} by={by} />}
      <UsageMetrics buckets={buckets} by={by} group={group} isAtLeast={usage.at_least} />
      <div className={classes.chart}>
        {table.series.length > 1 && <Legend table={table} group={group} />}
        <Suspense fallback={<Skeleton height={320} />}>
          <UsageChart
            key={drawing}
            pivot={table}
            days={days}
            by={by}
            group={group}
            measure={measure}
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
          Includes searches up to <RelativeTime at={usage.as_of} />. Refusals and replays follow within seconds.{" "}
          {by === "day" ? "Days" : "Times"} are in {formatBucketZone(usage.as_of, by, zone)}. The last bar is{" "}
          {by === "day" ? "today" : "this hour"} so far.
          {group === "end_user" && ` ${endUserNote}`}
          {usage.at_least && ` ${incompleteNote}`}
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
      <SelectedSearches usage={usage} by={by} defaultKind={measure.kind} endUser={view.endUser} keyNames={keyNames} />
      <Section title={by === "day" ? "By day" : "By hour"}>
        <UsageTable pivot={table} buckets={buckets} by={by} group={group} measure={measure} asOf={usage.as_of} />
      </Section>
    </>
  );
}

const endUserNote = "Counts searches with a Search-For header, for 90 days (7 in test mode).";
const incompleteNote = "A server failed in this period, so there can be more refusals and replays.";

function TruncationNotice({ usage, by }: { usage: Usage; by: "hour" | "day" }) {
  const { zone } = useTimeZone();
  const last = formatBucket(usage.lines.at(-1)?.start ?? usage.to, by, zone);
  return (
    <Box mb="lg">
      <Notice title={`Only the first ${number.format(usage.lines.length)} figures are included`} tone="warning">
        {`The figures for ${last} may be incomplete, and later ones are missing. Choose a shorter period${by === "day" ? " or an end user" : ""}.`}
      </Notice>
    </Box>
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

function UsageMetrics(props: {
  buckets: Bucket[];
  by: "hour" | "day";
  group: UsageGroup | undefined;
  isAtLeast: boolean;
}) {
  const { buckets, by, group, isAtLeast } = props;
  const { mode } = useMode();
  const { zone } = useTimeZone();
  const { searches, charged, refusals, replays } = totalOf(buckets, 0);
  const formatUnheld = (count: number): string => `${isAtLeast ? "at least " : ""}${number.format(count)}`;
  const busiest = buckets.reduce<Bucket | undefined>(
    (max, bucket) => (max === undefined || bucket.searches > max.searches ? bucket : max),
    undefined,
  );
  return (
    <div className={classes.metrics}>
      <Metric label="Searches" value={number.format(searches)} />
      <Metric label="Charged" value={mode === "test" ? "Free" : formatMoney(charged)} />
      {group !== "end_user" && (
        <>
          <Metric label="Refusals" value={formatUnheld(refusals)} description="rejected before their price was held" />
          <Metric label="Replays" value={formatUnheld(replays)} description="answered from their Idempotency-Key" />
        </>
      )}
      {busiest && busiest.searches > 0 && (
        <Metric
          label={by === "day" ? "Busiest day" : "Busiest hour"}
          value={formatBucket(busiest.start, by, zone)}
          description={formatCount(busiest.searches, "search", "searches")}
        />
      )}
    </div>
  );
}

function NoSearches({ asOf, view: { group, endUser } }: { asOf: string; view: UsageView }) {
  const { id } = useWallet();
  const { mode } = useMode();
  if (group === "end_user") {
    return (
      <EmptyState
        title={endUser === undefined ? "No end users in this period" : "No searches for this end user in this period"}
        action={
          <Anchor href="/docs/budgets#end-users" target="_blank" size="sm">
            How to count searches by end user
          </Anchor>
        }
      >
        {endUserNote}
      </EmptyState>
    );
  }
  return (
    <EmptyState
      title={mode === "test" ? "No test searches in this period" : "No searches in this period"}
      action={
        <Button variant="default" component={Link} to="/w/$walletId/playground" params={{ walletId: id } as never}>
          Open playground
        </Button>
      }
    >
      Searches appear here once they have finished. Includes searches up to <RelativeTime at={asOf} />.
      <Text span inherit>
        {" "}
        {mode === "test" ? "Switch to live mode to see live searches." : "Switch to test mode to see test searches."}
      </Text>
    </EmptyState>
  );
}
