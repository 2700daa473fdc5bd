import { Button, Skeleton, Text } from "@mantine/core";
import { keepPreviousData, useQuery } from "@tanstack/react-query";
import { getRouteApi, Link } from "@tanstack/react-router";
import { lazy, Suspense, useCallback, useMemo, useState } from "react";
import { keysQuery } from "../../api/keys.ts";
import { type Usage, type UsageGroup, type UsageLine, usageQuery } from "../../api/usage.ts";
import { useMode } from "../../frame/mode.tsx";
import { useWallet } from "../../frame/use-wallet.ts";
import { Chips } from "../../parts/chips.tsx";
import { Figure } from "../../parts/figure.tsx";
import { Moment } from "../../parts/moment.tsx";
import { Empty, Failure, RowsSkeleton } from "../../parts/states.tsx";
import { formatMoney } from "../../words/format-money.ts";
import { formatCount } from "../../words/format-time.ts";
import { colorOf } from "./color-of.ts";
import { formatStep } from "./format-step.ts";
import { type Measure, measures } from "./measure.ts";
import { nameLine } from "./name-line.ts";
import { type Bucket, type Pivot, pivot, totalOf } from "./pivot.ts";
import { beginOf, readSpan, spans } from "./span.ts";
import classes from "./usage.module.css";
import { download, toUsageCsv } from "./usage-csv.ts";
import { UsageTable } from "./usage-table.tsx";

