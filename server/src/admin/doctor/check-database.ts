import pg from "pg";
import { readArchiver } from "../../db/archiver.ts";
import { serverConnections, totalOf, workerConnections } from "../../db/connection-counts.ts";
import { findPrimary } from "../../db/find-primary.ts";
import { findSchemaFault } from "../../db/find-schema-fault.ts";
import { findUnlistedSecret } from "../../db/find-unlisted-secret.ts";
import { findLimitFault, findRoleFault, roleLimits, roles } from "../../db/roles.ts";
import { createSecrets } from "../../lib/secrets.ts";
import { spreadHosts } from "../../lib/spread-hosts.ts";
import { readHealth } from "../../operator/operator.ts";
import { countDataKeys } from "../../wallet/wallet.ts";
import { explainFailure } from "../explain-failure.ts";
import { checkClock } from "./check-clock.ts";
import type { DoctorConfig } from "./check-settings.ts";
import { error, type Finding, findingsOf, warning } from "./finding.ts";

const recreateRoles = "Run npm run migrate with PENNYBLACK_ADMIN_DATABASE_URL, which sets it.";
const maxReportAgeMs = 60_000;
const minPartitionDays = 7;

/** Connects with each URL as the server does, and reads the rest as the owner. */
export async function checkDatabase(config: DoctorConfig): Promise<Finding[]> {
  const logins: [variable: string, url: string | undefined, role: keyof typeof roles][] = [
    ["DATABASE_URL", config.ledgerDatabaseUrl, "ledger"],
    ["PENNYBLACK_TENANT_DATABASE_URL", config.tenantDatabaseUrl, "tenant"],
    ["PENNYBLACK_PAYMENTS_DATABASE_URL", config.paymentsDatabaseUrl, "payments"],
    ["PENNYBLACK_OPERATOR_DATABASE_URL", config.operatorDatabaseUrl, "operator"],
    ["PENNYBLACK_PEOPLE_DATABASE_URL", config.peopleDatabaseUrl, "people"],
    ["PENNYBLACK_WORKER_DATABASE_URL", config.workerDatabaseUrl, "worker"],
  ];
  const findings: Finding[] = [];
  for (const [variable, url, role] of logins) {
    if (url === undefined) continue;
    const isPooled = config.databasePooler === "transaction" && role !== "worker";
    findings.push(...(await connect(variable, url, (client) => checkLogin(client, { variable, role, isPooled }))));
  }
  const { directDatabaseUrl } = config;
  const checkAsOwner = async (client: pg.Client): Promise<Finding[]> => {
    const fault = await findSchemaFault(client, "starting");
    if (fault) return [error(fault, "Migrate before starting servers of this release.")];
    return [
      ...(await checkServer(client, config)),
      ...(await checkRoleLimits(client)),
      ...(await checkArchiver(client)),
      ...(await checkSecrets(client, config)),
      ...(await checkWorker(client)),
    ];
  };
  findings.push(...(await connect("PENNYBLACK_DIRECT_DATABASE_URL", directDatabaseUrl, checkAsOwner)));
  return findings;
}

async function connect(
  variable: string,
  url: string,
  check: (client: pg.Client) => Promise<Finding[]>,
): Promise<Finding[]> {
  let client: pg.Client | undefined;
  try {
    client = new pg.Client({
      connectionString: await findPrimary(url),
      connectionTimeoutMillis: 5_000,
      query_timeout: 30_000,
    });
    client.on("error", () => undefined);
    await client.connect();
    return await check(client);
  } catch (failure) {
    return [error(`${variable} cannot be used.`, explainFailure(failure, variable))];
  } finally {
    await client?.end();
  }
}

interface Login {
  variable: string;
  role: keyof typeof roles;
  isPooled: boolean;
}

async function checkLogin(client: pg.Client, { variable, role, isPooled }: Login): Promise<Finding[]> {
  const { rows } = await client.query<{ name: string }>("select current_user as name");
  const roleFault = await findRoleFault(client);
  const limitFault = isPooled ? await findLimitFault(client) : undefined;
  return findingsOf(
    roleFault !== undefined
      ? error(`${variable} connects with too many privileges: ${roleFault}.`, `Connect as ${roles[role]}.`)
      : rows[0]?.name !== roles[role] &&
          error(`${variable} connects as ${rows[0]?.name}.`, `Connect as ${roles[role]}.`),
    limitFault !== undefined && error(`${variable}: ${limitFault}.`, recreateRoles),
  );
}

interface ServerState {
  version: number;
  fsync: string;
  pages: string;
  commit: string;
  standbys: string;
  max_connections: number;
  now: Date;
}

