import "@mantine/charts/styles.css";
import { BarChart } from "@mantine/charts";
import { type ReactElement, useMemo } from "react";
import type { UsageGroup } from "../../api/usage-group.ts";
import { useTimeZone } from "../../components/use-time-zone.ts";
import { formatBucket, formatBucketZone, formatTick, isPartial } from "./format-bucket.ts";
import type { Measure } from "./measure.ts";
import { niceTicks } from "./nice-ticks.ts";
import type { Bucket, Pivot } from "./pivot.ts";
import { seriesColor } from "./series-color.ts";
import classes from "./usage.module.css";

interface Props {
  pivot: Pivot;
  by: "hour" | "day";
  days: number;
  measure: Measure;
  group: UsageGroup | undefined;
  /** Searches that finished later are not included. */
  asOf: string;
  height: number;
  /** Start of the bucket whose searches are listed. */
  selected?: string | undefined;
  /** Called with a bucket, and with the index of the series if one of its parts was clicked. */
  onSelect: (bucket: Bucket, series?: number) => void;
  zoom?: {
    visible: readonly Bucket[];
    /** Called with the first and last visible bucket. */
    onChange: (first: number, last: number) => void;
  };
}

/** Stacked bars. With `zoom`, the brush below zooms by dragging its handles or with the arrow keys. */
export function UsageChart(props: Props) {
  const { pivot, by, days, measure, group, asOf, height, selected, onSelect, zoom } = props;
  const { zone } = useTimeZone();
  const data = useMemo(
    () =>
      pivot.buckets.map((bucket) => ({
        start: bucket.start,
        bucket,
        opacity: opacityOf(bucket, { by, asOf, selected }),
        ...Object.fromEntries(bucket.cells.map((cell, index) => [`s${index}`, measure.numberOf(cell)])),
      })),
    [pivot, by, measure, asOf, selected],
  );
  const ticks = useMemo(() => {
    const heights = (zoom?.visible ?? pivot.buckets).map((bucket) => measure.numberOf(bucket));
    return niceTicks(Math.max(0, ...heights), measure.minStep);
  }, [pivot, zoom?.visible, measure]);
  const series = pivot.series.map(({ name }, index) => ({
    name: `s${index}`,
    label: name,
    color: seriesColor(index, group),
  }));
  return (
    <BarChart
      className={classes.bars}
      h={height}
      data={data}
      dataKey="start"
      type="stacked"
      series={series}
      maxBarWidth={40}
      tickLine="none"
      gridAxis="x"
      gridColor="var(--pb-hairline)"
      strokeDasharray="0"
      valueFormatter={(value) => measure.formatTick(value)}
      yAxisProps={{ width: 64, ticks, domain: [0, ticks.at(-1) ?? 1], interval: 0 }}
      xAxisProps={{
        minTickGap: 32,
        interval: "preserveStartEnd",
        tickFormatter: (start: string) => formatTick(start, { by, days, zone }),
      }}
      barProps={({ name }) => ({
        isAnimationActive: false,
        shape: Bar,
        onClick: ({ payload }, _, event) => {
          event.stopPropagation();
          onSelect((payload as { bucket: Bucket }).bucket, Number(name.slice(1)));
        },
      })}
      barChartProps={{
        onClick: ({ activeLabel }) => {
          const bucket = pivot.buckets.find(({ start }) => start === activeLabel);
          if (bucket && measure.numberOf(bucket) > 0) onSelect(bucket);
        },
      }}
      tooltipProps={{
        isAnimationActive: false,
        content: ({ payload }) => {
          const given = payload[0]?.payload as { bucket: Bucket } | undefined;
          return given && <Tooltip bucket={given.bucket} {...props} />;
        },
      }}
      withBrush={zoom !== undefined && data.length > 1}
      brushProps={{
        height: 28,
        travellerWidth: 10,
        tickFormatter: () => "",
        ariaLabel: "Visible range. Use arrow keys to adjust.",
        onChange: ({ startIndex, endIndex }) => zoom?.onChange(startIndex ?? 0, endIndex ?? data.length - 1),
      }}
    />
  );
}

/** A bucket that is not complete is lighter, so that it is not compared with the others. */
function opacityOf(bucket: Bucket, { by, asOf, selected }: Pick<Props, "by" | "asOf" | "selected">): number {
  if (selected !== undefined) return bucket.start === selected ? 1 : 0.35;
  return isPartial(bucket.start, by, asOf) ? 0.6 : 1;
}

interface BarShape {
  x?: number;
  y?: number;
  width?: number;
  height?: number;
  fill?: string;
  payload?: { opacity: number };
}

function Bar({ x, y, width, height, fill, payload }: BarShape): ReactElement {
  return <rect x={x} y={y} width={width} height={height} fill={fill} fillOpacity={payload?.opacity} />;
}

function Tooltip({ bucket, pivot, by, measure, group, asOf }: Props & { bucket: Bucket }) {
  const { zone } = useTimeZone();
  const rows = pivot.series.map(({ name }, index) => ({ name, index, cell: bucket.cells[index] }));
  return (
    <div className={classes.tooltip}>
      <strong>
        {formatBucket(bucket.start, by, zone)} {formatBucketZone(bucket.start, by, zone)}
      </strong>
      {isPartial(bucket.start, by, asOf) && ", so far"}
      <dl>
        {pivot.series.length > 1 &&
          rows.map(
            ({ name, index, cell }) =>
              cell !== undefined &&
              measure.numberOf(cell) > 0 && (
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
