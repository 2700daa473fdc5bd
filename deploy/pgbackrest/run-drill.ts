import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { chmodSync, chownSync, existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { text as readText } from "node:stream/consumers";
import { setTimeout as wait } from "node:timers/promises";
import { createPool, type Pool } from "../../server/src/db/pool.ts";
import { roles } from "../../server/src/db/roles.ts";
import { findAccount } from "../../server/src/dev/postgres-programs.ts";
import { formatReport, reconcile } from "../../server/src/wallet/upkeep/reconcile.ts";
import { reconcileHours } from "../../server/src/wallet/upkeep/reconcile-hours.ts";

export interface DrillOptions {
  stanza: string;
  /** Must not exist. */
  folder: string;
  config: string | undefined;
  programs: string | undefined;
  database: string;
  check: "full" | "hourly";
}

export interface DrillResult {
  backup: string;
  backupAt: string;
  /** The verified database, after recovery. */
  databaseBytes: number;
  /** All files of the backup in the repository, including those of the backups it depends on. */
  backupBytes: number;
  /** Commit time of the last transaction that recovery replayed, or the end of the backup if it replayed none. */
  lastCommitAt: string;
  /** When recovery reached the end of the archived WAL. */
  archiveEndAt: string;
  /**
   * From lastCommitAt to archiveEndAt: the charges of this time would be missing if the primary had been lost at
   * archiveEndAt. It includes time in which nothing was committed, so it is an upper bound.
   */
  rpoSeconds: number;
  restoreSeconds: number;
  /** From the start of PostgreSQL until it assigns a transaction id. */
  recoverySeconds: number;
  verifySeconds: number;
  /** All three. */
  rtoSeconds: number;
  check: "full" | "hourly";
  checks: number;
  compared: number;
}

export interface DrillCallbacks {
  signal: AbortSignal;
  onProgress: (text: string) => void;
}

const progressIntervalMs = 5_000;
const port = 5432;

/** Throws if the backup cannot be restored or its ledger does not reconcile. The folder is removed in every case. */
export async function runDrill(options: DrillOptions, callbacks: DrillCallbacks): Promise<DrillResult> {
  const folder = resolve(options.folder);
  if (existsSync(folder)) throw new Error(`${folder} exists. Nothing was changed.`);
  const drill = createDrill({ ...options, folder }, callbacks);
  mkdirSync(folder, { mode: 0o700 });
  try {
    // PostgreSQL and pgBackRest run under this account, even if root starts the drill.
    if (drill.account) chownSync(folder, drill.account.uid, drill.account.gid);
    return await runSteps(drill);
  } finally {
    // An interrupted pgBackRest may still be writing.
    rmSync(folder, { recursive: true, force: true, maxRetries: 10 });
    callbacks.onProgress(`removed ${folder}`);
  }
}

interface Drill extends DrillOptions, DrillCallbacks {
  account: ReturnType<typeof findAccount>;
  data: string;
  postgres: ChildProcess | undefined;
}

function createDrill(options: DrillOptions, callbacks: DrillCallbacks): Drill {
  return { ...options, ...callbacks, account: findAccount(), data: join(options.folder, "data"), postgres: undefined };
}

async function runSteps(drill: Drill): Promise<DrillResult> {
  const { onProgress, check } = drill;
  const backup = await findBackup(drill);
  const backupAt = new Date(backup.timestamp.stop * 1_000).toISOString();
  onProgress(`restoring ${backup.label}, ${formatBytes(backup.info.size)}`);
  const { seconds: restoreSeconds } = await timeResult(() => restore(drill));

  onProgress("recovering");
  const pool = openPool(drill);
  try {
    const { result: archiveEnd, seconds: recoverySeconds } = await timeResult(() => recover(drill, pool));
    const { lastCommitAt, databaseBytes } = await inspect(pool);
    onProgress(`recovered ${formatBytes(databaseBytes)}; verifying (${check})`);
    const { result, seconds: verifySeconds } = await timeResult(() =>
      withProgress(drill, "verifying", verify(drill, pool)),
    );
    const lastMs = lastCommitAt?.getTime() ?? backup.timestamp.stop * 1_000;
    return {
      backup: backup.label,
      backupAt,
      databaseBytes,
      backupBytes: backup.info.repository.size,
      lastCommitAt: new Date(lastMs).toISOString(),
      archiveEndAt: archiveEnd.toISOString(),
      rpoSeconds: (archiveEnd.getTime() - lastMs) / 1_000,
      restoreSeconds,
      recoverySeconds,
      verifySeconds,
      rtoSeconds: restoreSeconds + recoverySeconds + verifySeconds,
      check,
      ...result,
    };
  } finally {
    // First, because an interrupted statement would keep the pool open.
    await stop(drill.postgres);
    await pool.end();
  }
}

interface Backup {
  label: string;
  timestamp: { stop: number };
  info: { size: number; repository: { size: number } };
}

/** The backup that a restore selects. */
async function findBackup(drill: Drill): Promise<Backup> {
  const output = await runPgBackRest(drill, ["info", "--output=json"]);
  const [stanza] = JSON.parse(output) as { status: { message: string }; backup: Backup[] }[];
  const last = stanza?.backup.at(-1);
  if (!last) throw new Error(`no backup of ${drill.stanza}: ${stanza?.status.message ?? "unknown stanza"}`);
  return last;
}

async function restore(drill: Drill): Promise<void> {
  let percent = "0%";
  const restoring = runPgBackRest(
    drill,
    [
      "restore",
      `--pg1-path=${drill.data}`,
      `--tablespace-map-all=${join(drill.folder, "tablespaces")}`,
      // The copy must never archive into the repository of the original.
      "--archive-mode=off",
      "--log-level-console=detail",
    ],
    (line) => (percent = /, (\d+(?:\.\d+)?%)\)/.exec(line)?.[1] ?? percent),
  );
  await withProgress(drill, () => `restored ${percent}`, restoring);
}