// The library that draws is larger than all the rest of the page: it comes after the numbers.
const UsageChart = lazy(() =>
  import("./usage-chart.tsx").then(
    (loaded) => ({ default: loaded.UsageChart }),
    () => ({ default: NoChart }),
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
  const { days, by } = readSpan(search.span, search.by);
  const group = readGroup(search.group);
  const from = beginOf({ days, by }, new Date());
  const usage = useQuery({ ...usageQuery(id, { from, by, group }), placeholderData: keepPreviousData });
  // What a key is called; without it its id is shown, which is no reason to show nothing.
  const keys = useQuery(keysQuery(id));
  const keyNames = useMemo(() => new Map(keys.data?.map((key) => [key.id, key.name])), [keys.data]);
  const measure = measures[search.measure === "charged" && mode === "live" ? "charged" : "searches"];
  return (
    <>
      <Controls />
      {usage.isPending && <RowsSkeleton rows={10} />}
      {usage.isError && !usage.data && (
        <Failure error={usage.error} what="The usage could not be read." retry={() => usage.refetch()} />
      )}
      {usage.data && (
        <Counted
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

function readGroup(text: string | undefined): UsageGroup | undefined {
  return groups.find((group) => group === text);
}

function Controls() {
  const { mode } = useMode();
  const search = route.useSearch();
  const navigate = route.useNavigate();
  const { span, days, by } = readSpan(search.span, search.by);
  const set = (change: Partial<typeof search>): Promise<void> =>
    navigate({ search: (before) => ({ ...before, ...change }), replace: true });
  return (
    <div className={classes.controls}>
      <Chips label="How far back" value={span} options={spans} onChange={(value) => set({ span: value })} />
      {days > 1 && days <= 30 && (
        <Chips label="Steps" value={by} options={steps} onChange={(value) => set({ by: value })} />
      )}
      <Chips
        label="Apart by"
        value={readGroup(search.group) ?? "all"}
        options={apart}
        onChange={(value) => set({ group: value === "all" ? undefined : value })}
      />
      {mode === "live" && (
        <Chips
          label="Count"
          value={search.measure === "charged" ? "charged" : "searches"}
          options={counts}
          onChange={(value) => set({ measure: value })}
        />
      )}
    </div>
  );
}

const steps = [
  { value: "day", label: "By day" },
  { value: "hour", label: "By hour" },
] as const;
const apart = [
  { value: "all", label: "Together" },
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
  lines: UsageLine[];
  keyNames: ReadonlyMap<string, string>;
  view: View;
}

function Counted({ usage, lines, keyNames, view }: CountedProps) {
  const { by, group } = view;
  const [zoom, setZoom] = useState<{ first: number; last: number }>();
  const [drawing, setDrawing] = useState(0);
  const table = useMemo(
    () =>
      pivot(lines, { from: usage.from, to: usage.to, by, group, nameOf: (line) => nameLine(line, group, keyNames) }),
    [lines, usage, by, group, keyNames],
  );
  const onZoom = useCallback((first: number, last: number) => setZoom({ first, last }), []);
  if (lines.length === 0) return <NoSearches asOf={usage.as_of} />;
  const buckets = zoom ? table.buckets.slice(zoom.first, zoom.last + 1) : table.buckets;
  const isZoomed = buckets.length < table.buckets.length;
  const save = (): void => {
    const starts = new Set(buckets.map(({ start }) => Date.parse(start)));
    const shown = lines.filter(({ start }) => starts.has(Date.parse(start)));
    download(nameFile(buckets), toUsageCsv(shown, { by, group, keyNames }));
  };
  const reset = (): void => {
    setZoom(undefined);
    setDrawing(drawing + 1);
  };
  return (
    <>
      <Figures buckets={buckets} by={by} />
      <div className={classes.chart}>
        {table.series.length > 1 && <Legend table={table} group={group} />}
        <Suspense fallback={<Skeleton height={320} />}>
          <UsageChart key={drawing} pivot={table} {...view} onZoom={onZoom} />
        </Suspense>
      </div>
      <div className={classes.under}>
        <span>
          Every search accepted until <Moment at={usage.as_of} /> is counted. Days and hours are UTC.
        </span>
        <span>
          {isZoomed && (
            <Button variant="subtle" size="compact-xs" onClick={reset}>
              Show all again
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

function NoChart() {
  return (
    <Text c="dimmed" py="xl">
      The chart could not be fetched. The numbers are below; load the page again to draw them.
    </Text>
  );
}

function nameFile(buckets: readonly Bucket[]): string {
  const day = (bucket: Bucket | undefined): string => bucket?.start.slice(0, 10) ?? "";
  return `usage-${day(buckets[0])}-to-${day(buckets.at(-1))}.csv`;
}

const plain = new Intl.NumberFormat("en");

function Figures({ buckets, by }: { buckets: Bucket[]; by: "hour" | "day" }) {
  const { mode } = useMode();
  const { searches, charged } = totalOf(buckets, 0);
  const busiest = buckets.reduce<Bucket | undefined>(
    (most, bucket) => (most === undefined || bucket.searches > most.searches ? bucket : most),
    undefined,
  );
  return (
    <div className={classes.figures}>
      <Figure label="Searches" value={plain.format(searches)} />
      <Figure label="Charged" value={mode === "test" ? "free" : formatMoney(charged)} />
      {busiest && (
        <Figure
          label={by === "day" ? "Busiest day" : "Busiest hour"}
          value={formatStep(busiest.start, by)}
          note={formatCount(busiest.searches, "search", "searches")}
        />
      )}
    </div>
  );
}

function Legend({ table, group }: { table: Pivot; group: UsageGroup | undefined }) {
  return (
    <ul className={classes.legend} aria-label="Colours">
      {table.series.map(({ name }, index) => (
        <li key={name}>
          <span className={classes.swatch} style={{ background: colorOf(index, group) }} />
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
    <Empty
      title={mode === "test" ? "No test search in this time" : "No search in this time"}
      action={
        <Button variant="default" component={Link} to="/w/$walletId/playground" params={{ walletId: id } as never}>
          Try one in the playground
        </Button>
      }
    >
      Searches appear here a few minutes after they were sent. Counted until <Moment at={asOf} />.
      <Text span inherit>
        {" "}
        {mode === "test" ? "Live searches are under Live, above." : "Test searches are under Test, above."}
      </Text>
    </Empty>
  );
}
