import { randomUUIDv7 } from "node:crypto";
import type { ServerConfig } from "../config/config.ts";
import { describeDatabaseFailure } from "../db/find-schema-fault.ts";
import { findUnlistedSecret } from "../db/find-unlisted-secret.ts";
import { startServerReports } from "../db/report-server.ts";
import { databaseNameOf, startTimelineSharing } from "../db/share-timeline.ts";
import { startClockWatch } from "../db/watch-clock.ts";
import { createReadiness } from "../http/readiness.ts";
import { createSecrets } from "../lib/secrets.ts";
import { startHeartbeats } from "../telemetry/heartbeats.ts";
import type { Log } from "../telemetry/log.ts";
import { createProcessFigures } from "../telemetry/process-figures.ts";
import { createTally } from "../usage/usage.ts";
import type { Ledger } from "../wallet/wallet.ts";
import type { Connections } from "./connections.ts";

/** Both reports carry the same id, by which pb.mark_killed_servers recognizes servers that have written counts. */
export function openReports(config: ServerConfig, connections: Connections, log: Log) {
  const processId = randomUUIDv7();
  const db = connections.ledgerPool;
  const tally = createTally({ db, log, writer: processId, servers: config.servers });
  const secrets = createSecrets(config.secrets);
  const serverReports = startServerReports({ db, processId, secretIds: secrets.all.map(({ id }) => id) });
  const clock = startClockWatch({ db });
  const { fence, redis } = connections;
  const timelines = startTimelineSharing({ fence, db, redis, secrets, databaseUrl: config.ledgerDatabaseUrl });
  return {
    tally,
    secrets,
    clockOffset: (): number => clock.offsetSeconds(),
    // The primary can be lost between any two of these statements.
    checkDatabase: async (): Promise<string | undefined> => {
      try {
        const fault =
          (await connections.check("starting")) ?? (await timelines.start()) ?? (await findUnlistedSecret(db, secrets));
        // A wrong clock does not prevent the start, so that operators see the cause in a running server that is not ready.
        if (fault === undefined) await Promise.all([clock.measure(), serverReports.report()]);
        return fault;
      } catch (error) {
        return describeDatabaseFailure("DATABASE_URL", error);
      }
    },
    whyNotReady: createReadiness(async () => (await connections.check("running")) ?? clock.lastFault()),
    async close(): Promise<void> {
      clock.close();
      await timelines.close();
      await tally.close();
      await serverReports.close();
    },
  };
}

/** The load of this server, and of all servers through their heartbeats. */
export function openFigures(
  { ledgerDatabaseUrl }: ServerConfig,
  sources: {
    redis: Connections["redis"];
    ledger: Pick<Ledger, "waiting">;
    state: { isDraining: boolean };
    clockOffset: () => number;
  },
) {
  const { redis, ledger, state, clockOffset } = sources;
  const { duringSearch, recordRequest, read, close } = createProcessFigures();
  const heartbeats = startHeartbeats({
    redis,
    database: databaseNameOf(ledgerDatabaseUrl),
    readFigures: () => {
      const { holds, settlements } = ledger.waiting();
      const figures = { ledger_waiting: holds + settlements, clock_offset_s: clockOffset() };
      return { ...read(), ...figures, is_stopping: state.isDraining };
    },
  });
  return {
    duringSearch,
    recordRequest,
    readServers: () => heartbeats.read(),
    async close(): Promise<void> {
      await heartbeats.close();
      close();
    },
  };
}
