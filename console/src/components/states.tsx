import { Anchor, Button, Skeleton, Stack, Text } from "@mantine/core";
import type { ReactNode } from "react";
import { ApiProblem } from "../api/client.ts";
import classes from "./states.module.css";

/** Nothing is there yet: what would be, and how it gets there. */
export function Empty({ title, children, action }: { title: string; children: ReactNode; action?: ReactNode }) {
  return (
    <div className={classes.state}>
      <Text fw={600}>{title}</Text>
      <Text c="dimmed" maw={560}>
        {children}
      </Text>
      {action}
    </div>
  );
}

/** It could not be read: what happened, and what to do. */
export function Failure({ error, what, retry }: { error: unknown; what: string; retry?: () => unknown }) {
  const problem = error instanceof ApiProblem ? error : undefined;
  return (
    <div className={classes.state} role="alert">
      <Text fw={600} c="var(--pb-danger)">
        {what}
      </Text>
      <Text c="dimmed" maw={640}>
        {problem ? `${problem.message}. ${problem.detail}` : "Something on this page broke. Load it again."}
      </Text>
      {problem?.requestId !== undefined && (
        <Text c="dimmed" size="xs" className="mono">
          request {problem.requestId}
        </Text>
      )}
      {retry && (
        <Button variant="default" onClick={() => retry()}>
          Try again
        </Button>
      )}
    </div>
  );
}

/** In place of rows that are on their way. */
export function RowsSkeleton({ rows = 6 }: { rows?: number }) {
  return (
    <Stack gap="sm" aria-busy="true" aria-label="Loading" role="status">
      {Array.from({ length: rows }, (_, row) => (
        <Skeleton key={row} height={24} radius={2} />
      ))}
    </Stack>
  );
}

/** A refusal beside the button that caused it. */
export function Refusal({ error }: { error: unknown }) {
  if (!error) return undefined;
  const problem = error instanceof ApiProblem ? error : undefined;
  const page = problem && problem.status > 0 ? problem.members["type"] : undefined;
  return (
    <Text role="alert" size="sm" c="var(--pb-danger)">
      {problem ? `${problem.message}. ${problem.detail}` : "That did not work. Try again."}{" "}
      {typeof page === "string" && page.startsWith("http") && (
        <Anchor href={page} size="sm" target="_blank" rel="noreferrer">
          What this means
        </Anchor>
      )}
    </Text>
  );
}
