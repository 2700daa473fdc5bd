import type { Queryable } from "./pool.ts";

// Reports every few seconds that this worker runs, and which of its tasks have succeeded. Operators see the reports; a worker
// that crashes soon after each start has no recent one, or many that ended without a stop.

export interface WorkerReports {
  recordSuccess(task: string): void;
  /** Reports that this worker has stopped. Never rejects. */
  close(): Promise<void>;
}

export interface WorkerReportOptions {
  db: Queryable;
  processId: string;
  /** Of the secrets that this process lists. */
  secretIds: readonly string[];
  /** The maximum age of each task's last success, in seconds. */
  maxAges: Readonly<Record<string, number>>;
  intervalMs?: number;
}

/** The worker must be running: the first report is sent immediately. */
export function startWorkerReports({
  db,
  processId,
  secretIds,
  maxAges,
  ...options
}: WorkerReportOptions): WorkerReports {
  const succeeded = new Set<string>();
  let sending: Promise<void> | undefined;

  async function send(hasStopped: boolean): Promise<void> {
    const tasks = [...succeeded];
    await db.query("select pb.report_worker($1, $2, $3, $4, $5, $6)", [
      processId,
      secretIds,
      Object.keys(maxAges),
      Object.values(maxAges),
      tasks,
      hasStopped,
    ]);
    for (const task of tasks) succeeded.delete(task);
  }
  // While the database is unavailable, nothing is reported and the successes are kept.
  function report(): void {
    sending ??= send(false)
      .catch(() => undefined)
      .finally(() => {
        sending = undefined;
      });
  }

  report();
  const timer = setInterval(report, options.intervalMs ?? 5_000).unref();
  return {
    recordSuccess: (task) => void succeeded.add(task),
    async close() {
      clearInterval(timer);
      await sending;
      await send(true).catch(() => undefined);
    },
  };
}
