import { useQuery } from "@tanstack/react-query";
import { Page, Section } from "../components/page.tsx";
import { ErrorState, RowsSkeleton } from "../components/states.tsx";
import { formatCount } from "../format/format-time.ts";
import { type SystemStatus, systemQuery } from "./queries.ts";
import { Servers } from "./servers.tsx";
import {
  describeArchive,
  describeBackup,
  describeLags,
  describeReconciliation,
  describeWorker,
  type Status,
  StatusList,
} from "./status-list.tsx";

export function System() {
  const { data, error, refetch } = useQuery(systemQuery);
  return (
    <Page
      title="System"
      description="Current values, updated every 2 seconds. For their history, scrape /metrics with Prometheus."
    >
      <Servers />
      {error && !data && <ErrorState error={error} title="Couldn't load the database status." onRetry={refetch} />}
      {!data && !error && <RowsSkeleton />}
      {data?.db && (
        <Section title="Database and worker" description="Shared by all servers.">
          <StatusList statuses={describeSystem(data)} />
        </Section>
      )}
    </Page>
  );
}

function describeSystem(system: SystemStatus): Status[] {
  const { db, oldest_pending_s: oldest, partitions_ahead: days = 0 } = system;
  return [
    describeReconciliation(system),
    describeBackup(system),
    describeArchive(system),
    describeWorker(system),
    ...describeLags(system),
    {
      label: "Oldest hold",
      value: typeof oldest === "number" ? `${Math.round(oldest)} s` : "none",
      note: "holds expire after 60 s",
    },
    {
      label: "Partitions",
      value: `${formatCount(days, "day")} ahead`,
      note: "the worker creates them two weeks ahead",
    },
    { label: "Connections", value: `${db?.connections ?? 0} of ${db?.max ?? 0}` },
    { label: "Size", value: formatCount(db?.size_mb ?? 0, "MB", "MB") },
  ];
}
