import "@mantine/charts/styles.css";
import { AreaChart } from "@mantine/charts";
import { Text } from "@mantine/core";
import { formatDay } from "../../format/format-clock.ts";
import classes from "./overview.module.css";
import type { Layer, Stack } from "./stack-days.ts";

export function SpendChart(props: {
  stack: Stack;
  format: (amount: string) => string;
  formatTick: (value: number) => string;
}) {
  const { stack, format, formatTick } = props;
  const { layers, days, total } = stack;
  return (
    <figure className={classes.chart}>
      <figcaption>
        <Text span fw={600} fz={22}>
          {format(total)}
        </Text>
        <ul className={classes.legend}>
          {layers.map(({ id, name }, index) => (
            <li key={id}>
              <Swatch index={index} />
              {name}
            </li>
          ))}
        </ul>
      </figcaption>
      <AreaChart
        h={240}
        data={days.map(({ day, heights }) => ({ day, ...heights }))}
        dataKey="day"
        series={layers.map(({ id, name }, index) => ({ name: id, label: name, color: `var(--series-${index})` }))}
        type="stacked"
        curveType="linear"
        withDots={false}
        strokeWidth={1.5}
        fillOpacity={0.35}
        strokeDasharray="0"
        gridColor="var(--pb-hairline)"
        tickLine="none"
        xAxisProps={{ tickFormatter: formatDay, minTickGap: 40 }}
        yAxisProps={{
          width: 64,
          tickFormatter: formatTick,
          allowDecimals: total.includes("."),
        }}
        tooltipProps={{
          content: ({ label }) => <DayTooltip day={String(label)} stack={stack} format={format} />,
          isAnimationActive: false,
        }}
        areaProps={{ isAnimationActive: false }}
      />
    </figure>
  );
}

function DayTooltip({ day, stack, format }: { day: string; stack: Stack; format: (amount: string) => string }) {
  const found = stack.days.find((each) => each.day === day);
  if (!found) return undefined;
  const spent = stack.layers
    .map((layer, index) => ({ ...layer, index }))
    .filter(({ id }) => Number(found.exact[id]) > 0);
  return (
    <div className={classes.tooltip}>
      <Text size="sm" fw={600}>
        {formatDay(day)}: {format(found.total)}
      </Text>
      {spent.length > 1 && <TooltipRows rows={spent} amounts={found.exact} format={format} />}
    </div>
  );
}

function TooltipRows(props: {
  rows: (Layer & { index: number })[];
  amounts: Record<string, string>;
  format: (amount: string) => string;
}) {
  return props.rows.map(({ id, name, index }) => (
    <div key={id} className={classes.tooltipRow}>
      <Swatch index={index} />
      <span>{name}</span>
      <span className="numeric">{props.format(props.amounts[id] ?? "0.00")}</span>
    </div>
  ));
}

function Swatch({ index }: { index: number }) {
  return <span className={classes.swatch} style={{ background: `var(--series-${index})` }} aria-hidden="true" />;
}
