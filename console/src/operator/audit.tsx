import { Table, Text } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { Moment } from "../parts/moment.tsx";
import { Page } from "../parts/page.tsx";
import { Empty, Failure, RowsSkeleton } from "../parts/states.tsx";
import { Wide } from "../parts/wide.tsx";
import { auditQuery } from "./queries.ts";

/** Who did what, to whom and why. Nobody can take a line back, the database neither. */
export function Audit() {
  const { data, error, refetch } = useQuery(auditQuery);
  return (
    <Page title="Audit" about="What operators did, newest first. Lines are only ever added.">
      {error && <Failure error={error} what="The audit log could not be read." retry={refetch} />}
      {!data && !error && <RowsSkeleton />}
      {data?.lines.length === 0 && (
        <Empty title="Nobody did anything yet">Credits, suspensions, revocations and refunds appear here.</Empty>
      )}
      {data !== undefined && data.lines.length > 0 && (
        <Wide label="Audit log">
          <Table verticalSpacing="sm">
            <Table.Thead>
              <Table.Tr>
                <Table.Th>When</Table.Th>
                <Table.Th>Who</Table.Th>
                <Table.Th>What</Table.Th>
                <Table.Th>Why</Table.Th>
                <Table.Th>Outcome</Table.Th>
              </Table.Tr>
            </Table.Thead>
            <Table.Tbody>
              {data.lines.map((line) => (
                <Table.Tr key={`${line.at} ${line.target} ${line.act}`}>
                  <Table.Td>
                    <Moment at={line.at} />
                  </Table.Td>
                  <Table.Td>{line.operator}</Table.Td>
                  <Table.Td>
                    {line.act.replaceAll("_", " ")}
                    <Text size="xs" c="dimmed" className="mono">
                      {line.target}
                    </Text>
                  </Table.Td>
                  <Table.Td>{line.reason}</Table.Td>
                  <Table.Td>{line.outcome.replaceAll("_", " ")}</Table.Td>
                </Table.Tr>
              ))}
            </Table.Tbody>
          </Table>
        </Wide>
      )}
    </Page>
  );
}
