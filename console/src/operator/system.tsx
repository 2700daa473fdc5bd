import { useQuery } from "@tanstack/react-query";
import type { ReactNode } from "react";
import { Metric } from "../components/metric.tsx";
import { Page, Section } from "../components/page.tsx";
import { RelativeTime } from "../components/relative-time.tsx";
import { ErrorState, RowsSkeleton } from "../components/states.tsx";
import { formatCount, formatMs } from "../format/format-time.ts";
import classes from "./operator.module.css";
import { type SystemMetrics, systemQuery } from "./queries.ts";

export function System() {
  const { data, error, refetch } = useQuery(systemQuery);
  return (
    <Page title="System" description="Current values. Prometheus reads them over time from /metrics.">
      {error && <ErrorState error={error} title="Couldn't load system metrics." onRetry={refetch} />}
      {!data && !error && <RowsSkeleton />}
      {data && (
        <>
          <MetricList metrics={describeServer(data)} />
          {data.db && (
            <Section title="Database and worker" description="Shared by all servers.">
              <MetricList metrics={describeShared(data)} />
            </Section>
          )}
        </>
      )}
    </Page>
  );
}

type SystemMetric = [label: string, value: ReactNode, note?: ReactNode];

function MetricList({ metrics }: { metrics: readonly SystemMetric[] }) {
  return (
    <div className={classes.metrics}>
      {metrics.map(([label, value, description]) => (
        <Metric key={label} label={label} value={value} description={description} />
      ))}
    </div>
  );
}

function describeServer(system: SystemMetrics): SystemMetric[] {
  const [minute = 0] = system.load;
  return [
    [
      "Searches",
      `${system.searches_per_second.toFixed(1)} per second`,
      `${formatCount(system.in_flight, "search", "searches")} in flight`,
    ],
    ["Ledger queue", formatCount(system.ledger_waiting, "search", "searches"), "limit 2,000"],
    ["Event loop", formatMs(system.event_loop_ms_p99), "p99 delay"],
    ["Load", minute.toFixed(2), "1-minute average of the machine"],
    ["Memory", formatCount(system.memory_mb, "MB", "MB"), "this server"],
  ];
}

function describeShared(system: SystemMetrics): SystemMetric[] {
  const { db, oldest_pending_s: oldest, partitions_ahead: days, worker_last_seen: seen } = system;
  return [
    ["Connections", `${db?.connections ?? 0} of ${db?.max ?? 0}`],
    ["Size", formatCount(db?.size_mb ?? 0, "MB", "MB")],
    [
      "Oldest hold",
      oldest === null || oldest === undefined ? "none" : `${Math.round(oldest)} s`,
      "holds expire after 60 s",
    ],
    ["Partitions ahead", formatCount(days ?? 0, "day"), "the worker creates them two weeks ahead"],
    ["Worker", seen ? <RelativeTime at={seen} /> : "not seen yet", "last sweep"],
  ];
}
