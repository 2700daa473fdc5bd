import { Button, UnstyledButton } from "@mantine/core";
import { type ReactNode, useState } from "react";
import { Money } from "../components/money.tsx";
import { Cell, type Column, Row, RowHeader, Table } from "../components/table.tsx";
import { toNumber } from "../format/format-money.ts";
import { formatDay, formatPercent } from "../format/format-time.ts";
import type { MarginLine } from "./group-margin.ts";
import { Swatch } from "./margin-chart.tsx";
import { addFigures, type SeriesDay } from "./margin-figures.ts";
import classes from "./operator.module.css";
import type { MarginFigures } from "./queries.ts";

const figureColumns: Column[] = ["Calls", "Revenue", "Cost", "Margin", "Margin %"].map((name) => ({
  name,
  isNumeric: true,
}));

/** A line per upstream or wallet. A click on its name limits the charts to it. */
export function MarginTable(props: {
  label: string;
  name: string;
  lines: readonly MarginLine[];
  selectedId: string | undefined;
  onSelect: (id: string | undefined) => void;
}) {
  const { label, name, lines, selectedId, onSelect } = props;
  return (
    <Table
      label={label}
      columns={[{ name }, ...figureColumns]}
      footer={lines.length > 1 && <FigureRow name="Total" figures={addFigures(lines)} />}
    >
      {lines.map((line) => (
        <FigureRow
          key={line.id}
          figures={line}
          name={
            <UnstyledButton
              className={classes.seriesButton}
              aria-pressed={line.id === selectedId}
              onClick={() => onSelect(line.id === selectedId ? undefined : line.id)}
            >
              {line.color !== undefined && <Swatch color={line.color} />}
              {line.name}
            </UnstyledButton>
          }
        />
      ))}
    </Table>
  );
}

const shortList = 14;

/** Newest first. */
export function DayTable({ days, rows }: { days: readonly string[]; rows: readonly SeriesDay[] }) {
  const [isLong, setIsLong] = useState(false);
  const byDay = Map.groupBy(rows, ({ day }) => day);
  const shown = days.toReversed().slice(0, isLong ? undefined : shortList);
  return (
    <>
      <Table label="By day" scrolls columns={[{ name: "Day (UTC)" }, ...figureColumns]}>
        {shown.map((day) => (
          <FigureRow key={day} name={formatDay(day)} figures={addFigures(byDay.get(day) ?? [])} hasLabels={false} />
        ))}
      </Table>
      {!isLong && days.length > shortList && (
        <Button variant="default" size="xs" mt="sm" onClick={() => setIsLong(true)}>
          Show all {days.length} days
        </Button>
      )}
    </>
  );
}

/** A table that scrolls sideways on narrow screens keeps its header, so its cells have no labels. */
function FigureRow(props: { name: ReactNode; figures: MarginFigures; hasLabels?: boolean }) {
  const { name, figures, hasLabels = true } = props;
  const { calls, revenue, cost, margin } = figures;
  const values = [
    calls.toLocaleString("en"),
    <Money key="revenue" amount={revenue} />,
    <Money key="cost" amount={cost} />,
    <Money key="margin" amount={margin} />,
    formatShare(toNumber(margin), toNumber(revenue)),
  ];
  return (
    <Row>
      <RowHeader className={classes.lineName}>{name}</RowHeader>
      {figureColumns.map((column, index) => (
        <Cell key={column.name} isNumeric {...(hasLabels && { label: column.name })}>
          {values[index]}
        </Cell>
      ))}
    </Row>
  );
}

const unpaidColumns: Column[] = [
  "Unpaid calls",
  "Of all calls",
  "Ended by the caller",
  "Other causes",
  "Unpaid cost",
].map((name) => ({ name, isNumeric: true }));

export function UnpaidTable({ label, name, lines }: { label: string; name: string; lines: readonly MarginLine[] }) {
  return (
    <Table
      label={label}
      columns={[{ name }, ...unpaidColumns]}
      footer={lines.length > 1 && <UnpaidRow name="Total" figures={addFigures(lines)} />}
    >
      {lines.map((line) => (
        <UnpaidRow key={line.id} name={line.name} figures={line} />
      ))}
    </Table>
  );
}

function UnpaidRow({ name, figures }: { name: string; figures: MarginFigures }) {
  const { calls, unpaid_calls: unpaid, abandoned_calls: abandoned, unpaid_cost: cost } = figures;
  return (
    <Row>
      <RowHeader className={classes.lineName}>{name}</RowHeader>
      <Cell label="Unpaid calls" isNumeric>
        {unpaid.toLocaleString("en")}
      </Cell>
      <Cell label="Of all calls" isNumeric>
        {formatShare(unpaid, calls)}
      </Cell>
      <Cell label="Ended by the caller" isNumeric>
        {abandoned.toLocaleString("en")}
      </Cell>
      <Cell label="Other causes" isNumeric>
        {(unpaid - abandoned).toLocaleString("en")}
      </Cell>
      <Cell label="Unpaid cost" isNumeric>
        <Money amount={cost} />
      </Cell>
    </Row>
  );
}

/** A part as a percentage, or a dash without a whole. */
export function formatShare(part: number, whole: number): string {
  if (whole === 0) return "–";
  return part < 0 ? `−${formatPercent(-part / whole)}` : formatPercent(part / whole);
}
