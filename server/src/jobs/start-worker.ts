import { Logger, makeWorkerUtils, run, type Task } from "graphile-worker";
import { createPool } from "../db/pool.ts";
import type { Log } from "../telemetry/log.ts";

export interface TaskContext {
  /** Runs a task again later. There is at most one waiting of each. */
  schedule: (task: string, inMs: number) => Promise<void>;
  /** Aborted when the worker has to stop. */
  signal: AbortSignal;
}

export type Tasks = Record<string, (context: TaskContext) => Promise<void>>;

export interface WorkerOptions {
  databaseUrl: string;
  tasks: Tasks;
  crontab: string;
  /** Tasks that run when a worker starts, and after how long. */
  first: Readonly<Record<string, number>>;
  log: Log;
  /** After each run of a task. */
  onTask: (task: string, isOk: boolean) => void;
}

export interface Worker {
  /** Resolves when the worker ended by itself, which it should not. */
  ended: Promise<void>;
  /** Finishes the jobs that run and takes no more. */
  stop(): Promise<void>;
}

/** Jobs live in the same PostgreSQL. Any number of workers may run; each job is taken by one. */
export async function startWorker(options: WorkerOptions): Promise<Worker> {
  // One for each kind of job, so that none waits behind another.
  const concurrency = Object.keys(options.tasks).length;
  const pgPool = createPool({
    url: options.databaseUrl,
    name: "pennyblack jobs",
    connections: concurrency + 2,
    statementTimeoutMs: 60_000,
    hasPlainTypes: true,
    onIdleError: (err) => options.log.warn({ err }, "an idle database connection failed"),
  });
  const runner = await run({
    pgPool,
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
  const utils = await makeWorkerUtils({ pgPool });
  for (const [name, inMs] of Object.entries(options.first)) {
    // Keeping an earlier appointment, so that a worker that restarts over and over does not put its jobs off.
    await utils.withPgClient((client) => client.query(addJob, [name, inMs, "preserve_run_at"]));
  }
  await utils.release();
  return {
    ended: runner.promise,
    async stop() {
      await runner.stop();
      await pgPool.end();
    },
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

// By the database's clock, which also decides when the time has come: a worker whose own is behind would never pause.
const addJob = `
  select from graphile_worker.add_job(
    $1, '{}'::json, job_key => $1, run_at => now() + $2 * interval '1 millisecond', job_key_mode => $3
  )`;

/** Its lines on every job that went well are many: a level lower than it thinks. */
function writeLine(log: Log, level: string, message: string, err: unknown): void {
  if (level === "error") log.error({ err }, message);
  else if (level === "warning") log.warn({ err }, message);
  else log.debug(message);
}
