import { Table, Text } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { Page } from "../components/page.tsx";
import { RelativeTime } from "../components/relative-time.tsx";
import { ScrollRegion } from "../components/scroll-region.tsx";
import { EmptyState, ErrorState, RowsSkeleton } from "../components/states.tsx";
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
        <ScrollRegion label="Audit log">
          <Table verticalSpacing="sm">
            <Table.Thead>
              <Table.Tr>
                <Table.Th>Time</Table.Th>
                <Table.Th>Operator</Table.Th>
                <Table.Th>Action</Table.Th>
                <Table.Th>Reason</Table.Th>
                <Table.Th>Outcome</Table.Th>
              </Table.Tr>
            </Table.Thead>
            <Table.Tbody>
              {data.lines.map((line) => (
                <Table.Tr key={line.number}>
                  <Table.Td>
                    <RelativeTime at={line.at} />
                  </Table.Td>
                  <Table.Td>{line.operator}</Table.Td>
                  <Table.Td>
                    {line.act.replace(".", ": ").replaceAll("_", " ")}
                    <Text size="xs" c="dimmed" className="mono">
                      {line.subject}
                    </Text>
                  </Table.Td>
                  <Table.Td>{line.reason}</Table.Td>
                  <Table.Td>{line.outcome.replaceAll("_", " ")}</Table.Td>
                </Table.Tr>
              ))}
            </Table.Tbody>
          </Table>
        </ScrollRegion>
      )}
    </Page>
  );
}
