import { Anchor, Code } from "@mantine/core";
import type { ReactNode } from "react";
import { RelativeTime } from "../components/relative-time.tsx";
import { formatCount } from "../format/format-time.ts";
import { formatDuration } from "./format-duration.ts";
import classes from "./operator.module.css";
import type { SystemStatus } from "./queries.ts";

export interface Status {
  label: string;
  value: ReactNode;
  note?: ReactNode;
}

/** One line per value, with a note beside it. */
export function StatusList({ statuses }: { statuses: readonly Status[] }) {
  return (
    <dl className={classes.statuses}>
      {statuses.map(({ label, value, note }) => (
        <div key={label}>
          <dt>{label}</dt>
          <dd>{value}</dd>
          <dd className={classes.label}>{note}</dd>
        </div>
      ))}
    </dl>
  );
}

export function describeReconciliation({ reconciliation: last }: SystemStatus): Status {
  const label = "Reconciliation";
  if (!last) return { label, value: "not run yet", note: "The worker runs it every hour." };
  return {
    label,
    value: last.differences === 0 ? "no differences" : formatCount(last.differences, "difference"),
    note: (
      <>
        checked <RelativeTime at={last.at} />
      </>
    ),
  };
}

export function describeBackup({ backup, wal_archived_at: archivedAt }: SystemStatus): Status {
  const label = "Last backup";
  if (!backup) {
    const grant = "grant execute on function pg_ls_waldir to pennyblack_operator";
    return {
      label,
      value: "unknown",
      note: (
        <>
          To show it, run as a superuser in this database: <Code>{grant}</Code>
        </>
      ),
    };
  }
  if (backup.completed_at !== null) {
    return { label, value: <RelativeTime at={backup.completed_at} />, note: "completed on the current primary" };
  }
  return {
    label,
    value: "none",
    note: archivedAt ? "none was completed on the current primary" : <SetUpBackups />,
  };
}

export function describeArchive({ wal_archived_at: at }: SystemStatus): Status {
  const label = "WAL archive";
  return at
    ? { label, value: <RelativeTime at={at} />, note: "last segment" }
    : { label, value: "off", note: <SetUpBackups /> };
}

function SetUpBackups() {
  return (
    <Anchor href="/docs/runbooks/restore" inherit underline="always">
      Set up backups
    </Anchor>
  );
}

export function describeWorker({ worker_last_seen: at }: SystemStatus): Status {
  return { label: "Worker", value: at ? <RelativeTime at={at} /> : "not seen yet", note: "last report" };
}

export function describeLags({ usage_lag_s: usage = 0, webhook_lag_s: webhooks = 0 }: SystemStatus): Status[] {
  return [
    { label: "Usage", value: `${formatDuration(usage)} behind`, note: "about three minutes is normal" },
    {
      label: "Webhooks",
      value: webhooks < 5 ? "on time" : `${formatDuration(webhooks)} late`,
      note: "oldest event that is due",
    },
  ];
}
