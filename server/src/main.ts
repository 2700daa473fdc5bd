import { setTimeout as wait } from "node:timers/promises";
import { createApp } from "./app.ts";
import { FleetFault } from "./cells/operator-client.ts";
import { ConfigFaults, readConfig, serverSettings } from "./config/config.ts";
import { listen } from "./http/listen.ts";
import { LensFaults } from "./lenses/lenses.ts";
import { adapters } from "./providers/providers.ts";
import { crash, failStart } from "./telemetry/fail-start.ts";
import { createLog } from "./telemetry/log.ts";

// Server process: reads the configuration, checks the database and listens. On SIGTERM it stops without failing requests:
//   1. for ten seconds, /readyz fails and responses close their connections, but all requests are still served;
//   2. new connections are not accepted, and late requests get 503;
//   3. searches in flight finish, including their captures and releases, and the process exits.

// Node would print the error with all its properties, which can include a query.
process.on("uncaughtException", (err) => crash(err, "crashed"));

const config = orExit(() => readConfig(adapters, serverSettings));
const log = createLog(config.logLevel);
const app = orExit(() => createApp(config, log));

const fault =
  (await app.checkDatabase()) ??
  (await listen(app.ops, { host: config.opsHost, port: config.opsPort, variable: "PENNYBLACK_OPS_PORT" })) ??
  (await listen(app.http, { host: config.host, port: config.port, variable: "PORT" }));
if (fault) failStart(fault);

log.info({ addresses: app.http.addresses(), ops: app.ops.addresses() }, "listening");

process.on("SIGHUP", () => app.reload(() => readConfig(adapters, ["upstreams"]).upstreams));

let isStopping = false;
for (const signal of ["SIGTERM", "SIGINT"] as const) {
  process.on(signal, () => {
    if (isStopping) return;
    isStopping = true;
    stop(signal).catch((err: unknown) => {
      log.error({ err }, "shutdown failed");
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

function orExit<Result>(create: () => Result): Result {
  try {
    return create();
  } catch (error) {
    if (error instanceof ConfigFaults) failStart(error.faults);
    if (error instanceof LensFaults || error instanceof FleetFault) failStart(error.message.split("\n"));
    throw error;
  }
}
