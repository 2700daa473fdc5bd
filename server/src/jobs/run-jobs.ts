import { Logger, makeWorkerUtils, run, type Task } from "graphile-worker";
import type { Pool } from "../db/pool.ts";
import type { Log } from "../telemetry/log.ts";

export interface TaskContext {
  /** Schedules a task. At most one run of each task is queued. */
  schedule: (task: string, inMs: number) => Promise<void>;
  /** Aborted when the worker has to stop. */
  signal: AbortSignal;
}

export type Tasks = Record<string, (context: TaskContext) => Promise<void>>;

export interface JobOptions {
  pool: Pool;
  tasks: Tasks;
  crontab: string;
  /** Tasks to run after the worker starts, with their delays in ms. */
  startupTasks: Readonly<Record<string, number>>;
  log: Log;
  /** After each run of a task. */
  onTask: (task: string, isOk: boolean) => void;
}

export interface JobRunner {
  /** Resolves if the job runner ends without `stop`, which is an error. */
  ended: Promise<void>;
  /** Finishes running jobs and takes no new ones. */
  stop(): Promise<void>;
}

/** Jobs are stored in the same PostgreSQL. Any number of workers can run; each job is taken by one. */
export async function runJobs(options: JobOptions): Promise<JobRunner> {
  // One slot per task, so that no task waits behind another.
  const concurrency = Object.keys(options.tasks).length;
  const runner = await run({
    pgPool: options.pool,
    concurrency,
    noHandleSignals: true,
    logger: new Logger(() => (level, message, meta) => writeLine(options.log, level, message, meta["error"])),
    taskList: Object.fromEntries(
      Object.entries(options.tasks).map(([name, task]) => [
        name,
        toGraphileTask(task, (isOk) => options.onTask(name, isOk)),
      ]),
    ),
    crontab: options.crontab,
  });
  const utils = await makeWorkerUtils({ pgPool: options.pool });
  for (const [name, inMs] of Object.entries(options.startupTasks)) {
    // Keep an earlier run_at, so that a worker in a restart loop does not postpone its jobs forever.
    await utils.withPgClient((client) => client.query(addJob, [name, inMs, "preserve_run_at"]));
  }
  await utils.release();
  return {
    ended: runner.promise,
    stop: () => runner.stop(),
  };
}

function toGraphileTask(task: Tasks[string], onEnd: (isOk: boolean) => void): Task {
  return async (_payload, helpers) => {
    try {
      await task({
        schedule: async (name, inMs) => {
          await helpers.query(addJob, [name, inMs, "replace"]);
        },
        signal: helpers.abortSignal,
      });
      onEnd(true);
    } catch (error) {
      onEnd(false);
      throw error;
    }
  };
}

// Uses the database's clock, which also decides when a job is due. A worker whose clock is behind would never pause.
const addJob = `
  select from graphile_worker.add_job(
    $1, '{}'::json, job_key => $1, run_at => now() + $2 * interval '1 millisecond', job_key_mode => $3
  )`;

/** graphile-worker logs every successful job at "info"; that becomes "debug" here. */
function writeLine(log: Log, level: string, message: string, err: unknown): void {
  if (level === "error") log.error({ err }, message);
  else if (level === "warning") log.warn({ err }, message);
  else log.debug(message);
}
