import { Button } from "@mantine/core";
import { useState } from "react";
import { Cell, Row, RowHeader, Table } from "../../components/table.tsx";
import { formatMoney } from "../../format/format-money.ts";
import { formatBucket } from "./format-bucket.ts";
import type { Measure } from "./measure.ts";
import { type Bucket, type Count, type Pivot, totalOf } from "./pivot.ts";
import classes from "./usage.module.css";

const number = new Intl.NumberFormat("en");
const maxRows = 31;

export function UsageTable(props: { pivot: Pivot; buckets: Bucket[]; by: "hour" | "day"; measure: Measure }) {
  const { pivot, buckets, by, measure } = props;
  const [isExpanded, setIsExpanded] = useState(false);
  const isGrouped = pivot.series.length > 1;
  const nonEmpty = buckets.filter(({ searches }) => searches > 0).toReversed();
  const shown = isExpanded ? nonEmpty : nonEmpty.slice(0, maxRows);
  const total = totalOf(buckets, pivot.series.length);
  const columns = isGrouped
    ? [...pivot.series.map(({ name }) => name), measure.name === "charged" ? "Charged" : "Searches"]
    : ["Searches", "Charged"];
  const cellsOf = (count: Count & { cells: Count[] }): string[] =>
    isGrouped
      ? [...count.cells, count].map((cell) => formatCell(cell, measure))
      : [number.format(count.searches), formatMoney(count.charged)];
  return (
    <>
      <Table
        label="Usage"
        scrolls
        className={classes.pivot ?? ""}
        columns={[
          { name: by === "day" ? "Day (UTC)" : "Hour (UTC)" },
          ...columns.map((name) => ({ name, isFigures: true })),
        ]}
        footer={<UsageRow name="Total" cells={cellsOf(total)} />}
      >
        {shown.map((bucket) => (
          <UsageRow key={bucket.start} name={formatBucket(bucket.start, by)} cells={cellsOf(bucket)} />
        ))}
      </Table>
      {shown.length < nonEmpty.length && (
        <Button variant="default" mt="md" onClick={() => setIsExpanded(true)}>
          Show all {nonEmpty.length} {by === "day" ? "days" : "hours"}
        </Button>
      )}
    </>
  );
}

function UsageRow({ name, cells }: { name: string; cells: readonly string[] }) {
  return (
    <Row>
      <RowHeader>{name}</RowHeader>
      {cells.map((cell, index) => (
        <Cell key={index} isNumeric>
          <span className="mono">{cell}</span>
        </Cell>
      ))}
    </Row>
  );
}

function formatCell(count: Count, measure: Measure): string {
  return measure.name === "charged" ? formatMoney(count.charged) : number.format(count.searches);
}
