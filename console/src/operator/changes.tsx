import { Text } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { ChangedValues } from "../components/changed-values.tsx";
import { Section } from "../components/page.tsx";
import { ExactTime } from "../components/relative-time.tsx";
import { QueryState } from "../components/states.tsx";
import { Cell, Row, Table } from "../components/table.tsx";
import { changesQuery } from "./queries.ts";

/** Who changed what about a wallet and its account. */
export function Changes({ walletId }: { walletId: string }) {
  const changes = useQuery(changesQuery(walletId));
  return (
    <Section title="Changes" description="By operators, members, keys and the system. The latest 100, newest first.">
      <QueryState query={changes} title="Couldn't load the changes." rows={3} />
      {changes.data && (
        <Table
          label="Changes"
          columns={[{ name: "Time" }, { name: "By" }, { name: "Change" }, { name: "Values" }, { name: "Reason" }]}
        >
          {changes.data.changes.map((line) => (
            <Row key={line.number}>
              <Cell label="Time">
                <ExactTime at={line.at} />
              </Cell>
              <Cell label="By">
                <span>{line.by ?? line.actor}</span>
                {line.by !== null && (
                  <Text size="xs" c="dimmed">
                    {line.actor}
                  </Text>
                )}
              </Cell>
              <Cell label="Change">
                {line.act.replace(".", ": ").replaceAll("_", " ")}
                {line.outcome !== "done" && `, ${line.outcome.replaceAll("_", " ")}`}
                <Text size="xs" c="dimmed" className="mono">
                  {line.subject}
                </Text>
              </Cell>
              <Cell label="Values">
                <ChangedValues before={line.before} after={line.after} />
              </Cell>
              <Cell label="Reason">{line.reason}</Cell>
            </Row>
          ))}
        </Table>
      )}
    </Section>
  );
}
