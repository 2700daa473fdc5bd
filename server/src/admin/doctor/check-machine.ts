import { execFile } from "node:child_process";
import { access, constants, readFile, statfs } from "node:fs/promises";
import { promisify } from "node:util";
import { Redis } from "ioredis";
import { checkClock } from "./check-clock.ts";
import type { DoctorConfig } from "./check-settings.ts";
import { error, type Finding, findingsOf, warning } from "./finding.ts";

const minFreeBytes = 1_000_000_000;
const minFreeShare = 0.1;
const maxBackupAgeMs = 26 * 3_600_000;

/** Disk space and permissions of the folders that the worker writes to, and open files. */
export async function checkMachine(config: DoctorConfig): Promise<Finding[]> {
  const folders: [variable: string, folder: string | undefined][] = [
    ["PENNYBLACK_ROOTS", config.roots],
    ["PENNYBLACK_ARCHIVE", config.archive],
    ["PENNYBLACK_STATUS_COPY", config.statusFolder],
  ];
  const findings: Finding[] = [];
  for (const [variable, folder] of folders)
    if (folder !== undefined) findings.push(...(await checkFolder(variable, folder)));
  return [...findings, ...(await checkOpenFiles(config))];
}

async function checkFolder(variable: string, folder: string): Promise<Finding[]> {
  try {
    await access(folder, constants.W_OK);
  } catch {
    return [
      error(
        `The folder of ${variable} does not exist or is not writable.`,
        "Create it, owned by the worker's account.",
      ),
    ];
  }
  const { bavail, blocks, bsize } = await statfs(folder);
  const free = bavail * bsize;
  return findingsOf(
    (free < minFreeBytes || bavail / blocks < minFreeShare) &&
      error(
        `The disk of ${variable} has ${Math.floor(free / 1e6)} MB free (${Math.floor((100 * bavail) / blocks)} %).`,
        "Free some space or enlarge the disk.",
      ),
  );
}

/** A request in flight has a connection to its client and one to an upstream. */
async function checkOpenFiles({ maxInFlight }: DoctorConfig): Promise<Finding[]> {
  const limits = await readFile("/proc/self/limits", "utf8").catch(() => "");
  const limit = /^Max open files\s+(\d+)/m.exec(limits)?.[1];
  const needed = 2 * maxInFlight + 200;
  return findingsOf(
    limit !== undefined &&
      Number(limit) < needed &&
      error(
        `${limit} open files are allowed, but ${maxInFlight} requests in flight need ${needed}.`,
        "Raise the limit (LimitNOFILE in systemd).",
      ),
  );
}

export async function checkRedis({ redisUrl }: DoctorConfig): Promise<Finding[]> {
  if (redisUrl === undefined) return [];
  const redis = new Redis(redisUrl, {
    lazyConnect: true,
    connectTimeout: 2_000,
    commandTimeout: 2_000,
    maxRetriesPerRequest: 0,
    retryStrategy: () => null,
  });
  redis.on("error", () => undefined);
  try {
    await redis.connect();
    const sentAt = Date.now();
    const [seconds, micros] = await redis.time();
    const clock = checkClock("Redis", Number(seconds) * 1_000 + Number(micros) / 1_000, sentAt);
    const info = await redis.info();
    const read = (field: string): string => new RegExp(`^${field}:(.*)$`, "m").exec(info)?.[1]?.trim() ?? "";
    return findingsOf(
      Number.parseInt(read("redis_version"), 10) < 7 &&
        error(`Redis ${read("redis_version")} is too old.`, "Upgrade to Redis 7 or Valkey."),
      read("maxmemory") !== "0" &&
        read("maxmemory_policy") !== "noeviction" &&
        warning(
          `Redis evicts keys when its memory is full (maxmemory-policy ${read("maxmemory_policy")}). Evicted limits start from zero.`,
          "Set maxmemory-policy to noeviction.",
        ),
      clock,
    );
  } catch {
    return [error("Redis does not respond, or rejects the login of REDIS_URL.", "Start Redis, or correct the URL.")];
  } finally {
    redis.disconnect();
  }
}

const notConfigured = warning(
  "No backup is configured on this machine, because pgbackrest has no repository here.",
  "Run this command on the machine that has it, or set up backups. See docs/runbooks/restore.md.",
);

/** Reads the repository, which this machine can do only if it is configured here. */
export async function checkBackups(): Promise<Finding[]> {
  let output: string;
  try {
    output = (await promisify(execFile)("pgbackrest", ["info", "--output=json"], { timeout: 30_000 })).stdout;
  } catch {
    return [notConfigured];
  }
  const stanzas = JSON.parse(output) as { name: string; backup: { error: boolean; timestamp: { stop: number } }[] }[];
  if (stanzas.length === 0) return [notConfigured];
  return stanzas.flatMap(({ name, backup }) => {
    const last = Math.max(0, ...backup.filter((one) => !one.error).map(({ timestamp }) => timestamp.stop)) * 1_000;
    return findingsOf(
      Date.now() - last > maxBackupAgeMs &&
        error(
          `The last backup of ${name} ${last === 0 ? "does not exist" : `ended at ${new Date(last).toISOString()}`}.`,
          "See docs/runbooks/backup-too-old.md.",
        ),
    );
  });
}

/** Whether the public URL leads to a Pennyblack server, through its proxies. */
export async function checkPublicUrl({ publicUrl }: DoctorConfig): Promise<Finding[]> {
  const fix = "Check DNS, TLS and the proxy. Its timeout must be longer than 30 seconds.";
  try {
    // oxlint-disable-next-line no-restricted-globals -- the operator's own server, not an upstream.
    const response = await fetch(`${publicUrl}/openapi.json`, { signal: AbortSignal.timeout(5_000) });
    await response.body?.cancel();
    if (!response.ok) return [error(`PENNYBLACK_PUBLIC_URL returns status ${response.status}.`, fix)];
    if (response.headers.has("request-id")) return [];
    return [error("PENNYBLACK_PUBLIC_URL leads to another server.", fix)];
  } catch (failure) {
    const cause = failure instanceof Error ? failure.cause : undefined;
    const code = cause instanceof Error && "code" in cause ? ` (${String(cause.code)})` : "";
    return [error(`PENNYBLACK_PUBLIC_URL does not respond from this machine${code}.`, fix)];
  }
}
