import { execFileSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync, symlinkSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as wait } from "node:timers/promises";
import { migrate } from "../../../src/db/migrate.ts";
import { until } from "../../support/assertions/until.ts";
import { createRandom } from "../random.ts";
import { auditFleet } from "./audit-fleet.ts";
import { type Cell, isReady, standbyHost } from "./cell.ts";
import { createAccounts, type Fleet, openFleet, thisRelease } from "./fleet.ts";
import { countOutcomes, FleetLoad, isSuccess } from "./fleet-load.ts";
import type { PartResult } from "./part-result.ts";

export interface UpgradeOptions {
  accounts: number;
  searchesPerSecond: number;
  /** Before and after the upgrade. */
  phaseMs: number;
  seed: number;
}

const upgraded = "eu1";
/** HAProxy checks servers every second. */
const noticedMs = 3_000;

/** All cells run the previous schema version. One is upgraded to this release under load; the others stay. */
export async function upgradeCell(options: UpgradeOptions): Promise<PartResult> {
  const title = "One cell upgraded";
  const commit = findPreviousRelease();
  if (commit === undefined)
    return { title, lines: ["skipped: a shallow clone has no earlier release"], violations: [] };
  const release = unpack(commit);
  const fleet = await openFleet(release, false);
  try {
    return { title, ...(await upgradeUnderLoad(fleet, commit, options)) };
  } finally {
    await fleet.close();
    rmSync(release, { recursive: true, force: true });
  }
}

async function upgradeUnderLoad(
  fleet: Fleet,
  commit: string,
  options: UpgradeOptions,
): Promise<Omit<PartResult, "title">> {
  const { searchesPerSecond, phaseMs, seed } = options;
  const accounts = await createAccounts(fleet, options.accounts);
  const cell = fleet.cell(upgraded);
  const versionBefore = await readVersion(cell);
  const random = createRandom(seed, "upgrade a cell");
  const load = new FleetLoad({ url: fleet.url, accounts, searchesPerSecond, random });
  await wait(phaseMs);
  const startedAt = performance.now();
  await upgrade(cell);
  const seconds = (performance.now() - startedAt) / 1_000;
  await wait(phaseMs);
  await load.stop();
  const { entries } = load;
  const versions = await Promise.all(fleet.cells.map(readVersion));
  const failed = entries.filter((entry) => !isSuccess(entry));
  const others = failed.filter(({ account }) => account.home !== upgraded);
  return {
    lines: [
      `from commit ${commit.slice(0, 7)}, schema version ${versionBefore}; now ${fleet.cells.map(({ name }, index) => `${name} ${versions[index]}`).join(", ")}`,
      `the upgrade took ${seconds.toFixed(1)} s; ${entries.length} searches, failed in other cells: ${countOutcomes(others)}, in ${upgraded}: ${countOutcomes(failed.filter((entry) => !others.includes(entry)))}`,
    ],
    violations: [
      ...load.violations,
      ...failed.map((entry) => `${entry.account.home}: ${countOutcomes([entry])}`),
      ...fleet.cells
        .filter(({ name }, index) => (versions[index] === versionBefore) === (name === upgraded))
        .map(({ name }) => `${name} does not have the expected schema version`),
      ...(await auditFleet(fleet, entries, { accounts, reconciled: [cell], holdLifetimeMs: undefined })),
    ],
  };
}

/** Schema first, then a new server beside the old one, then the worker. */
async function upgrade(cell: Cell): Promise<void> {
  await migrate(cell.ownerUrl, () => undefined);
  const [oldServer, oldWorker] = [cell.server, cell.worker];
  cell.server = cell.createServer(thisRelease, standbyHost);
  cell.server.process.start();
  await until("the new server is ready", () => isReady(cell.server), 60_000);
  await wait(noticedMs);
  await oldServer.process.stop("SIGTERM");
  await oldWorker.stop("SIGTERM");
  cell.worker = cell.createWorker(thisRelease);
  cell.worker.start();
}

async function readVersion({ owner }: Cell): Promise<number> {
  const { rows } = await owner.query<{ version: number }>("select version from pb.schema_version");
  return Number(rows[0]?.version);
}

/** The latest commit with cells and another schema version, or undefined in a shallow clone. */
function findPreviousRelease(): string | undefined {
  const current = readFileSync(join(thisRelease, "server/sql/VERSION"), "utf8").trim();
  const [since] = list("log", "--diff-filter=A", "--format=%H", "--", "server/migrations/0014_cells.sql");
  if (since === undefined) return undefined;
  const commits = list("log", "--format=%H", `${since}..`, "--", "server/sql/VERSION");
  return commits.find((commit) => list("show", `${commit}:server/sql/VERSION`)[0] !== current);
}

/** The lines that git prints. */
function list(...args: string[]): string[] {
  return execFileSync("git", args, { cwd: thisRelease, encoding: "utf8" }).split("\n").filter(Boolean);
}

/** The committed files, with the packages of the working tree. */
function unpack(commit: string): string {
  const folder = mkdtempSync(join(tmpdir(), "pennyblack-previous-"));
  execFileSync("sh", ["-c", `git archive ${commit} server package.json | tar -x -C "${folder}"`], { cwd: thisRelease });
  symlinkSync(join(thisRelease, "node_modules"), join(folder, "node_modules"));
  return folder;
}
