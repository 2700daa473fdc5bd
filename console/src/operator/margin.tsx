import "@mantine/charts/styles.css";
import { BarChart } from "@mantine/charts";
import { Table } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { Money } from "../components/money.tsx";
import { Page, Section } from "../components/page.tsx";
import { ScrollRegion } from "../components/scroll-region.tsx";
import { EmptyState, ErrorState, RowsSkeleton } from "../components/states.tsx";
import { addMoney, formatMoney, toNumber } from "../format/format-money.ts";
import { type MarginDay, marginQuery, type WalletMargin } from "./queries.ts";

const colors = ["blue.6", "amber.6", "green.6", "red.6", "ink.5", "blue.3", "amber.3", "green.3"];

export function Margin() {
  const { data, error, refetch } = useQuery(marginQuery);
  const names = [...new Set(data?.days.map(({ provider }) => provider))].toSorted();
  return (
    <Page title="Margin" description="Revenue from each upstream's results minus its cost. Last 30 days (UTC).">
      {error && <ErrorState error={error} title="Couldn't load the margin." onRetry={refetch} />}
      {!data && !error && <RowsSkeleton />}
      {data?.days.length === 0 && (
        <EmptyState title="No revenue yet">The chart starts with the first live search.</EmptyState>
      )}
      {data !== undefined && data.days.length > 0 && (
        <>
          <BarChart
            h={260}
            data={byDay(data.days)}
            dataKey="day"
            type="stacked"
            withLegend
            valueFormatter={(value) => formatMoney(value.toFixed(2))}
            series={names.map((name, index) => ({ name, color: colors[index % colors.length] ?? "blue.6" }))}
            barProps={{ isAnimationActive: false }}
          />
          <Section title="By upstream" description={`The ledger charged ${formatMoney(data.charged)} in this period.`}>
            <MarginTable days={data.days} names={names} />
          </Section>
          <Section
            title="By wallet"
            description="Wallets with the highest cost of unpaid searches. Abandoned calls are those of searches that the caller gave up on."
          >
            <WalletTable wallets={data.wallets} />
          </Section>
        </>
      )}
    </Page>
  );
}

function MarginTable({ days, names }: { days: readonly MarginDay[]; names: readonly string[] }) {
  return (
    <ScrollRegion label="Margin by upstream">
      <Table>
        <Table.Thead>
          <Table.Tr>
            <Table.Th>Upstream</Table.Th>
            <Table.Th className="numeric">Calls</Table.Th>
            <Table.Th className="numeric">Charged</Table.Th>
            <Table.Th className="numeric">Cost</Table.Th>
            <Table.Th className="numeric">Unpaid cost</Table.Th>
            <Table.Th className="numeric">Margin</Table.Th>
          </Table.Tr>
        </Table.Thead>
        <Table.Tbody>
          {names.map((name) => {
            const providerDays = days.filter(({ provider }) => provider === name);
            return (
              <Table.Tr key={name}>
                <Table.Td>{name}</Table.Td>
                <Table.Td className="numeric">
                  {providerDays.reduce((sum, { calls }) => sum + calls, 0).toLocaleString("en")}
                </Table.Td>
                {(["revenue", "cost", "unpaid_cost", "margin"] as const).map((part) => (
                  <Table.Td key={part} className="numeric">
                    <Money amount={addMoney(providerDays.map((day) => day[part]))} />
                  </Table.Td>
                ))}
              </Table.Tr>
            );
          })}
        </Table.Tbody>
      </Table>
    </ScrollRegion>
  );
}

function WalletTable({ wallets }: { wallets: readonly WalletMargin[] }) {
  return (
    <ScrollRegion label="Margin by wallet">
      <Table>
        <Table.Thead>
          <Table.Tr>
            <Table.Th>Wallet</Table.Th>
            <Table.Th className="numeric">Calls</Table.Th>
            <Table.Th className="numeric">Abandoned</Table.Th>
            <Table.Th className="numeric">Charged</Table.Th>
            <Table.Th className="numeric">Paid cost</Table.Th>
            <Table.Th className="numeric">Unpaid cost</Table.Th>
            <Table.Th className="numeric">Margin</Table.Th>
          </Table.Tr>
        </Table.Thead>
        <Table.Tbody>
          {wallets.map((wallet) => (
            <Table.Tr key={wallet.wallet_id}>
              <Table.Td>{wallet.wallet_id}</Table.Td>
              <Table.Td className="numeric">{wallet.calls.toLocaleString("en")}</Table.Td>
              <Table.Td className="numeric">{wallet.abandoned_calls.toLocaleString("en")}</Table.Td>
              {(["revenue", "paid_cost", "unpaid_cost", "margin"] as const).map((part) => (
                <Table.Td key={part} className="numeric">
                  <Money amount={wallet[part]} />
                </Table.Td>
              ))}
            </Table.Tr>
          ))}
        </Table.Tbody>
      </Table>
    </ScrollRegion>
  );
}

/** One row per day, oldest first. */
function byDay(days: readonly MarginDay[]): Record<string, number | string>[] {
  const rows = new Map<string, Record<string, number | string>>();
  for (const { day, provider, margin } of days.toReversed()) {
    rows.set(day, { ...rows.get(day), day, [provider]: toNumber(margin) });
  }
  return [...rows.values()].toSorted((a, b) => String(a["day"]).localeCompare(String(b["day"])));
}
