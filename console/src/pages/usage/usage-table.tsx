import { Button } from "@mantine/core";
import { useState } from "react";
import { Cell, HeadCell, Row, Table } from "../../parts/table.tsx";
import { formatMoney } from "../../words/format-money.ts";
import { formatStep } from "./format-step.ts";
import type { Measure } from "./measure.ts";
import { type Bucket, type Count, type Pivot, totalOf } from "./pivot.ts";
import classes from "./usage.module.css";

const plain = new Intl.NumberFormat("en");
const mostRows = 31;

/** The same numbers as the bars. Rows and columns come to the same total. */
export function UsageTable(props: { pivot: Pivot; buckets: Bucket[]; by: "hour" | "day"; measure: Measure }) {
  const { pivot, buckets, by, measure } = props;
  const [isWhole, setIsWhole] = useState(false);
  const isGrouped = pivot.series.length > 1;
  const filled = buckets.filter(({ searches }) => searches > 0).toReversed();
  const shown = isWhole ? filled : filled.slice(0, mostRows);
  const total = totalOf(buckets, pivot.series.length);
  const columns = isGrouped
    ? [...pivot.series.map(({ name }) => name), measure.name === "charged" ? "Charged" : "Searches"]
    : ["Searches", "Charged"];
  const cellsOf = (count: Count & { cells: Count[] }): string[] =>
    isGrouped
      ? [...count.cells, count].map((cell) => formatCell(cell, measure))
      : [plain.format(count.searches), formatMoney(count.charged)];
  return (
    <>
      <Table
        label="Usage as numbers"
        scrolls
        className={classes.pivot ?? ""}
        columns={[
          { name: by === "day" ? "Day, UTC" : "Hour, UTC" },
          ...columns.map((name) => ({ name, isFigures: true })),
        ]}
        foot={<Line name="Together" cells={cellsOf(total)} />}
      >
        {shown.map((bucket) => (
          <Line key={bucket.start} name={formatStep(bucket.start, by)} cells={cellsOf(bucket)} />
        ))}
      </Table>
      {shown.length < filled.length && (
        <Button variant="default" mt="md" onClick={() => setIsWhole(true)}>
          Show all {filled.length} {by === "day" ? "days" : "hours"}
        </Button>
      )}
    </>
  );
}

function Line({ name, cells }: { name: string; cells: readonly string[] }) {
  return (
    <Row>
      <HeadCell>{name}</HeadCell>
      {cells.map((cell, index) => (
        <Cell key={index} isFigures>
          <span className="mono">{cell}</span>
        </Cell>
      ))}
    </Row>
  );
}

function formatCell(count: Count, measure: Measure): string {
  return measure.name === "charged" ? formatMoney(count.charged) : plain.format(count.searches);
}
