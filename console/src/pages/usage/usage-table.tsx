import { Button } from "@mantine/core";
import { Link } from "@tanstack/react-router";
import { type ReactNode, useState } from "react";
import type { UsageGroup } from "../../api/usage.ts";
import { Cell, Row, RowHeader, Table } from "../../components/table.tsx";
import { useTimeZone } from "../../components/use-time-zone.ts";
import { formatMoney } from "../../format/format-money.ts";
import { useWallet } from "../../layout/use-wallet.ts";
import { formatBucket, formatBucketZone, isPartial } from "./format-bucket.ts";
import type { Measure } from "./measure.ts";
import { type Bucket, type Count, type Pivot, totalOf } from "./pivot.ts";
import classes from "./usage.module.css";

const number = new Intl.NumberFormat("en");
const maxRows = 31;

/** Figures of the chart. Each links to the searches behind it, which the bars of the chart do only for the mouse. */
export function UsageTable(props: {
  pivot: Pivot;
  buckets: Bucket[];
  by: "hour" | "day";
  group: UsageGroup | undefined;
  measure: Measure;
  asOf: string;
}) {
  const { pivot, buckets, by, group, measure, asOf } = props;
  const [isExpanded, setIsExpanded] = useState(false);
  const { zone } = useTimeZone();
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
  const unit = by === "day" ? "Day" : "Hour";
  return (
    <>
      <Table
        label="Usage"
        scrolls
        className={classes.pivot ?? ""}
        columns={[
          { name: `${unit} (${formatBucketZone(buckets.at(-1)?.start ?? asOf, by, zone)})` },
          ...columns.map((name) => ({ name, isNumeric: true })),
        ]}
        footer={<UsageRow name="Total" cells={cellsOf(total)} />}
      >
        {shown.map((bucket) => (
          <UsageRow
            key={bucket.start}
            name={
              <>
                <BucketLink bucket={bucket}>{formatBucket(bucket.start, by, zone)}</BucketLink>
                {isPartial(bucket.start, by, asOf) && <span className={classes.partial}>so far</span>}
              </>
            }
            cells={cellsOf(bucket).map((text, index) => {
              const value = pivot.series[index]?.value;
              if (!isGrouped || group === undefined || value === undefined || !bucket.cells[index]?.searches)
                return text;
              return (
                <BucketLink key={value} bucket={bucket} filter={{ [group]: value }}>
                  {text}
                </BucketLink>
              );
            })}
          />
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

/** Lists the searches of the bucket. */
function BucketLink(props: { bucket: Bucket; filter?: Partial<Record<UsageGroup, string>>; children: ReactNode }) {
  const { id } = useWallet();
  const { bucket, filter, children } = props;
  const none = { key: undefined, category: undefined, outcome: undefined, end_user: undefined, run: undefined };
  return (
    <Link
      to="/w/$walletId/usage"
      params={{ walletId: id }}
      search={(before) => ({ ...before, ...none, ...filter, bucket: bucket.start })}
      resetScroll={false}
      className={classes.bucketLink}
    >
      {children}
    </Link>
  );
}

function UsageRow({ name, cells }: { name: ReactNode; cells: readonly ReactNode[] }) {
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
