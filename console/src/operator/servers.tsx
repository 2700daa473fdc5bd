import { Text } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { Section } from "../components/page.tsx";
import { ErrorState, RowsSkeleton } from "../components/states.tsx";
import { Cell, type Column, Row, RowHeader, Table } from "../components/table.tsx";
import { formatMs, formatPercent } from "../format/format-time.ts";
import { formatDuration } from "./format-duration.ts";
import classes from "./operator.module.css";
import { type ServerLine, serversQuery } from "./queries.ts";

const figureColumns: Column[] = [
  "Uptime",
  "Searches/s",
  "In flight",
  "Errors",
  "Refusals",
  "p95",
  "Ledger queue",
  "Event loop p99",
  "Memory",
].map((name) => ({ name, isNumeric: true }));

/** Every server process, updated every two seconds. */
export function Servers() {
  const { data, error, refetch } = useQuery(serversQuery);
  return (
    <Section
      title="Servers"
      description="In the last minute: errors and p95 for live searches, and refusals for all keys."
    >
      {error && !data && <ErrorState error={error} title="Couldn't load the servers." onRetry={refetch} />}
      {!data && !error && <RowsSkeleton rows={2} />}
      {data && (
        <Table
          label="Servers"
          columns={[{ name: "Server" }, { name: "Version" }, ...figureColumns]}
          footer={data.servers.length > 1 && <TotalRow servers={data.servers} />}
        >
          {data.servers.map((server) => (
            <ServerRow key={server.id} server={server} />
          ))}
        </Table>
      )}
      {data?.is_complete === false && (
        <Text size="sm" c="dimmed" mt="sm">
          Only the server that answered is listed. Servers find each other through Redis, which is unavailable or not
          configured (REDIS_URL).
        </Text>
      )}
    </Section>
  );
}

function ServerRow({ server }: { server: ServerLine }) {
  const { host, pid, version, recent } = server;
  return (
    <Row>
      <RowHeader className={classes.lineName}>
        {host}
        <Text span size="xs" c="dimmed" fw={400} display="block">
          process {pid}
          {server.is_stopping && ", stopping"}
        </Text>
      </RowHeader>
      <Cell label="Version">{version}</Cell>
      <Figures
        values={[
          formatDuration(server.uptime_s),
          server.searches_per_second.toFixed(1),
          server.in_flight.toLocaleString("en"),
          formatErrors([server]),
          recent.refusals.toLocaleString("en"),
          recent.p95_ms === null ? "–" : formatMs(recent.p95_ms),
          server.ledger_waiting.toLocaleString("en"),
          formatMs(server.event_loop_ms_p99),
          `${server.memory_mb.toLocaleString("en")} MB`,
        ]}
      />
    </Row>
  );
}

function TotalRow({ servers }: { servers: readonly ServerLine[] }) {
  const total = (name: "searches_per_second" | "in_flight" | "ledger_waiting" | "memory_mb") =>
    servers.reduce((sum, server) => sum + server[name], 0);
  return (
    <Row>
      <RowHeader className={classes.lineName}>Total</RowHeader>
      <Cell />
      <Figures
        values={[
          undefined,
          total("searches_per_second").toFixed(1),
          total("in_flight").toLocaleString("en"),
          formatErrors(servers),
          servers.reduce((sum, { recent }) => sum + recent.refusals, 0).toLocaleString("en"),
          undefined,
          total("ledger_waiting").toLocaleString("en"),
          undefined,
          `${total("memory_mb").toLocaleString("en")} MB`,
        ]}
      />
    </Row>
  );
}

function Figures({ values }: { values: readonly (string | undefined)[] }) {
  return figureColumns.map(({ name }, index) => (
    <Cell key={name} isNumeric {...(values[index] !== undefined && { label: name })}>
      {values[index]}
    </Cell>
  ));
}

export function formatErrors(servers: readonly ServerLine[]): string {
  const attempts = servers.reduce((sum, { recent }) => sum + recent.attempts, 0);
  const errors = servers.reduce((sum, { recent }) => sum + recent.own_errors + recent.upstream_errors, 0);
  return attempts === 0 ? "–" : formatPercent(errors / attempts);
}
