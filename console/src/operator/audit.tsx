import { Text } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { Page } from "../components/page.tsx";
import { RelativeTime } from "../components/relative-time.tsx";
import { EmptyState, ErrorState, RowsSkeleton } from "../components/states.tsx";
import { Cell, Row, Table } from "../components/table.tsx";
import { auditQuery } from "./queries.ts";

export function Audit() {
  const { data, error, refetch } = useQuery(auditQuery);
  return (
    <Page title="Audit log" description="Operator actions, newest first. Entries cannot be changed or deleted.">
      {error && <ErrorState error={error} title="Couldn't load the audit log." onRetry={refetch} />}
      {!data && !error && <RowsSkeleton />}
      {data?.lines.length === 0 && (
        <EmptyState title="No actions yet">Credits, suspensions, revocations and refunds are listed here.</EmptyState>
      )}
      {data !== undefined && data.lines.length > 0 && (
        <Table
          label="Audit log"
          columns={["Time", "Operator", "Action", "Reason", "Outcome"].map((name) => ({ name }))}
        >
          {data.lines.map((line) => (
            <Row key={line.number}>
              <Cell label="Time">
                <RelativeTime at={line.at} />
              </Cell>
              <Cell label="Operator">{line.operator}</Cell>
              <Cell label="Action">
                {line.act.replace(".", ": ").replaceAll("_", " ")}
                <Text size="xs" c="dimmed" className="mono">
                  {line.subject}
                </Text>
              </Cell>
              <Cell label="Reason">{line.reason}</Cell>
              <Cell label="Outcome">{line.outcome.replaceAll("_", " ")}</Cell>
            </Row>
          ))}
        </Table>
      )}
    </Page>
  );
}
