import { Button } from "@mantine/core";
import { Link } from "@tanstack/react-router";
import { type ReactNode, useState } from "react";
import type { UsageGroup } from "../../api/usage-group.ts";
import { Cell, Row, RowHeader, Table } from "../../components/table.tsx";
import { useTimeZone } from "../../components/use-time-zone.ts";
import { formatMoney } from "../../format/format-money.ts";
import { useWallet } from "../../layout/use-wallet.ts";
import { formatBucket, formatBucketZone, isPartial } from "./format-bucket.ts";
import { type Measure, measures } from "./measure.ts";
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
  const nonEmpty = buckets.filter(({ searches, replays, refusals }) => searches + replays + refusals > 0).toReversed();
  const shown = isExpanded ? nonEmpty : nonEmpty.slice(0, maxRows);
  const total = totalOf(buckets, pivot.series.length);
  // Refusals and replays are not counted by end user.
  const names = group === "end_user" ? (["searches", "charged"] as const) : countNames;
  const columns = isGrouped
    ? [...pivot.series.map(({ name }) => name), measure.label]
    : names.map((name) => measures[name].label);
  const cellsOf = (count: Count & { cells: Count[] }): string[] =>
    isGrouped
      ? [...count.cells, count].map((cell) => formatCell(cell, measure))
      : names.map((name) => formatCell(count, measures[name]));
  const seriesFilter = (bucket: Bucket, index: number): BucketFilter | undefined => {
    const value = pivot.series[index]?.value;
    const cell = bucket.cells[index];
    if (group === undefined || value === undefined || !cell || measure.numberOf(cell) === 0) return undefined;
    return { [group]: value, kind: measure.kind };
  };
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
                <BucketLink bucket={bucket} filter={{ kind: "all" }}>
                  {formatBucket(bucket.start, by, zone)}
                </BucketLink>
                {isPartial(bucket.start, by, asOf) && <span className={classes.partial}>so far</span>}
              </>
            }
            cells={cellsOf(bucket).map((text, index) => {
              const filter = isGrouped ? seriesFilter(bucket, index) : countFilter(bucket, names[index]);
              if (!filter) return text;
              return (
                <BucketLink key={index} bucket={bucket} filter={filter}>
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

const countNames = ["searches", "replays", "refusals", "charged"] as const;

type BucketFilter = Partial<Record<UsageGroup | "kind", string>>;

function countFilter(bucket: Bucket, name: Measure["name"] = "searches"): BucketFilter | undefined {
  const { kind, numberOf } = measures[name];
  return numberOf(bucket) === 0 ? undefined : { kind };
}

/** Lists the requests of the bucket. */
function BucketLink(props: { bucket: Bucket; filter: BucketFilter; children: ReactNode }) {
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

function formatCell(count: Count, { name, numberOf }: Measure): string {
  return name === "charged" ? formatMoney(count.charged) : number.format(numberOf(count));
}
