import { Anchor, Text } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { Moment } from "../parts/moment.tsx";
import { Page } from "../parts/page.tsx";
import { Empty, Failure, RowsSkeleton } from "../parts/states.tsx";
import { formatMoney } from "../words/format-money.ts";
import { formatCount, formatMs, formatPercent } from "../words/format-time.ts";
import classes from "./operator.module.css";
import { type Upstream, type UpstreamHour, upstreamsQuery } from "./queries.ts";

export function Upstreams() {
  const { data, error, refetch } = useQuery(upstreamsQuery);
  return (
    <Page
      title="Upstreams"
      about="In the order in which they are asked. Rates are of the last 15 minutes, money since this server started."
    >
      {error && <Failure error={error} what="The upstreams could not be read." retry={refetch} />}
      {!data && !error && <RowsSkeleton rows={3} />}
      {data?.upstreams.length === 0 && (
        <Empty title="No upstream is connected">
          Live searches are refused with 503 and cost nothing. Give the server the key or address of one, such as
          PENNYBLACK_SEARXNG_URL, and start it again.
        </Empty>
      )}
      <ul className={classes.upstreams}>
        {data?.upstreams.map((upstream) => (
          <UpstreamLine key={upstream.name} upstream={upstream} />
        ))}
      </ul>
    </Page>
  );
}

const states = { closed: "in use", trial: "being tried again", open: "left out" } as const;

function UpstreamLine({ upstream }: { upstream: Upstream }) {
  const { name, circuit, recent, money, hours = [], last_failure: failure, documentation } = upstream;
  return (
    <li className={classes.upstream}>
      <div>
        <Anchor href={documentation} target="_blank" rel="noreferrer" fw={600} c="var(--mantine-color-text)">
          {name}
        </Anchor>
        <div className={`${classes.state} ${classes.label}`} data-state={circuit.state}>
          {states[circuit.state]}
          {circuit.state === "open" && circuit.until !== null && (
            <>
              , tried again <Moment at={circuit.until} />
            </>
          )}
        </div>
      </div>
      <div className={classes.wide}>
        <HoursBar name={name} hours={hours} />
        {failure && (
          <Text size="xs" c="dimmed" mt={4}>
            Last failure <Moment at={failure.at} />: {failure.reason.replaceAll("_", " ")}
            {failure.upstream_status !== null && `, status ${failure.upstream_status}`}
          </Text>
        )}
      </div>
      <Fact label="answered" value={recent.success_rate === null ? "no calls" : formatPercent(recent.success_rate)} />
      <Fact label="p95" value={recent.p95_ms === null ? "no calls" : formatMs(recent.p95_ms)} />
      <Fact label="cost" value={formatMoney(money.cost)} />
      <Fact label="margin" value={formatMoney(money.margin)} />
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

/** One bar for each of the last 24 hours. What it shows is also said in words, for those who do not see it. */
function HoursBar({ name, hours }: { name: string; hours: readonly UpstreamHour[] }) {
  const calls = hours.reduce((sum, hour) => sum + hour.calls, 0);
  const failures = hours.reduce((sum, hour) => sum + hour.failures, 0);
  const words = `${name}, last 24 hours: ${formatCount(calls, "call")}, ${formatCount(failures, "failure")}`;
  return (
    <div className={classes.hours} role="img" aria-label={words}>
      {hours.map((hour) => (
        <span key={hour.start} className={classes.hour} data-state={stateOf(hour)} title={describe(hour)} />
      ))}
    </div>
  );
}

function stateOf({ calls, failures }: UpstreamHour): "none" | "good" | "some" | "bad" {
  if (calls === 0) return "none";
  if (failures / calls >= 0.5) return "bad";
  return failures / calls >= 0.02 ? "some" : "good";
}

function describe({ start, calls, failures }: UpstreamHour): string {
  const hour = new Date(start).toLocaleTimeString(undefined, { hour: "2-digit", minute: "2-digit" });
  return `From ${hour}: ${formatCount(calls, "call")}, ${formatCount(failures, "failure")}`;
}
