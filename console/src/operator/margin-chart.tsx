import "@mantine/charts/styles.css";
import { BarChart } from "@mantine/charts";
import { Text, Title } from "@mantine/core";
import { addMoney, formatMoney } from "../format/format-money.ts";
import { formatCount, formatDay } from "../format/format-time.ts";
import { type Amount, roundTicks, type Series, type SeriesDay, toBars } from "./margin-figures.ts";
import classes from "./operator.module.css";

interface Props {
  title: string;
  amount: Amount;
  days: readonly string[];
  series: readonly (Series & { color: number })[];
  rows: readonly SeriesDay[];
}

/** Stacked bars by day. The tables below have the figures, so for screen readers the chart is an image. */
export function MarginChart({ title, amount, days, series, rows }: Props) {
  const bars = toBars(days, series, rows, amount);
  const ticks = roundTicks(bars);
  const total = formatMoney(addMoney(rows.map((row) => row[amount])));
  return (
    <div>
      <div className={classes.chartTitle}>
        <Title order={2} fz="sm">
          {title}
        </Title>
        <Text size="sm">{total}</Text>
      </div>
      <div role="img" aria-label={`${title}: ${total} in ${formatCount(days.length, "day")}`}>
        <BarChart
          h={220}
          data={bars}
          dataKey="day"
          type="stacked"
          series={series.map(({ name, color }, index) => ({
            name: `s${index}`,
            label: name,
            color: `var(--series-${color})`,
          }))}
          maxBarWidth={32}
          tickLine="none"
          gridAxis="x"
          gridColor="var(--pb-hairline)"
          strokeDasharray="0"
          // Negative parts are drawn below zero.
          barChartProps={{ stackOffset: "sign", barCategoryGap: "20%" }}
          yAxisProps={{
            width: 56,
            ticks,
            domain: [ticks[0] ?? 0, ticks.at(-1) ?? 1],
            interval: 0,
            tickFormatter: (value: number) => formatTick(value, ticks),
          }}
          xAxisProps={{ minTickGap: 40, tickFormatter: formatDay }}
          barProps={{ isAnimationActive: false }}
          tooltipProps={{
            isAnimationActive: false,
            // The label is missing until the pointer is over a bar.
            content: ({ label }) =>
              label ? <DayTooltip day={String(label)} amount={amount} series={series} rows={rows} /> : null,
          }}
        />
      </div>
    </div>
  );
}

/** Cents only if a tick needs them. */
function formatTick(value: number, ticks: readonly number[]): string {
  const amount = formatMoney(value.toFixed(2));
  return ticks.every((tick) => Number.isInteger(tick)) ? amount.replace(/\.00$/, "") : amount;
}

function DayTooltip({ day, amount, series, rows }: Omit<Props, "title" | "days"> & { day: string }) {
  const own = rows.filter((row) => row.day === day);
  return (
    <div className={classes.tooltip}>
      <div>{formatDay(day)}</div>
      <strong>{formatMoney(addMoney(own.map((row) => row[amount])))}</strong>
      {series.length > 1 &&
        series.map(({ id, name, color }) => (
          <div key={id} className={classes.tooltipRow}>
            <span>
              <Swatch color={color} />
              {name}
            </span>
            <span>
              {formatMoney(addMoney(own.filter(({ seriesId }) => seriesId === id).map((row) => row[amount])))}
            </span>
          </div>
        ))}
    </div>
  );
}

export function Swatch({ color }: { color: number }) {
  return <span className={classes.swatch} style={{ background: `var(--series-${color})` }} aria-hidden="true" />;
}
