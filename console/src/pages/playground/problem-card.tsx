import { Anchor, Button, Group, Title } from "@mantine/core";
import { Link } from "@tanstack/react-router";
import type { ApiProblem } from "../../api/client.ts";
import { capitalize, describeOutcome } from "../../words/describe-outcome.ts";
import classes from "./playground.module.css";

/** A refusal as a person should read it: what happened, whether money moved, what to do. */
export function ProblemCard({ problem, walletId }: { problem: ApiProblem; walletId: string }) {
  const isKnown = problem.status > 0 && problem.code !== "unknown";
  const { happened, todo } = isKnown
    ? describeOutcome(problem.code)
    : { happened: problem.message, todo: problem.detail };
  const page = problem.members["type"];
  return (
    <div className={classes.problem} role="alert">
      <Title order={2} c="var(--pb-danger)">
        {capitalize(happened)}
      </Title>
      <dl className={classes.facts}>
        <dt>Money</dt>
        <dd>{describeMoney(problem)}</dd>
        <dt>What to do</dt>
        <dd>{todo}</dd>
        {isKnown && (
          <>
            <dt>The API says</dt>
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
            All about {problem.code.replaceAll("_", " ")}
          </Anchor>
        )}
      </Group>
    </div>
  );
}

function describeMoney({ members, status }: ApiProblem): string {
  if (members["charged"] === false) return "None moved. Nothing was charged.";
  return status === 0
    ? "Unknown. If the search was answered, it is in the ledger."
    : "The answer does not say. Look in the ledger.";
}
