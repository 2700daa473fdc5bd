import "@mantine/charts/styles.css";
import { BarChart } from "@mantine/charts";
import { Table } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { Money } from "../parts/money.tsx";
import { Page, Section } from "../parts/page.tsx";
import { Empty, Failure, RowsSkeleton } from "../parts/states.tsx";
import { Wide } from "../parts/wide.tsx";
import { addMoney, formatMoney, toNumber } from "../words/format-money.ts";
import { type MarginDay, marginQuery } from "./queries.ts";

const shades = ["blue.6", "amber.6", "green.6", "red.6", "ink.5", "blue.3", "amber.3", "green.3"];

/** What upstreams cost, and what their answers brought, by day. */
export function Margin() {
  const { data, error, refetch } = useQuery(marginQuery);
  const names = [...new Set(data?.days.map(({ provider }) => provider))].toSorted();
  return (
    <Page
      title="Margin"
      about="What callers were charged for each upstream's answers, less what the upstream costs. 30 days, UTC."
    >
      {error && <Failure error={error} what="The margin could not be read." retry={refetch} />}
      {!data && !error && <RowsSkeleton />}
      {data?.days.length === 0 && (
        <Empty title="Nothing was sold yet">The first live search draws the first bar.</Empty>
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
            series={names.map((name, index) => ({ name, color: shades[index % shades.length] ?? "blue.6" }))}
            barProps={{ isAnimationActive: false }}
          />
          <Section title="By upstream" about={`The ledger charged ${formatMoney(data.charged)} in these days.`}>
            <MarginTable days={data.days} names={names} />
          </Section>
        </>
      )}
    </Page>
  );
}

function MarginTable({ days, names }: { days: readonly MarginDay[]; names: readonly string[] }) {
  return (
    <Wide label="Margin by upstream">
      <Table>
        <Table.Thead>
          <Table.Tr>
            <Table.Th>Upstream</Table.Th>
            <Table.Th className="figures">Calls</Table.Th>
            <Table.Th className="figures">Charged</Table.Th>
            <Table.Th className="figures">Cost</Table.Th>
            <Table.Th className="figures">Margin</Table.Th>
          </Table.Tr>
        </Table.Thead>
        <Table.Tbody>
          {names.map((name) => {
            const own = days.filter(({ provider }) => provider === name);
            return (
              <Table.Tr key={name}>
                <Table.Td>{name}</Table.Td>
                <Table.Td className="figures">
                  {own.reduce((sum, { calls }) => sum + calls, 0).toLocaleString("en")}
                </Table.Td>
                {(["revenue", "cost", "margin"] as const).map((part) => (
                  <Table.Td key={part} className="figures">
                    <Money amount={addMoney(own.map((day) => day[part]))} />
                  </Table.Td>
                ))}
              </Table.Tr>
            );
          })}
        </Table.Tbody>
      </Table>
    </Wide>
  );
}

/** Oldest first; what a day did not have is drawn as nothing. */
function byDay(days: readonly MarginDay[]): Record<string, number | string>[] {
  const rows = new Map<string, Record<string, number | string>>();
  for (const { day, provider, margin } of days.toReversed()) {
    rows.set(day, { ...rows.get(day), day, [provider]: toNumber(margin) });
  }
  return [...rows.values()].toSorted((a, b) => String(a["day"]).localeCompare(String(b["day"])));
}
