import { Anchor, Text } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { Page, Section } from "../components/page.tsx";
import { RelativeTime } from "../components/relative-time.tsx";
import { EmptyState, ErrorState, RowsSkeleton } from "../components/states.tsx";
import { formatMoney } from "../format/format-money.ts";
import { formatCount, formatMs, formatPercent } from "../format/format-time.ts";
import classes from "./operator.module.css";
import {
  attentionQuery,
  reconciliationQuery,
  serversQuery,
  systemQuery,
  type Upstream,
  type UpstreamHour,
  upstreamsQuery,
} from "./queries.ts";
import { NextProbe, Quota } from "./quota.tsx";
import { Runs } from "./runs.tsx";
import { formatErrors } from "./servers.tsx";
import { describeBackup, describeReconciliation, describeWorker, type Status, StatusList } from "./status-list.tsx";

export function Upstreams() {
  const { data, error, refetch } = useQuery(upstreamsQuery);
  return (
    <Page title="Upstreams" description="In the order they are tried, with their last 24 hours on all servers.">
      <NoProblems />
      {error && !data && <ErrorState error={error} title="Couldn't load upstreams." onRetry={refetch} />}
      {!data && !error && <RowsSkeleton rows={3} />}
      {data?.upstreams.length === 0 && (
        <EmptyState title="No upstreams configured">
          Live searches fail with 503 and are not charged. Set the key or URL of an upstream, such as
          PENNYBLACK_SEARXNG_URL, and restart the server.
        </EmptyState>
      )}
      {data !== undefined && data.upstreams.length > 0 && (
        <>
          <div className={`${classes.upstream} ${classes.upstreamHead} ${classes.label}`} aria-hidden="true">
            <span>Upstream</span>
            <span>Last 24 hours</span>
            {factNames.map((name) => (
              <span key={name} className="numeric">
                {name}
              </span>
            ))}
          </div>
          <ul className={classes.upstreams}>
            {data.upstreams.map((upstream) => (
              <UpstreamRow key={upstream.name} upstream={upstream} />
            ))}
          </ul>
        </>
      )}
      <Checks />
    </Page>
  );
}

/** Shown instead of the list of problems when it is empty. */
function NoProblems() {
  const { data } = useQuery(attentionQuery);
  if (data?.items.length !== 0) return undefined;
  return (
    <Text className={classes.status} data-state="closed" mb="md">
      No open problems
    </Text>
  );
}

const states = { closed: "active", trial: "probing", open: "circuit open" } as const;
const factNames = ["Success", "p95", "Cost today", "Margin today"];

function UpstreamRow({ upstream }: { upstream: Upstream }) {
  const { name, circuit, money, today = money, hours = [], last_failure: failure, documentation } = upstream;
  const facts = [...describeCalls(upstream), formatMoney(today.cost), formatMoney(today.margin)];
  return (
    <li className={classes.upstream}>
      <div className={classes.upstreamName}>
        <Anchor href={documentation} target="_blank" rel="noreferrer" fw={600} c="var(--mantine-color-text)">
          {name}
        </Anchor>
        <div className={`${classes.status} ${classes.label}`} data-state={circuit.state}>
          {states[circuit.state]}
          <NextProbe circuit={circuit} />
        </div>
      </div>
      <div className={classes.details}>
        <HoursBar name={name} hours={hours} />
        {failure && (
          <Text size="xs" c="dimmed" mt={4}>
            Last failure <RelativeTime at={failure.at} />: {failure.reason.replaceAll("_", " ")}
            {failure.upstream_status !== null && `, status ${failure.upstream_status}`}
          </Text>
        )}
        <Quota upstream={upstream} />
      </div>
      {factNames.map((label, index) => (
        <div key={label} className={classes.fact}>
          <span className={classes.factLabel}>{label}</span>
          {facts[index]}
        </div>
      ))}
    </li>
  );
}

/** Success rate and p95 of all servers, or of this one without a database. */
function describeCalls({ recent, last_24_hours: day }: Upstream): [success: string, p95: string] {
  const calls = day?.calls ?? recent.calls;
  const success = day ? 1 - day.failures / day.calls : recent.success_rate;
  const p95 = day ? day.p95_ms : recent.p95_ms;
  if (calls === 0 || success === null || p95 === null) return ["no calls", "–"];
  return [formatPercent(success), formatMs(p95)];
}

/** One bar per hour of the last 24, with a text alternative. */
function HoursBar({ name, hours }: { name: string; hours: readonly UpstreamHour[] }) {
  const calls = hours.reduce((sum, hour) => sum + hour.calls, 0);
  const failures = hours.reduce((sum, hour) => sum + hour.failures, 0);
  const summary = `${name}, last 24 hours: ${formatCount(calls, "call")}, ${formatCount(failures, "failure")}`;
  return (
    <div className={classes.hours} role="img" aria-label={summary}>
      {hours.map((hour) => (
        <span key={hour.start} className={classes.hour} data-state={stateOf(hour)} title={describe(hour)} />
      ))}
    </div>
  );
}

function stateOf({ calls, failures, open: wasOpen = false }: UpstreamHour): "none" | "good" | "some" | "bad" {
  if (calls === 0) return "none";
  if (wasOpen || failures / calls >= 0.5) return "bad";
  return failures / calls >= 0.02 ? "some" : "good";
}

function describe({ start, calls, failures }: UpstreamHour): string {
  const hour = new Date(start).toLocaleTimeString(undefined, { hour: "2-digit", minute: "2-digit" });
  return `From ${hour}: ${formatCount(calls, "call")}, ${formatCount(failures, "failure")}`;
}

function HowToShowBackup() {
  return (
    <Anchor href="#system" inherit underline="always">
      How to show it
    </Anchor>
  );
}

/** Servers, reconciliation, backup and worker, a line each. The pages Ledger and System have the details. */
function Checks() {
  const { data: system } = useQuery(systemQuery);
  const { data: live } = useQuery(serversQuery);
  const { data: reports } = useQuery(reconciliationQuery);
  if (!system || !live) return <RowsSkeleton rows={3} />;
  const { value, note, ...reconciliation } = describeReconciliation(system);
  const rate = live.servers.reduce((sum, server) => sum + server.searches_per_second, 0);
  const statuses: Status[] = [
    {
      label: "Servers",
      value: `${live.servers.length} running`,
      note: `${rate.toFixed(1)} searches per second, errors in the last minute: ${formatErrors(live.servers)}`,
    },
    ...(system.db
      ? [
          {
            ...reconciliation,
            value,
            note: (
              <span className={classes.inline}>
                <span>{note}</span>
                {reports?.last && <Runs runs={[...reports.before.toReversed(), reports.last]} />}
              </span>
            ),
          },
          system.backup
            ? describeBackup(system)
            : { label: "Last backup", value: "unknown", note: <HowToShowBackup /> },
          describeWorker(system),
        ]
      : []),
  ];
  return (
    <Section title="Service">
      <StatusList statuses={statuses} />
    </Section>
  );
}
