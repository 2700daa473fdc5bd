import { setTimeout as wait } from "node:timers/promises";
import { type App, createApp } from "./app.ts";
import { ConfigFaults, readConfig, serverSettings } from "./config.ts";
import { LensFaults } from "./lenses/lenses.ts";
import { createLog } from "./telemetry/log.ts";

// The process: read the configuration, refuse a database that is not ours to serve, listen, and on SIGTERM stop
// without failing a request:
//   1. /readyz says no and answers close their connections, while everything is still served, for PENNYBLACK_DRAIN_MS;
//   2. no new connections, late requests get 503;
//   3. searches in flight end, captures included; then the process does.

const config = readConfigOrExit();
const log = createLog(config.logLevel);
const app = createAppOrExit();

const refusal = await app.checkDatabase();
if (refusal) {
  process.stderr.write(`${refusal}\n`);
  process.exit(1);
}

await app.ops.listen({ host: config.opsHost, port: config.opsPort });
await app.http.listen({ host: config.host, port: config.port });
log.info({ addresses: app.http.addresses(), ops: app.ops.addresses() }, "listening");

// Node would print the error with all that it carries, which may be a query. What is left after it cannot be trusted.
process.on("uncaughtException", (err) => {
  log.fatal({ err }, "crashed");
  process.exit(1);
});

process.on("SIGHUP", () => app.reloadLenses());

let isStopping = false;
for (const signal of ["SIGTERM", "SIGINT"] as const) {
  process.on(signal, () => {
    if (isStopping) return;
    isStopping = true;
    stop(signal).catch((err: unknown) => {
      log.error({ err }, "could not stop cleanly");
      process.exit(1);
    });
  });
}

async function stop(signal: string): Promise<void> {
  log.info({ signal }, "stopping");
  app.startDraining();
  await wait(config.drainMs);
  app.refuseRequests();
  await app.close();
  log.info("stopped");
  log.flush(() => process.exit(0));
}

function createAppOrExit(): App {
  try {
    return createApp(config, log);
  } catch (error) {
    if (!(error instanceof LensFaults)) throw error;
    process.stderr.write(`${error.message}\n`);
    process.exit(1);
  }
}

function readConfigOrExit(): ReturnType<typeof readConfig<(typeof serverSettings)[number]>> {
  try {
    return readConfig(serverSettings);
  } catch (error) {
    if (!(error instanceof ConfigFaults)) throw error;
    process.stderr.write(`${error.message}\n`);
    process.exit(1);
  }
}