/** Runs pgBackRest and returns its output. Calls back for every line. */
async function runPgBackRest(drill: Drill, args: string[], onLine?: (line: string) => void): Promise<string> {
  const { stanza, config, account, folder, signal } = drill;
  const all = [`--stanza=${stanza}`, ...(config === undefined ? [] : [`--config=${config}`]), ...args];
  const child = spawn("pgbackrest", all, { ...account, cwd: folder, signal, stdio: ["ignore", "pipe", "pipe"] });
  const ended = once(child, "close") as Promise<[number | null]>;
  child.stdout.on("data", (chunk: Buffer) => {
    for (const line of chunk.toString().split("\n")) onLine?.(line);
  });
  const [stdout, stderr, [code]] = await Promise.all([readText(child.stdout), readText(child.stderr), ended]);
  if (code !== 0) throw new Error(`pgbackrest ${args[0]} failed: ${stderr.trim() || lastLines(stdout)}`);
  return stdout;
}

/**
 * Starts PostgreSQL, waits until it accepts writes, and returns when it reached the end of the archived WAL. None of the
 * original's settings apply: they may listen on the network, wait for a synchronous replica or load libraries. Connections use a socket in the drill's folder, which no other account
 * can open, so they need no password.
 */
async function recover(drill: Drill, pool: Pool): Promise<Date> {
  const { folder, data, account, signal, onProgress } = drill;
  writeOwned(drill, "postgresql.conf", "");
  writeOwned(drill, "pg_hba.conf", "local all all trust\n");
  writeOwned(drill, "pg_ident.conf", "");
  const settings = [
    ...["config", "hba", "ident"].map(
      (name) => `${name}_file=${join(folder, name === "config" ? "postgresql.conf" : `pg_${name}.conf`)}`,
    ),
    `unix_socket_directories=${folder}`,
    "listen_addresses=",
    "archive_mode=off",
    "synchronous_standby_names=",
    "shared_preload_libraries=",
    "ssl=off",
    "logging_collector=off",
    "log_destination=stderr",
    "lc_messages=C",
    // Replicas need the limits of their primary, such as max_connections. Without queries during recovery nothing does.
    "hot_standby=off",
    "shared_buffers=512MB",
    "max_wal_size=4GB",
    // For reconciliation, which joins whole tables over all partitions.
    "work_mem=128MB",
    "jit=off",
  ];
  const args = ["-D", data, "-p", String(port), ...settings.flatMap((setting) => ["-c", setting])];
  const child = spawn(join(findPrograms(drill), "postgres"), args, {
    ...account,
    cwd: folder,
    stdio: ["ignore", "ignore", "pipe"],
  });
  drill.postgres = child;
  let log = "";
  let archiveEnd = new Date();
  child.stderr.on("data", (chunk: Buffer) => {
    log = (log + chunk.toString()).slice(-10_000);
    if (chunk.includes("redo done at")) archiveEnd = new Date();
    for (const [, progress = ""] of chunk.toString().matchAll(/(redo in progress.*)/g)) onProgress(progress);
  });
  const failed = once(child, "exit").then(() => {
    throw new Error(`PostgreSQL did not start on the restored data: ${lastLines(log)}`);
  });
  await Promise.race([failed, waitForWrites(pool, signal)]);
  // From now on it is stopped on purpose.
  failed.catch(() => undefined);
  return archiveEnd;
}