async function checkServer(client: pg.Client, config: DoctorConfig): Promise<Finding[]> {
  const sentAt = Date.now();
  const { rows } = await client.query<ServerState>(
    `select current_setting('server_version_num')::integer as version, current_setting('fsync') as fsync,
       current_setting('full_page_writes') as pages, current_setting('synchronous_commit') as commit,
       current_setting('synchronous_standby_names') as standbys,
       current_setting('max_connections')::integer - current_setting('superuser_reserved_connections')::integer
         as max_connections,
       clock_timestamp() as now`,
  );
  const [state] = rows;
  if (!state) throw new Error("PostgreSQL returned no settings");
  const neededConnections = config.servers * totalOf(serverConnections) + totalOf(workerConnections);
  return findingsOf(
    state.version < 150_000 &&
      error(`PostgreSQL ${Math.floor(state.version / 10_000)} is too old.`, "Upgrade to PostgreSQL 15 or newer."),
    state.fsync === "off" &&
      error("fsync is off. A crash of the machine can corrupt the database and lose charges.", "Turn it on."),
    state.pages === "off" &&
      error("full_page_writes is off. A crash of the machine can corrupt the database.", "Turn it on."),
    state.commit === "off" &&
      error("synchronous_commit is off. A crash loses charges that callers have received.", "Turn it on."),
    spreadHosts(config.ledgerDatabaseUrl).length > 1 &&
      state.standbys === "" &&
      error(
        "DATABASE_URL lists several hosts, but synchronous_standby_names is empty. A failover loses the last charges.",
        "Turn on Patroni's synchronous_mode. See deploy/patroni.",
      ),
    state.standbys === "*" &&
      error(
        'synchronous_standby_names is "*". A replica that may not be promoted can acknowledge commits, so a failover can lose charges.',
        "Name the replicas. With Patroni, run patronictl switchover, and install deploy/patroni/patroni.service.conf.",
      ),
    config.databasePooler === "none" &&
      neededConnections > state.max_connections &&
      error(
        `${config.servers} servers and a worker open up to ${neededConnections} connections, but max_connections allows ${state.max_connections}.`,
        "Raise max_connections, or put PgBouncer in front of the database.",
      ),
    checkClock("the database", state.now.getTime(), sentAt),
  );
}

/** psql sessions, and servers behind a transaction pooler, have only the limits of their role. */
async function checkRoleLimits(client: pg.Client): Promise<Finding[]> {
  const { rows } = await client.query<{ name: string; settings: string[] }>(
    "select rolname as name, coalesce(rolconfig, '{}') as settings from pg_roles where rolname = any($1)",
    [Object.values(roles)],
  );
  return (Object.keys(roles) as (keyof typeof roles)[]).flatMap((role) => {
    const found = rows.find(({ name }) => name === roles[role]);
    const missing = Object.entries(roleLimits[role]).filter(
      ([setting, value]) => found && !found.settings.includes(`${setting}=${value}`),
    );
    return missing.map(([setting, value]) =>
      warning(`The role ${roles[role]} does not have ${setting} = ${value}.`, recreateRoles),
    );
  });
}

async function checkArchiver(client: pg.Client): Promise<Finding[]> {
  const archiver = await readArchiver(client);
  if (!archiver)
    return [
      warning(
        "WAL archiving is off. A restore loses everything since the last full backup.",
        "Set up pgBackRest. See deploy/pgbackrest.",
      ),
    ];
  const { failedAtSeconds, archivedAtSeconds } = archiver;
  return findingsOf(
    failedAtSeconds !== undefined &&
      failedAtSeconds > archivedAtSeconds &&
      error(
        `WAL archiving has failed since ${new Date(archivedAtSeconds * 1_000).toISOString()}. The disk fills up, and backups are incomplete.`,
        "See docs/runbooks/archiving-fails.md.",
      ),
  );
}

async function checkSecrets(client: pg.Client, config: DoctorConfig): Promise<Finding[]> {
  const secrets = createSecrets(config.secrets);
  const unlisted = await findUnlistedSecret(client, secrets);
  const others = (await countDataKeys(client)).filter(({ secretId }) => secretId !== secrets.writer.id);
  const counted = others.reduce((sum, { keys }) => sum + keys, 0);
  const peppers = await client.query<{ version: number; keys: number }>(
    `select pepper_version as version, count(*)::integer as keys from pb.keys
     where revoked_at is null and (expires_at is null or expires_at > clock_timestamp())
     group by pepper_version order by pepper_version`,
  );
  const [first] = config.keyPeppers;
  return findingsOf(
    unlisted !== undefined && error(unlisted, "Servers and workers do not start without it."),
    unlisted === undefined &&
      counted > 0 &&
      warning(
        `${counted} data keys are not encrypted under the first secret of PENNYBLACK_SECRET.`,
        "Run: npm run admin -- secret reseal. See docs/runbooks/rotate-secret.md.",
      ),
    ...peppers.rows.map(({ version, keys }) => {
      const count = `${keys} active ${keys === 1 ? "key" : "keys"}`;
      if (!config.keyPeppers.some((pepper) => pepper.version === version))
        return error(
          `PENNYBLACK_KEY_PEPPERS does not list version ${version}. ${count} cannot be used.`,
          "Add that version. See docs/runbooks/key-peppers.md.",
        );
      return (
        version !== first?.version &&
        warning(
          `${count} use pepper ${version}, which is not the first in PENNYBLACK_KEY_PEPPERS.`,
          "Have their owners rotate them before you remove it. See docs/runbooks/key-peppers.md.",
        )
      );
    }),
  );
}

async function checkWorker(client: pg.Client): Promise<Finding[]> {
  const { worker, partitionDays } = await readHealth(client);
  const { seenAt, crashes, lateTasks } = worker;
  return findingsOf(
    (seenAt === undefined || Date.now() - seenAt.getTime() > maxReportAgeMs) &&
      error(
        `No worker is running: ${seenAt ? `the last report was at ${seenAt.toISOString()}` : "none has ever run"}. Abandoned holds do not expire.`,
        "Start one with: npm run worker. If it does not stay up, its log has the reason.",
      ),
    crashes > 0 &&
      error(
        `Workers crashed ${crashes} times in the last ten minutes.`,
        "Read the log of the worker. See docs/runbooks/worker-not-seen.md.",
      ),
    lateTasks.length > 0 &&
      error(
        `Tasks of the worker have not succeeded in time: ${lateTasks.join(", ")}.`,
        "Read the log of the worker. See docs/runbooks/task-fails.md.",
      ),
    partitionDays < minPartitionDays &&
      error(
        `Partitions exist for ${partitionDays} more days. Searches fail on a day without one.`,
        "Start a worker, or run: npm run migrate",
      ),
  );
}
