import type { Queryable } from "./pool.ts";

// Reports every few seconds that this server runs, and which secrets it lists: stored values are sealed under another secret only
// if all processes list that one. A server that was killed leaves a report, and may have lost its last counts.

export interface ServerReports {
  /** Reports now. Rejects if the database is unavailable. */
  report(): Promise<void>;
  /** Reports that this server has stopped. Never rejects. */
  close(): Promise<void>;
}

export interface ServerReportOptions {
  db: Queryable;
  processId: string;
  /** Of the secrets that this process lists. */
  secretIds: readonly string[];
  intervalMs?: number;
}

export function startServerReports({ db, processId, secretIds, ...options }: ServerReportOptions): ServerReports {
  async function send(hasStopped: boolean): Promise<void> {
    await db.query("select pb.report_server($1, $2, $3)", [processId, secretIds, hasStopped]);
  }

  const timer = setInterval(() => {
    send(false).catch(() => undefined);
  }, options.intervalMs ?? 5_000).unref();
  return {
    report: () => send(false),
    async close() {
      clearInterval(timer);
      await send(true).catch(() => undefined);
    },
  };
}
