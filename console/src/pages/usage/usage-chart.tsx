import "@mantine/charts/styles.css";
import { BarChart } from "@mantine/charts";
import { useMemo } from "react";
import type { UsageGroup } from "../../api/usage.ts";
import { toNumber } from "../../format/format-money.ts";
import { formatBucket, formatTick } from "./format-bucket.ts";
import type { Measure } from "./measure.ts";
import type { Bucket, Count, Pivot } from "./pivot.ts";
import { seriesColor } from "./series-color.ts";
import classes from "./usage.module.css";

interface Props {
  pivot: Pivot;
  by: "hour" | "day";
  days: number;
  measure: Measure;
  group: UsageGroup | undefined;
  /** Called with the first and last visible bucket. */
  onZoom: (first: number, last: number) => void;
}

/** Stacked bars. The brush below zooms by dragging its handles or with the arrow keys. */
export function UsageChart({ pivot, by, days, measure, group, onZoom }: Props) {
  const data = useMemo(
    () =>
      pivot.buckets.map((bucket) => ({
        tick: formatTick(bucket.start, by, days),
        bucket,
        ...Object.fromEntries(bucket.cells.map((cell, index) => [`s${index}`, toHeight(cell, measure)])),
      })),
    [pivot, by, days, measure],
  );
  return (
    <BarChart
      h={320}
      data={data}
      dataKey="tick"
      type="stacked"
      series={pivot.series.map(({ name }, index) => ({
        name: `s${index}`,
        label: name,
        color: seriesColor(index, group),
      }))}
      maxBarWidth={40}
      tickLine="none"
      gridAxis="x"
      gridColor="var(--pb-hairline)"
      strokeDasharray="0"
      valueFormatter={(value) => measure.formatTick(value)}
      yAxisProps={{ width: 64, allowDecimals: measure.name === "charged" }}
      xAxisProps={{ minTickGap: 32, interval: "preserveStartEnd" }}
      barProps={{ isAnimationActive: false }}
      tooltipProps={{
        content: ({ payload }) => {
          const given = payload[0]?.payload as { bucket: Bucket } | undefined;
          return given && <Tooltip bucket={given.bucket} pivot={pivot} by={by} measure={measure} group={group} />;
        },
      }}
      withBrush={data.length > 1}
      brushProps={{
        height: 28,
        travellerWidth: 10,
        tickFormatter: () => "",
        ariaLabel: "Visible range. Use arrow keys to adjust.",
        onChange: ({ startIndex, endIndex }) => onZoom(startIndex ?? 0, endIndex ?? data.length - 1),
      }}
    />
  );
}

function toHeight(count: Count, measure: Measure): number {
  return measure.name === "charged" ? toNumber(count.charged) : count.searches;
}

function Tooltip({ bucket, pivot, by, measure, group }: Omit<Props, "days" | "onZoom"> & { bucket: Bucket }) {
  const rows = pivot.series.map(({ name }, index) => ({ name, index, cell: bucket.cells[index] }));
  return (
    <div className={classes.tooltip}>
      <strong>{formatBucket(bucket.start, by)} UTC</strong>
      <dl>
        {pivot.series.length > 1 &&
          rows.map(
            ({ name, index, cell }) =>
              cell !== undefined &&
              cell.searches > 0 && (
                <div key={name} style={{ display: "contents" }}>
                  <dt>
                    <span className={classes.swatch} style={{ background: seriesColor(index, group) }} />
                    {name}
                  </dt>
                  <dd>{measure.format(cell)}</dd>
                </div>
              ),
          )}
        <dt>Total</dt>
        <dd>{measure.format(bucket)}</dd>
      </dl>
    </div>
  );
}
