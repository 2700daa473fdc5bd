import { Button, Group, SegmentedControl, Text } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { useState } from "react";
import { Metric } from "../components/metric.tsx";
import { Page, Section } from "../components/page.tsx";
import { EmptyState, ErrorState, RowsSkeleton } from "../components/states.tsx";
import { formatMoney, toNumber } from "../format/format-money.ts";
import { formatCount } from "../format/format-time.ts";
import { type Grouping, groupMargin, toLine } from "./group-margin.ts";
import { MarginChart, Swatch } from "./margin-chart.tsx";
import { addFigures, listDays } from "./margin-figures.ts";
import { DayTable, formatShare, MarginTable, UnpaidTable } from "./margin-tables.tsx";
import classes from "./operator.module.css";
import { type MarginFigures, type MarginReport, marginQuery } from "./queries.ts";

export function Margin() {
  const [days, setDays] = useState("30");
  const { data, error, refetch } = useQuery(marginQuery(Number(days)));
  return (
    <Page
      title="Margin"
      description="Revenue minus the cost of upstream calls, by UTC day."
      actions={
        <SegmentedControl
          aria-label="Period"
          size="xs"
          value={days}
          onChange={setDays}
          data={["7", "30", "90"].map((value) => ({ value, label: `${value} days` }))}
        />
      }
    >
      {error && !data && <ErrorState error={error} title="Couldn't load the margin." onRetry={refetch} />}
      {!data && !error && <RowsSkeleton />}
      {data?.days.length === 0 && (
        <EmptyState title="No upstream calls in this period">
          Cost and revenue appear here after the first live search.
        </EmptyState>
      )}
      {data !== undefined && data.days.length > 0 && <Report report={data} days={Number(days)} />}
    </Page>
  );
}

function Report({ report, days }: { report: MarginReport; days: number }) {
  return (
    <>
      <Totals figures={addFigures(report.days)} />
      <Breakdown report={report} days={days} />
      <Unpaid report={report} />
    </>
  );
}

function Totals({ figures }: { figures: MarginFigures }) {
  const { calls, unpaid_calls: unpaid, revenue, cost, unpaid_cost: unpaidCost, margin } = figures;
  return (
    <div className={classes.metrics}>
      <Metric label="Revenue" value={formatMoney(revenue)} />
      <Metric label="Cost" value={formatMoney(cost)} description={formatCount(calls, "call")} />
      <Metric
        label="Margin"
        value={formatMoney(margin)}
        tone={toNumber(margin) < 0 ? "danger" : "plain"}
        description={`${formatShare(toNumber(margin), toNumber(revenue))} of revenue`}
      />
      <Metric label="Unpaid cost" value={formatMoney(unpaidCost)} description={formatCount(unpaid, "unpaid call")} />
    </div>
  );
}

/** Charts and tables by upstream or by wallet, or of one of them. */
function Breakdown({ report, days }: { report: MarginReport; days: number }) {
  const [grouping, setGrouping] = useState<Grouping>("upstream");
  const [selectedId, setSelectedId] = useState<string>();
  const walletId = grouping === "wallet" ? selectedId : undefined;
  const ofWallet = useQuery({ ...marginQuery(days, walletId), enabled: walletId !== undefined });
  const { lines, series, rows } = groupMargin(report, grouping);
  const selected = lines.find(({ id }) => id === selectedId);
  const shownRows = selected
    ? (walletId !== undefined && ofWallet.data ? groupMargin(ofWallet.data, "wallet").rows : rows).filter(
        ({ seriesId }) => seriesId === selected.id,
      )
    : rows;
  const chart = {
    days: listDays(report.from, report.to),
    series: selected ? [{ ...selected, color: selected.color ?? 0 }] : series,
    rows: shownRows,
  };
  return (
    <Section
      title={grouping === "upstream" ? "By upstream" : "By wallet"}
      description={
        grouping === "upstream"
          ? "Each search counts as revenue for the upstream that answered it."
          : `The ${lines.length === 1 ? "wallet" : `${lines.length} wallets`} with the highest cost. Revenue is what the ledger charged.`
      }
      actions={
        <SegmentedControl
          aria-label="Group by"
          size="xs"
          value={grouping}
          onChange={(value) => {
            setGrouping(value);
            setSelectedId(undefined);
          }}
          data={[
            { value: "upstream", label: "Upstream" },
            { value: "wallet", label: "Wallet" },
          ]}
        />
      }
    >
      <div className={classes.charts}>
        <MarginChart title="Cost" amount="cost" {...chart} />
        <MarginChart title="Margin" amount="margin" {...chart} />
      </div>
      <Group gap="md" mb="md" className={classes.legend}>
        {chart.series.map(({ id, name, color }) => (
          <Text key={id} span size="sm">
            <Swatch color={color} />
            {name}
          </Text>
        ))}
        {selected && (
          <Button variant="default" size="compact-xs" onClick={() => setSelectedId(undefined)}>
            Show all
          </Button>
        )}
      </Group>
      <MarginTable
        label={grouping === "upstream" ? "Margin by upstream" : "Margin by wallet"}
        name={grouping === "upstream" ? "Upstream" : "Wallet"}
        lines={lines}
        selectedId={selectedId}
        onSelect={setSelectedId}
      />
      <Text component="h3" fw={600} mt="xl" mb="xs">
        By day{selected && `, ${selected.name}`}
      </Text>
      <DayTable key={days} days={chart.days} rows={shownRows} />
    </Section>
  );
}

function Unpaid({ report }: { report: MarginReport }) {
  const { lines } = groupMargin(report, "upstream");
  return (
    <Section
      title="Unpaid calls"
      description="Upstream calls for searches that were not charged, because the caller disconnected, its deadline passed or the search failed. Searches in flight are included."
    >
      <UnpaidTable label="Unpaid calls by upstream" name="Upstream" lines={lines} />
      {report.unpaid_wallets.length > 0 && (
        <>
          <Text component="h3" fw={600} mt="xl" mb="xs">
            Wallets with the highest unpaid cost
          </Text>
          <UnpaidTable
            label="Unpaid calls by wallet"
            name="Wallet"
            lines={report.unpaid_wallets.map((wallet) => toLine(wallet))}
          />
        </>
      )}
    </Section>
  );
}
