import { Anchor, Button, Group, Title } from "@mantine/core";
import { Link } from "@tanstack/react-router";
import type { ApiProblem } from "../../api/client.ts";
import { capitalize, describeOutcome } from "../../format/describe-outcome.ts";
import classes from "./playground.module.css";

export function ProblemCard({ problem, walletId }: { problem: ApiProblem; walletId: string }) {
  const isKnown = problem.status > 0 && problem.code !== "unknown";
  const { summary, action } = isKnown
    ? describeOutcome(problem.code)
    : { summary: problem.message, action: problem.detail };
  const page = problem.members["type"];
  return (
    <div className={classes.problem} role="alert">
      <Title order={2} c="var(--pb-danger)">
        {capitalize(summary)}
      </Title>
      <dl className={classes.facts}>
        <dt>Charge</dt>
        <dd>{describeMoney(problem)}</dd>
        <dt>What to do</dt>
        <dd>{action}</dd>
        {isKnown && (
          <>
            <dt>API response</dt>
            <dd>
              {problem.status} <span className="mono">{problem.code}</span>. {problem.detail}
            </dd>
          </>
        )}
        {problem.requestId !== undefined && (
          <>
            <dt>Request</dt>
            <dd className={`mono ${classes.id}`}>{problem.requestId}</dd>
          </>
        )}
      </dl>
      <Group gap="md">
        {problem.code === "insufficient_balance" && (
          <Button component={Link} to="/w/$walletId/top-up" params={{ walletId } as never} variant="default" size="xs">
            Top up
          </Button>
        )}
        {typeof page === "string" && page.startsWith("http") && (
          <Anchor href={page} target="_blank" rel="noreferrer" size="sm">
            Learn more
          </Anchor>
        )}
      </Group>
    </div>
  );
}

function describeMoney({ members, status }: ApiProblem): string {
  if (members["charged"] === false) return "You were not charged.";
  return status === 0 ? "Unknown. If the search succeeded, it is in the ledger." : "Unknown. Check the ledger.";
}
