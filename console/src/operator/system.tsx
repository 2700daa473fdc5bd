import { useQuery } from "@tanstack/react-query";
import type { ReactNode } from "react";
import { Figure } from "../parts/figure.tsx";
import { Moment } from "../parts/moment.tsx";
import { Page, Section } from "../parts/page.tsx";
import { Failure, RowsSkeleton } from "../parts/states.tsx";
import { formatCount, formatMs } from "../words/format-time.ts";
import classes from "./operator.module.css";
import { type SystemFigures, systemQuery } from "./queries.ts";

/** What this server and the database do at this moment. */
export function System() {
  const { data, error, refetch } = useQuery(systemQuery);
  return (
    <Page title="System" about="As it is now. /metrics tells the same over time, to Prometheus.">
      {error && <Failure error={error} what="The system could not be read." retry={refetch} />}
      {!data && !error && <RowsSkeleton />}
      {data && (
        <>
          <Facts facts={describeServer(data)} />
          {data.db && (
            <Section title="Database and worker" about="What all servers share.">
              <Facts facts={describeShared(data)} />
            </Section>
          )}
        </>
      )}
    </Page>
  );
}

type Fact = [label: string, value: ReactNode, note?: ReactNode];

function Facts({ facts }: { facts: readonly Fact[] }) {
  return (
    <div className={classes.facts}>
      {facts.map(([label, value, note]) => (
        <Figure key={label} label={label} value={value} note={note} />
      ))}
    </div>
  );
}

function describeServer(system: SystemFigures): Fact[] {
  const [minute = 0] = system.load;
  return [
    [
      "Searches",
      `${system.searches_per_second.toFixed(1)} a second`,
      `${formatCount(system.in_flight, "search", "searches")} in flight`,
    ],
    ["Waiting for the ledger", formatCount(system.ledger_waiting, "search", "searches"), "2,000 at most"],
    ["Event loop", formatMs(system.event_loop_ms_p99), "p99 of its delay"],
    ["Load", minute.toFixed(2), "of the machine, over one minute"],
    ["Memory", formatCount(system.memory_mb, "MB", "MB"), "of this server"],
  ];
}

function describeShared(system: SystemFigures): Fact[] {
  const { db, oldest_pending_s: oldest, partitions_ahead: days, worker_last_seen: seen } = system;
  return [
    ["Connections", `${db?.connections ?? 0} of ${db?.max ?? 0}`],
    ["Size", formatCount(db?.size_mb ?? 0, "MB", "MB")],
    ["Oldest hold", oldest === null || oldest === undefined ? "none" : `${Math.round(oldest)} s`, "a hold lives 60 s"],
    ["Partitions ahead", formatCount(days ?? 0, "day"), "made by the worker, two weeks ahead"],
    ["Worker", seen ? <Moment at={seen} /> : "not seen yet", "when it last swept"],
  ];
}
