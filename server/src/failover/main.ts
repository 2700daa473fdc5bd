import { ConfigFaults, readConfig } from "../config/config.ts";
import { spreadHosts } from "../lib/spread-hosts.ts";
import { createLog } from "../telemetry/log.ts";
import { openHost, type View } from "./inspect-host.ts";
import { watchPair } from "./watch-pair.ts";

// `npm run failover` watches a primary and its replica and promotes the replica if the primary fails. `npm run failover
// -- status` prints their state once. See docs/runbooks/failover.md.

const settings = readSettings();
const log = createLog(settings.logLevel);
const hosts = spreadHosts(settings.adminDatabaseUrl ?? "").map(openHost);

if (process.argv[2] === "status") await printStatus();
else await watch();
await Promise.all(hosts.map((host) => host.close()));

async function printStatus(): Promise<void> {
  for (const host of hosts) process.stdout.write(`${host.name}  ${describe(await host.inspect())}\n`);
}

async function watch(): Promise<void> {
  const stop = new AbortController();
  for (const signal of ["SIGTERM", "SIGINT"] as const) process.on(signal, () => stop.abort());
  log.info({ hosts: hosts.map((host) => host.name) }, "watching");
  await watchPair(
    {
      hosts,
      deadAfterMs: settings.failoverDeadMs,
      aloneAfterMs: settings.failoverAloneMs,
      onEvent: ({ what, ...details }) => log.warn(details, what),
    },
    stop.signal,
  );
  log.info("stopped");
}

function describe(view: View): string {
  switch (view.role) {
    case "down":
      return `down: ${view.why}`;
    case "replica":
      return `replica, ${view.isStreaming ? "streaming" : "not streaming"}`;
    case "primary": {
      const replica = view.replica ? `replica lag ${view.replica.lagBytes} bytes` : "no replica";
      return `primary on timeline ${view.timeline}, synchronous commit ${view.isSynchronous ? "on" : "off"}, ${replica}`;
    }
  }
}

function readSettings(): ReturnType<typeof readFailoverSettings> {
  try {
    const read = readFailoverSettings();
    if (read.adminDatabaseUrl && spreadHosts(read.adminDatabaseUrl).length === 2) return read;
    throw new ConfigFaults([
      "PENNYBLACK_ADMIN_DATABASE_URL must name both hosts: postgres://postgres@db1,db2/pennyblack",
    ]);
  } catch (error) {
    if (!(error instanceof ConfigFaults)) throw error;
    process.stderr.write(`${error.message}\n`);
    process.exit(1);
  }
}

function readFailoverSettings() {
  return readConfig(["adminDatabaseUrl", "failoverDeadMs", "failoverAloneMs", "logLevel"]);
}
