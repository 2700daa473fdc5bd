import { copyFileSync, mkdirSync, readdirSync } from "node:fs";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { describeMissing } from "../../../../tools/missing-programs.ts";
import { createAccounts, type Fleet, openFleet } from "./fleet.ts";
import { measureEdge } from "./measure-edge.ts";
import { formatPart, type PartResult } from "./part-result.ts";
import { stopCell } from "./stop-cell.ts";
import { transferBalances } from "./transfer-balances.ts";

// `npm run chaos:cells`: three cells and HAProxy on this machine. Exit code 1: a part found violations.

const usage = `npm run chaos:cells [-- options]

Starts three cells, each with its own PostgreSQL, Redis, server and worker, and HAProxy in front of them, and runs each part
of the proof under load.

  --part NAME   only this part; can be repeated: stop, edge, transfers
  --short       fewer accounts and shorter phases, as in CI
  --transfers N number of transfers (200; short: 10)
  --kills N     number of kills during transfers (60; short: 6)
  --logs DIR    keeps the logs of all processes there
  --seed S      selects accounts and faults (1)`;

interface Settings {
  isShort: boolean;
  seed: number;
  transfers: number;
  kills: number;
}

/** Each part creates its own accounts, because it compares all their charges with its journal. */
const parts: Record<string, (fleet: () => Promise<Fleet>, settings: Settings) => Promise<PartResult>> = {
  stop: async (open, { isShort, seed }) => {
    const fleet = await open();
    return stopCell(fleet, {
      accounts: await createAccounts(fleet, isShort ? 30 : 300),
      seed,
      searchesPerSecond: isShort ? 40 : 100,
      phaseMs: isShort ? 4_000 : 30_000,
      maxP99Ratio: isShort ? undefined : 1.2,
      holdLifetimeMs: isShort ? 5_000 : undefined,
    });
  },
  edge: async (open, { isShort }) => {
    const fleet = await open();
    const accounts = await createAccounts(fleet, 30);
    return measureEdge(fleet, { accounts, rounds: isShort ? 3 : 12, searchesPerRound: isShort ? 300 : 1_000 });
  },
  transfers: async (open, { seed, transfers, kills }) => {
    const fleet = await open();
    return transferBalances(fleet, {
      seed,
      transfers,
      kills,
      accounts: await createAccounts(fleet, 12),
      log: (line) => console.error(line),
    });
  },
};

const programs = { haproxy: "haproxy", hledger: "hledger", "redis-server": "redis-server" };

// Exit handlers stop all processes.
for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"] as const) process.on(signal, () => process.exit(130));
process.exit(await main());

async function main(): Promise<number> {
  const { values } = parseArgs({
    options: {
      part: { type: "string", multiple: true },
      short: { type: "boolean", default: false },
      transfers: { type: "string" },
      kills: { type: "string" },
      logs: { type: "string" },
      seed: { type: "string", default: "1" },
      help: { type: "boolean", default: false },
    },
  });
  const names = values.part ?? Object.keys(parts);
  if (values.help || names.some((name) => !(name in parts))) {
    console.log(usage);
    return values.help ? 0 : 2;
  }
  const missing = describeMissing(programs);
  if (missing !== undefined) {
    console.error(missing);
    return 2;
  }
  const isShort = values.short;
  const settings = {
    isShort,
    seed: Number(values.seed),
    transfers: Number(values.transfers ?? (isShort ? 10 : 200)),
    kills: Number(values.kills ?? (isShort ? 6 : 60)),
  };
  let fleet: Promise<Fleet> | undefined;
  let hasFailed = false;
  try {
    for (const name of names) {
      const result = await parts[name]?.(() => (fleet ??= openFleet()), settings);
      if (!result) continue;
      console.log(formatPart(result));
      hasFailed ||= result.violations.length > 0;
    }
  } finally {
    const opened = await fleet;
    if (opened && values.logs !== undefined) copyLogs(opened.folder, values.logs);
    await opened?.close();
  }
  return hasFailed ? 1 : 0;
}

function copyLogs(from: string, to: string): void {
  mkdirSync(to, { recursive: true });
  for (const file of readdirSync(from)) if (file.endsWith(".log")) copyFileSync(join(from, file), join(to, file));
}
