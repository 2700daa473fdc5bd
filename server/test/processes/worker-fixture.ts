import { after } from "node:test";
import type { TestDatabase } from "../support/services/database.ts";
import { startWorkerProcess, type WorkerProcess } from "../support/services/worker-process.ts";

const workers: WorkerProcess[] = [];

after(() => {
  for (const worker of workers) worker.process.kill("SIGKILL");
});

/** Starts a worker process that is killed at the end of the test file. */
export async function startWorker(db: TestDatabase, settings?: Record<string, string>): Promise<WorkerProcess> {
  const worker = await startWorkerProcess(db, settings);
  workers.push(worker);
  return worker;
}

/** Runs a job now instead of waiting for its schedule. */
export async function addJob(db: TestDatabase, task: string): Promise<void> {
  await db.owner.query("select graphile_worker.add_job($1, '{}'::json, job_key => $1)", [task]);
}
