import { Button, Text } from "@mantine/core";
import type { Activity as ActivityLine } from "@pennyblack/sdk";
import { useInfiniteQuery, useQuery } from "@tanstack/react-query";
import { getRouteApi } from "@tanstack/react-router";
import { type ActivityFilter, activityExportPath, activityQuery } from "../../api/activity.ts";
import { keysQuery } from "../../api/keys.ts";
import { ChangedValues } from "../../components/changed-values.tsx";
import { Chips } from "../../components/chips.tsx";
import { Page } from "../../components/page.tsx";
import { ExactTime } from "../../components/relative-time.tsx";
import { EmptyState, ErrorState, LoadMore, QueryState } from "../../components/states.tsx";
import { Cell, type Column, Row, Table } from "../../components/table.tsx";
import { useWallet } from "../../layout/use-wallet.ts";
import classes from "./activity.module.css";

const route = getRouteApi("/signed-in/w/$walletId/activity");

/** Who changed what. The filters are in the URL, so that it can be shared. */
export function Activity() {
  const { id } = useWallet();
  const filter = useFilter();
  return (
    <Page
      title="Activity"
      description="Who changed what in the last 400 days. Lines cannot be changed or deleted."
      actions={
        <Button variant="default" component="a" href={activityExportPath(id, filter)} download>
          Download JSON Lines
        </Button>
      }
    >
      <Filters />
      <Lines filter={filter} />
    </Page>
  );
}

const subjects = [
  { value: "all", label: "All" },
  { value: "key", label: "Keys" },
  { value: "budget", label: "Budgets" },
  { value: "app", label: "Apps" },
  { value: "webhook", label: "Webhooks" },
  { value: "alerts", label: "Alerts" },
  { value: "auto_top_up", label: "Automatic top-ups" },
  { value: "member", label: "Members" },
  { value: "session", label: "Sign-ins" },
] as const;

const actors = [
  { value: "all", label: "Anyone" },
  { value: "person", label: "Members" },
  { value: "key", label: "Keys" },
  { value: "operator", label: "Operator" },
  { value: "system", label: "System" },
] as const;

type ValueOf<Options extends readonly { value: string }[]> = Options[number]["value"];

/** The chosen option, or "all". */
function choose<Options extends readonly { value: string }[]>(options: Options, value: unknown): ValueOf<Options> {
  return options.find((option) => option.value === value)?.value ?? "all";
}

function useFilter(): ActivityFilter {
  const { act, actor, subject } = route.useSearch();
  const known = (value: string): string | undefined => (value === "all" ? undefined : value);
  return { act: known(choose(subjects, act)), actor: known(choose(actors, actor)), subject_id: subject };
}

function Filters() {
  const { id } = useWallet();
  const search = route.useSearch();
  const navigate = route.useNavigate();
  const keys = useQuery({ ...keysQuery(id), enabled: search.subject !== undefined });
  const setSearch = (change: Partial<typeof search>): Promise<void> =>
    navigate({ search: (before) => ({ ...before, ...change }), replace: true });
  const key = keys.data?.find(({ id: keyId }) => keyId === search.subject);
  return (
    <div className={classes.filters}>
      <Chips
        label="About"
        value={choose(subjects, search.act)}
        options={subjects}
        onChange={(act) => setSearch({ act: act === "all" ? undefined : act, subject: undefined })}
      />
      <Chips
        label="By"
        value={choose(actors, search.actor)}
        options={actors}
        onChange={(actor) => setSearch({ actor: actor === "all" ? undefined : actor })}
      />
      {search.subject !== undefined && (
        <Text size="sm">
          Only {key === undefined ? search.subject : `the key ${key.name}`}.{" "}
          <Button variant="subtle" size="compact-sm" onClick={() => setSearch({ subject: undefined })}>
            Show all
          </Button>
        </Text>
      )}
    </div>
  );
}

const columns: Column[] = [{ name: "Time" }, { name: "By" }, { name: "Change" }, { name: "Values" }];

function Lines({ filter }: { filter: ActivityFilter }) {
  const { id } = useWallet();
  const list = useInfiniteQuery(activityQuery(id, filter));
  const lines = list.data?.pages.flatMap(({ activity }) => activity);
  if (!lines) return <QueryState query={list} title="Couldn't load the activity." rows={10} />;
  if (lines.length === 0) return <EmptyState title="No changes">Nothing matches these filters.</EmptyState>;
  return (
    <>
      <Table label="Activity" columns={columns} className={classes.lines ?? ""}>
        {lines.map((line) => (
          <Line key={line.id} line={line} />
        ))}
      </Table>
      <LoadMore query={list} />
      {list.isFetchNextPageError && (
        <ErrorState error={list.error} title="Couldn't load more." onRetry={() => list.fetchNextPage()} />
      )}
    </>
  );
}

const actorLabels: Record<ActivityLine["actor"]["type"], string> = {
  person: "Member",
  key: "Key",
  operator: "Operator of the service",
  system: "System",
};

function Line({ line: { at, actor, summary, outcome, before, after } }: { line: ActivityLine }) {
  return (
    <Row>
      <Cell label="Time" className={classes.time ?? ""}>
        <ExactTime at={at} />
      </Cell>
      <Cell label="By" className={classes.name ?? ""}>
        {actor.name ?? actorLabels[actor.type]}
        {actor.name !== null && actor.type === "key" && (
          <Text size="xs" c="dimmed">
            Key
          </Text>
        )}
      </Cell>
      <Cell label="Change" className={classes.name ?? ""}>
        {summary}
        {outcome !== "done" && (
          <Text size="xs" c="dimmed">
            {outcome.replaceAll("_", " ")}
          </Text>
        )}
      </Cell>
      {/* Without a label if it is empty, because on narrow screens the label would get its own line. */}
      <Cell {...((before || after) && { label: "Values" })} className={classes.values ?? ""}>
        <ChangedValues before={before} after={after} />
      </Cell>
    </Row>
  );
}
