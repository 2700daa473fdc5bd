import { Button, Group, Text } from "@mantine/core";

// See docs/test-mode.md.
const testQueries: [string, string][] = [
  ["test:insufficient_balance", "insufficient balance"],
  ["test:upstream_503", "upstream 503"],
  ["test:upstream_timeout", "upstream timeout"],
  ["test:key_budget_spent", "budget spent"],
  ["test:rate_limited", "rate limited"],
  ["test:slow=4000", "slow 4 s"],
  ["test:empty", "no results"],
];

/** Queries that simulate failures in test mode. */
export function TestQueries({ run }: { run: (query: string) => void }) {
  return (
    <Group gap={8} mb="md">
      <Text size="sm" c="dimmed" id="failures">
        Simulate:
      </Text>
      {testQueries.map(([query, label]) => (
        <Button
          key={query}
          size="compact-sm"
          variant="default"
          radius="xl"
          fw={400}
          aria-describedby="failures"
          onClick={() => run(query)}
        >
          {label}
        </Button>
      ))}
    </Group>
  );
}
