import { Anchor, Button, type ButtonProps, Skeleton, Stack, Text } from "@mantine/core";
import type { UseInfiniteQueryResult, UseQueryResult } from "@tanstack/react-query";
import type { ReactNode } from "react";
import { ApiProblem } from "../api/client.ts";
import classes from "./states.module.css";

export function EmptyState({ title, children, action }: { title: string; children: ReactNode; action?: ReactNode }) {
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

/** Replaces content that could not be loaded. */
export function ErrorState({ error, title, onRetry }: { error: unknown; title: string; onRetry?: () => unknown }) {
  const problem = error instanceof ApiProblem ? error : undefined;
  return (
    <div className={classes.state} role="alert">
      <Text fw={600} c="var(--pb-danger)">
        {title}
      </Text>
      <Text c="dimmed" maw={640}>
        {problem ? `${problem.message}. ${problem.detail}` : "Something went wrong on this page. Reload it."}
      </Text>
      {problem?.requestId !== undefined && (
        <Text c="dimmed" size="xs" className="mono">
          Request {problem.requestId}
        </Text>
      )}
      {onRetry && (
        <Button variant="default" onClick={() => onRetry()}>
          Try again
        </Button>
      )}
    </div>
  );
}

export function RowsSkeleton({ rows = 6 }: { rows?: number }) {
  return (
    <Stack gap="sm" aria-busy="true" aria-label="Loading" role="status">
      {Array.from({ length: rows }, (_, row) => (
        <Skeleton key={row} height={24} radius={2} />
      ))}
    </Stack>
  );
}

/** A skeleton while the query loads, or its error if there is no data. */
export function QueryState(props: { query: UseQueryResult | UseInfiniteQueryResult; title: string; rows: number }) {
  const { query, title, rows } = props;
  if (query.isPending) return <RowsSkeleton rows={rows} />;
  if (!query.isError || query.data !== undefined) return undefined;
  return <ErrorState error={query.error} title={title} onRetry={() => query.refetch()} />;
}

export function LoadMore({ query, ...rest }: { query: UseInfiniteQueryResult } & ButtonProps) {
  if (!query.hasNextPage) return undefined;
  return (
    <Button
      variant="default"
      mt="md"
      {...rest}
      loading={query.isFetchingNextPage}
      onClick={() => query.fetchNextPage()}
    >
      Load more
    </Button>
  );
}

/** A failed action, shown beside its button. */
export function InlineError({ error }: { error: unknown }) {
  if (!error) return undefined;
  const problem = error instanceof ApiProblem ? error : undefined;
  const docsUrl = problem && problem.status > 0 ? problem.members["type"] : undefined;
  return (
    <Text role="alert" size="sm" c="var(--pb-danger)">
      {problem ? `${problem.message}. ${problem.detail}` : "Something went wrong. Try again."}{" "}
      {typeof docsUrl === "string" && docsUrl.startsWith("http") && (
        <Anchor href={docsUrl} size="sm" target="_blank" rel="noreferrer">
          Learn more
        </Anchor>
      )}
    </Text>
  );
}
