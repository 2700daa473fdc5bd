import { Text } from "@mantine/core";
import { type UseQueryResult, useQueries, useQuery } from "@tanstack/react-query";
import { Page, Section } from "../components/page.tsx";
import { ErrorState, RowsSkeleton } from "../components/states.tsx";
import { Cell, type Column, Row, RowHeader, Table } from "../components/table.tsx";
import { addMoney, formatMoney } from "../format/format-money.ts";
import { formatCount } from "../format/format-time.ts";
import { ProblemText } from "./attention.tsx";
import classes from "./operator.module.css";
import { type CellFigures, type CellStatus, cellQuery, cellsQuery } from "./queries.ts";

const figureColumns: Column[] = ["Servers", "Searches/s", "In flight", "Charged today", "Customer balance"].map(
  (name) => ({ name, isNumeric: true }),
);

/** Every cell of PENNYBLACK_FLEET. Each is loaded on its own, so that one that does not respond delays no other. */
export function Cells() {
  const { data, error, refetch } = useQuery(cellsQuery);
  return (
    <Page title="Cells" description="Current values, updated every 10 seconds.">
      {error && !data && <ErrorState error={error} title="Couldn't load the cells." onRetry={refetch} />}
      {!data && !error && <RowsSkeleton rows={3} />}
      {data && <CellTable names={data.cells.map(({ name }) => name)} />}
    </Page>
  );
}

function CellTable({ names }: { names: readonly string[] }) {
  const queries = useQueries({ queries: names.map(cellQuery) });
  const reached = queries.flatMap(({ data, error }) => (data && !error && data.fault === null ? [data] : []));
  const counted = reached.filter(({ is_complete: isComplete }) => !isComplete).map(({ name }) => name);
  return (
    <>
      <Table
        label="Cells"
        columns={[{ name: "Cell" }, { name: "Version" }, ...figureColumns]}
        footer={names.length > 1 && <TotalRow cells={reached} isComplete={reached.length === names.length} />}
      >
        {names.map((name, index) => (
          <CellRow key={name} name={name} query={queries[index]} />
        ))}
      </Table>
      <Text size="sm" c="dimmed" mt="sm">
        Charges are for the current UTC day and lag by about three minutes.
        {counted.length > 0 &&
          ` Only the server that answered is counted in ${counted.join(", ")}: Redis is unavailable or not configured there.`}
      </Text>
      <Problems cells={reached} />
    </>
  );
}

function CellRow({ name, query }: { name: string; query: UseQueryResult<CellStatus> | undefined }) {
  const { state, text } = describeState(query);
  const figures = query?.data?.fault === null && !query.error ? query.data : undefined;
  return (
    <Row>
      <RowHeader className={classes.lineName}>
        {name}
        <Text span size="xs" c="dimmed" fw={400} display="block" className={classes.status} data-state={state}>
          {text}
        </Text>
      </RowHeader>
      <Cell label="Version">{figures?.versions.join(", ") ?? "–"}</Cell>
      <Figures
        values={[
          figures && `${figures.servers.toLocaleString("en")}${figures.is_complete ? "" : "+"}`,
          figures && formatRate(figures.searches_per_second),
          figures?.in_flight.toLocaleString("en"),
          figures?.charged_today && formatMoney(figures.charged_today),
          figures?.customer_balance && formatMoney(figures.customer_balance),
        ]}
      />
    </Row>
  );
}

/** The state selects the marker: closed is healthy, trial needs attention today, open now. */
function describeState(query: UseQueryResult<CellStatus> | undefined): { state: string; text: string } {
  // An error of this server, not of the cell. The data read before may be out of date.
  if (query?.error) return { state: "open", text: "unknown, this server did not respond" };
  const cell = query?.data;
  if (!cell) return { state: "unknown", text: "loading" };
  if (cell.fault !== null) return { state: "open", text: cell.fault };
  if (cell.items.length === 0) return { state: "closed", text: "healthy" };
  const isUrgent = cell.items.some(({ severity }) => severity === "page");
  return { state: isUrgent ? "open" : "trial", text: formatCount(cell.items.length, "open problem") };
}

function TotalRow({ cells, isComplete }: { cells: readonly CellFigures[]; isComplete: boolean }) {
  const total = (name: "servers" | "searches_per_second" | "in_flight") =>
    cells.reduce((sum, cell) => sum + cell[name], 0);
  const money = (name: "charged_today" | "customer_balance") => {
    const amounts = cells.flatMap((cell) => cell[name] ?? []);
    return amounts.length === cells.length ? formatMoney(addMoney(amounts)) : undefined;
  };
  return (
    <Row>
      <RowHeader className={classes.lineName}>{isComplete ? "Total" : "Total of the cells shown"}</RowHeader>
      <Cell />
      <Figures
        values={[
          total("servers").toLocaleString("en"),
          formatRate(total("searches_per_second")),
          total("in_flight").toLocaleString("en"),
          money("charged_today"),
          money("customer_balance"),
        ]}
      />
    </Row>
  );
}

function formatRate(perSecond: number): string {
  return perSecond.toLocaleString("en", { minimumFractionDigits: 1, maximumFractionDigits: 1 });
}

function Figures({ values }: { values: readonly (string | null | undefined)[] }) {
  return figureColumns.map(({ name }, index) => (
    <Cell key={name} isNumeric label={name}>
      {values[index] ?? "–"}
    </Cell>
  ));
}

function Problems({ cells }: { cells: readonly CellFigures[] }) {
  const problems = cells.flatMap(({ name, items }) => items.map((item) => ({ name, item })));
  if (problems.length === 0) return undefined;
  return (
    <Section title="Open problems">
      <ul className={classes.problems} aria-label="Open problems of all cells">
        {problems.map(({ name, item }) => (
          <li key={`${name} ${item.title}`} data-severity={item.severity}>
            <ProblemText item={{ ...item, title: `${name}: ${item.title}` }} />
          </li>
        ))}
      </ul>
    </Section>
  );
}
