import { Anchor, Text } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { Page } from "../components/page.tsx";
import { RelativeTime } from "../components/relative-time.tsx";
import { EmptyState, ErrorState, RowsSkeleton } from "../components/states.tsx";
import { formatMoney } from "../format/format-money.ts";
import { formatCount, formatMs, formatPercent } from "../format/format-time.ts";
import classes from "./operator.module.css";
import { type Upstream, type UpstreamHour, upstreamsQuery } from "./queries.ts";

export function Upstreams() {
  const { data, error, refetch } = useQuery(upstreamsQuery);
  return (
    <Page
      title="Upstreams"
      description="In the order they are tried. Rates cover the last 15 minutes on this server; cost and margin are for today (UTC)."
    >
      {error && <ErrorState error={error} title="Couldn't load upstreams." onRetry={refetch} />}
      {!data && !error && <RowsSkeleton rows={3} />}
      {data?.upstreams.length === 0 && (
        <EmptyState title="No upstreams configured">
          Live searches fail with 503 and are not charged. Set the key or URL of an upstream, such as
          PENNYBLACK_SEARXNG_URL, and restart the server.
        </EmptyState>
      )}
      <ul className={classes.upstreams}>
        {data?.upstreams.map((upstream) => (
          <UpstreamRow key={upstream.name} upstream={upstream} />
        ))}
      </ul>
    </Page>
  );
}

const states = { closed: "active", trial: "probing", open: "circuit open" } as const;

function UpstreamRow({ upstream }: { upstream: Upstream }) {
  const { name, circuit, recent, money, today = money, hours = [], last_failure: failure, documentation } = upstream;
  return (
    <li className={classes.upstream}>
      <div>
        <Anchor href={documentation} target="_blank" rel="noreferrer" fw={600} c="var(--mantine-color-text)">
          {name}
        </Anchor>
        <div className={`${classes.status} ${classes.label}`} data-state={circuit.state}>
          {states[circuit.state]}
          {circuit.state === "open" && circuit.until !== null && (
            <>
              , next probe <RelativeTime at={circuit.until} />
            </>
          )}
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
      </div>
      <Fact label="success" value={recent.success_rate === null ? "no calls" : formatPercent(recent.success_rate)} />
      <Fact label="p95" value={recent.p95_ms === null ? "no calls" : formatMs(recent.p95_ms)} />
      <Fact label="cost" value={formatMoney(today.cost)} />
      <Fact label="margin" value={formatMoney(today.margin)} />
    </li>
  );
}

function Fact({ label, value }: { label: string; value: string }) {
  return (
    <div>
      <div className={classes.label}>{label}</div>
      <div>{value}</div>
    </div>
  );
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