async function waitForWrites(pool: Pool, signal: AbortSignal): Promise<void> {
  for (;;) {
    signal.throwIfAborted();
    try {
      // Fails during recovery.
      await pool.query("select pg_current_xact_id()");
      return;
    } catch {
      await wait(100);
    }
  }
}

async function inspect(pool: Pool): Promise<{ lastCommitAt: Date | null; databaseBytes: number }> {
  const { rows } = await pool.query<{ at: Date | null; bytes: bigint }>(
    "select pg_last_xact_replay_timestamp() as at, pg_database_size(current_database()) as bytes",
  );
  return { lastCommitAt: rows[0]?.at ?? null, databaseBytes: Number(rows[0]?.bytes ?? 0n) };
}

async function verify({ check }: Drill, pool: Pool): Promise<{ checks: number; compared: number }> {
  const report = check === "full" ? await reconcile(pool) : await reconcileHours(pool);
  if (!report) throw new Error("another reconciliation is running");
  if (!report.isClean) throw new Error(`the restored ledger does not reconcile:\n${formatReport(report)}`);
  return {
    checks: report.checks.length,
    compared: report.checks.reduce((sum, { compared }) => sum + compared, 0),
  };
}

function openPool({ folder, database }: Drill): Pool {
  return createPool({
    url: `postgres://${roles.owner}@/${encodeURIComponent(database)}?host=${encodeURIComponent(folder)}&port=${port}`,
    name: "pennyblack restore drill",
    connections: 2,
    statementTimeoutMs: 86_400_000,
    onIdleError: () => undefined,
  });
}

function findPrograms({ programs, data }: Drill): string {
  return programs ?? `/usr/lib/postgresql/${readFileSync(join(data, "PG_VERSION"), "utf8").trim()}/bin`;
}

function writeOwned({ folder, account }: Drill, name: string, content: string): void {
  const path = join(folder, name);
  writeFileSync(path, content, { mode: 0o600 });
  chmodSync(path, 0o600);
  if (account) chownSync(path, account.uid, account.gid);
}

async function stop(postgres: ChildProcess | undefined): Promise<void> {
  if (!postgres || postgres.pid === undefined || postgres.exitCode !== null || postgres.signalCode !== null) return;
  const ended = once(postgres, "exit");
  // An immediate shutdown, because the data is deleted anyway.
  postgres.kill("SIGQUIT");
  await ended;
}

/** Reports progress at intervals until the work is done or the drill is interrupted. */
async function withProgress<Result>(
  { signal, onProgress }: Drill,
  text: string | (() => string),
  work: Promise<Result>,
): Promise<Result> {
  const interrupted = Promise.withResolvers<never>();
  const interrupt = (): void => interrupted.reject(new Error("interrupted"));
  signal.addEventListener("abort", interrupt, { once: true });
  const timer = setInterval(() => onProgress(typeof text === "string" ? text : text()), progressIntervalMs);
  try {
    return await Promise.race([work, interrupted.promise]);
  } finally {
    clearInterval(timer);
    signal.removeEventListener("abort", interrupt);
  }
}

async function timeResult<Result>(work: () => Promise<Result>): Promise<{ result: Result; seconds: number }> {
  const startMs = performance.now();
  const result = await work();
  return { result, seconds: (performance.now() - startMs) / 1_000 };
}

function lastLines(text: string): string {
  return text.trim().split("\n").slice(-5).join("\n");
}

function formatBytes(bytes: number): string {
  return `${(bytes / 1e6).toFixed(1)} MB`;
}
