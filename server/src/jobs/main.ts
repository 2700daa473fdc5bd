import { ConfigFaults, readConfig, type WorkerConfig, workerSettings } from "../config/config.ts";
import { listen } from "../http/listen.ts";
import { adapters } from "../providers/providers.ts";
import { crash, failStart } from "../telemetry/fail-start.ts";
import { createLog } from "../telemetry/log.ts";
import { createWorker } from "./create-worker.ts";

// Worker process: runs scheduled background jobs. Any number of workers can run in parallel.

let isStopping = false;
process.on("uncaughtException", fail);
const config = readConfigOrExit();
const log = createLog(config.logLevel);

const worker = createWorker(config, log);
const listener = { host: config.opsHost, port: config.workerOpsPort, variable: "PENNYBLACK_OPS_PORT" };
// Listen before the first task: a worker that cannot listen must not look like one that works.
const fault = (await worker.findStartFault()) ?? (await listen(worker.ops, listener));
if (fault) failStart(fault);

const jobs = await worker.start();
for (const signal of ["SIGTERM", "SIGINT"] as const) {
  process.on(signal, () => {
    if (!isStopping) stop(signal).catch(fail);
  });
}
log.info({ ops: worker.ops.addresses() }, "worker started");
await jobs.ended;
if (!isStopping) fail(new Error("the job runner ended unexpectedly"));

async function stop(signal: string): Promise<void> {
  isStopping = true;
  log.info({ signal }, "stopping");
  // Without a database, jobs cannot be released. Their locks expire and another worker takes them.
  setTimeout(() => process.exit(1), 10_000).unref();
  await worker.close();
  log.info("stopped");
  log.flush(() => process.exit(0));
}

/** The supervisor restarts the process. Unfinished jobs are in the database. */
function fail(err: unknown): never {
  crash(err, "worker failed");
}

function readConfigOrExit(): WorkerConfig {
  try {
    return readConfig(adapters, workerSettings);
  } catch (error) {
    if (error instanceof ConfigFaults) failStart(error.faults);
    throw error;
  }
}
