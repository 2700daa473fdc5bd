import { execFileSync, spawn } from "node:child_process";
import { once } from "node:events";
import { writeFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { text } from "node:stream/consumers";
import { setTimeout as wait } from "node:timers/promises";
import { formatUsd, type Micros, parseUsd } from "../../../src/lib/money.ts";
import { formatReport, reconcile } from "../../../src/wallet/wallet.ts";
import { until } from "../../support/assertions/until.ts";
import { compileCache } from "../../support/services/compile-cache.ts";
import { createRandom, type Random } from "../random.ts";
import { type Cell, isReady } from "./cell.ts";
import { type Fleet, type FleetAccount, fail, initialBalance } from "./fleet.ts";
import type { PartResult } from "./part-result.ts";

// Balances are transferred between cells with `npm run admin -- transfer`, while the command, servers and databases are killed.
// A command that did not succeed is repeated until it does. Afterwards every balance must have arrived once.

export interface TransferOptions {
  accounts: readonly FleetAccount[];
  transfers: number;
  /** Kills of the command, a server or a database. */
  kills: number;
  seed: number;
  log: (line: string) => void;
}

interface Run {
  fleet: Fleet;
  random: Random;
  /** The expected balance of each wallet. */
  balances: Map<string, Micros>;
  counts: { commands: number; commandKills: number; serverKills: number; databaseKills: number; approvals: number };
}

const root = resolve(import.meta.dirname, "../../../..");
const maxAttempts = 30;

export async function transferBalances(fleet: Fleet, options: TransferOptions): Promise<PartResult> {
  const { accounts, transfers, kills } = options;
  const random = createRandom(options.seed, "transfers");
  const initial = parseUsd(initialBalance) ?? 0n;
  const counts = { commands: 0, commandKills: 0, serverKills: 0, databaseKills: 0, approvals: 0 };
  const run: Run = { fleet, random, balances: new Map(accounts.map(({ walletId }) => [walletId, initial])), counts };
  await saveKeySets(fleet);
  for (let index = 0; index < transfers; index += 1) {
    const hasKill = Math.floor(((index + 1) * kills) / transfers) > Math.floor((index * kills) / transfers);
    const from = random.pick(accounts);
    const to = random.pick(accounts.filter(({ home }) => home !== from.home));
    await transfer(run, { from, to, reference: `T-${options.seed}-${index}`, hasKill });
    options.log(`${index + 1} of ${transfers}: ${from.home} to ${to.home}`);
  }
  for (const { server } of fleet.cells) await until("every cell is ready", () => isReady(server), 60_000);
  return {
    title: "Transfers between cells",
    lines: [
      `${transfers} transfers, ${counts.commands} commands started, ${counts.approvals} approved by a second operator`,
      `kills: ${counts.commandKills} of the command, ${counts.serverKills} of a server, ${counts.databaseKills} of a database`,
    ],
    violations: [
      ...(await findWrongBalances(run)),
      ...(await findWrongBooks(fleet)),
      ...(await findDifferences(fleet)),
    ],
  };
}

interface Planned {
  from: FleetAccount;
  to: FleetAccount;
  reference: string;
  hasKill: boolean;
}

async function transfer(run: Run, { from, to, reference, hasKill }: Planned): Promise<void> {
  const { fleet, random, balances, counts } = run;
  const [source, target] = [fleet.cell(from.home), fleet.cell(to.home)];
  // Some are above the limit of a single operator.
  const amount = BigInt(random.isLucky(0.1) ? random.integer(101, 150) : random.integer(1, 20)) * 1_000_000n;
  const by = ["--reason", "test", "--by", `operator-${reference}`];
  const ids = ["--wallet", from.walletId, "--to", to.home, "--to-wallet", to.walletId, "--reference", reference];
  const out = ["transfer", "out", ...ids, "--amount", formatUsd(amount), ...by];
  const killAt = hasKill ? random.pick(["out", "in"]) : "none";
  const document = await runUntilDone(run, source, out, killAt === "out");
  const file = join(fleet.folder, "transfer.jws");
  writeFileSync(file, document);
  const into = ["transfer", "in", "--document", file, "--jwks", keySetOf(fleet, from.home), ...by];
  await runUntilDone(run, target, into, killAt === "in");
  // Both commands can be repeated at any time.
  if (random.isLucky(0.2)) {
    counts.commands += 2;
    await runAdmin(target, into);
    const again = await runAdmin(source, out);
    if (again.output !== document) fail(`repeating the transfer printed another document: ${again.error}`);
  }
  balances.set(from.walletId, (balances.get(from.walletId) ?? 0n) - amount);
  balances.set(to.walletId, (balances.get(to.walletId) ?? 0n) + amount);
}

/** Repeats the command until it succeeds, and returns its output. The first attempt can be killed, or its cell. */
async function runUntilDone(run: Run, cell: Cell, args: readonly string[], hasKill: boolean): Promise<string> {
  const { random, counts } = run;
  const kind = hasKill ? random.pick(["command", "server", "database"]) : undefined;
  let lastError = "";
  for (let attempt = 1; attempt <= maxAttempts; attempt += 1) {
    counts.commands += 1;
    const isFirst = attempt === 1;
    const running = runAdmin(cell, args, isFirst && kind === "command" ? random.integer(300, 1_500) : undefined);
    if (isFirst && kind === "server") {
      counts.serverKills += 1;
      cell.server.process.signal("SIGKILL");
    } else if (isFirst && kind === "database") {
      counts.databaseKills += 1;
      await wait(random.integer(200, 1_000));
      await cell.postgres.killPostmaster();
      await cell.postgres.restart();
    } else if (isFirst && kind === "command") counts.commandKills += 1;
    const { code, output, error } = await running;
    if (code === 0) return output;
    lastError = error;
    const adjustment = /adjust approve --adjustment (\S+)/.exec(error)?.[1];
    if (adjustment !== undefined) {
      counts.approvals += 1;
      await runAdmin(cell, ["adjust", "approve", "--adjustment", adjustment, "--by", "second-operator"]);
    }
  }
  return fail(`the command did not succeed: ${args.join(" ")}: ${lastError}`);
}

interface Ended {
  code: number | null;
  output: string;
  error: string;
}

async function runAdmin({ adminSettings }: Cell, args: readonly string[], killAfterMs?: number): Promise<Ended> {
  const child = spawn(process.execPath, ["server/src/admin/main.ts", ...args], {
    cwd: root,
    env: { ...compileCache, PATH: process.env["PATH"], ...adminSettings },
    stdio: ["ignore", "pipe", "pipe"],
  });
  const killer = killAfterMs === undefined ? undefined : setTimeout(() => child.kill("SIGKILL"), killAfterMs);
  const [output, error] = await Promise.all([text(child.stdout), text(child.stderr), once(child, "close")]);
  clearTimeout(killer);
  return { code: child.exitCode, output: output.trim(), error: error.trim() };
}

async function saveKeySets(fleet: Fleet): Promise<void> {
  for (const { name, server } of fleet.cells)
    writeFileSync(keySetOf(fleet, name), await (await fetch(`${server.url}/.well-known/jwks.json`)).text());
}

function keySetOf({ folder }: Fleet, cell: string): string {
  return join(folder, `${cell}.jwks.json`);
}

async function findWrongBalances({ fleet, balances }: Run): Promise<string[]> {
  const found = new Map<string, Micros>();
  for (const { owner } of fleet.cells) {
    const { rows } = await owner.query<{ id: string; balance: Micros }>(
      "select id, credited_micros - debited_micros as balance from pb.wallets",
    );
    for (const { id, balance } of rows) found.set(id, (found.get(id) ?? 0n) + balance);
  }
  return [...balances]
    .filter(([id, balance]) => found.get(id) !== balance)
    .map(([id, balance]) => `wallet ${id} has ${found.get(id)}, not ${balance}`);
}

/** Each ledger is clean, and the clearing accounts of all cells sum to zero, in hledger too. */
async function findWrongBooks(fleet: Fleet): Promise<string[]> {
  const violations: string[] = [];
  const journals: string[] = [];
  for (const cell of fleet.cells) {
    const report = await reconcile(cell.owner);
    if (!report.isClean) violations.push(`${cell.name} is not clean: ${formatReport(report)}`);
    const month = new Date().toISOString().slice(0, 7);
    const journal = join(fleet.folder, `${cell.name}.journal`);
    writeFileSync(
      journal,
      (await runAdmin(cell, ["month", "journal", "--month", month, "--format", "hledger"])).output,
    );
    journals.push(journal);
  }
  const hledger = (...args: string[]): string =>
    execFileSync("hledger", [...journals.flatMap((file) => ["-f", file]), ...args], { encoding: "utf8" }).trim();
  hledger("check");
  const cleared = hledger("balance", "other.cells", "--format", "%(total)", "--no-total");
  if (cleared !== "" && cleared !== "0") violations.push(`the clearing accounts sum to ${cleared}`);
  return violations;
}

async function findDifferences({ fleetFile }: Fleet): Promise<string[]> {
  const child = spawn(process.execPath, ["server/src/cells/fleet-main.ts", "reconcile", "--fleet", fleetFile], {
    cwd: root,
  });
  const [output] = await Promise.all([text(child.stdout), once(child, "close")]);
  // The worker of a new cell may not have reconciled yet.
  return output.split("\n").filter((line) => /received|sent and|differ$/.test(line) && !/^ *source/.test(line));
}
