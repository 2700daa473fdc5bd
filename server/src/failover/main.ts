import { ConfigFaults, readConfig } from "../config.ts";
import { spreadHosts } from "../lib/spread-hosts.ts";
import { createLog } from "../telemetry/log.ts";
import { openHost, type View } from "./look-at-host.ts";
import { watchPair } from "./watch-pair.ts";

// `npm run failover`: watches a primary and its replica and promotes. docs/runbooks/failover.md says how to use it.
// `npm run failover -- status` looks once and says what it sees.

const settings = readSettings();
const log = createLog(settings.logLevel);
const hosts = spreadHosts(settings.adminDatabaseUrl ?? "").map(openHost);

if (process.argv[2] === "status") await showStatus();
else await watch();
await Promise.all(hosts.map((host) => host.close()));

async function showStatus(): Promise<void> {
  for (const host of hosts) process.stdout.write(`${host.name}  ${describe(await host.look())}\n`);
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
      onNews: ({ what, ...details }) => log.warn(details, what),
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
      return `replica, ${view.isStreaming ? "follows" : "does not follow"}`;
    case "primary": {
      const replica = view.replica ? `its replica lags ${view.replica.lagBytes} bytes` : "it has no replica";
      return `primary on timeline ${view.timeline}, ${view.isWaiting ? "commits wait for the replica" : "commits wait for nobody"}, ${replica}`;
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
