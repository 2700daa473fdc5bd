import { DatabaseError } from "pg";
import { inTransaction } from "../db/in-transaction.ts";
import type { Queryable } from "../db/pool.ts";
import { recordAct } from "../db/record-act.ts";
import { createKey, findKeyWallet, type KeyMode, readOwnKeys } from "../keys/keys.ts";
import { formatTable } from "../lib/format-table.ts";
import { formatUsd, type Micros } from "../lib/money.ts";
import { revokeAnyKey } from "../operator/operator.ts";
import { createKeyLimits, type KeyBudget, readWallet } from "../wallet/wallet.ts";
import { type Command, type CommandContext, CommandFailed, UsageError } from "./command.ts";
import {
  readId,
  readOptionalAmount,
  readOptionalCount,
  readOptionalFutureTime,
  readText,
  readTexts,
} from "./read-values.ts";

export const keyCommands: Record<string, Command> = {
  create: {
    role: "owner",
    changes: true,
    summary: "Create a key. It is shown only once.",
    required: ["--wallet <id>", "--mode <live|test|mgmt>", "--name <name>"],
    options: [
      "--budget-total <usd>",
      "--budget-day <usd>",
      "--budget-month <usd>",
      "--expires <time>",
      "--allow-ip <network...>",
      "--rate <n>",
      "--in-flight <n>",
      "--json",
    ],
    run: create,
  },
  list: {
    role: "tenant",
    summary: "List the keys of a wallet.",
    required: ["--wallet <id>"],
    run: list,
  },
  revoke: {
    role: "operator",
    changes: true,
    summary: "Revoke a key. It stops working immediately.",
    required: ["--wallet <id>", "--key <id>"],
    run: revoke,
  },
};

async function create({ values, pool, pepper, print, act }: CommandContext): Promise<void> {
  const walletId = readId(values, "wallet");
  const mode = readMode(readText(values, "mode"));
  const name = readText(values, "name");
  const limits = {
    total: readOptionalAmount(values, "budget-total"),
    day: readOptionalAmount(values, "budget-day"),
    month: readOptionalAmount(values, "budget-month"),
  };
  const hasBudget = Object.values(limits).some((limit) => limit !== undefined);
  if (hasBudget && mode === "mgmt") throw new UsageError("A management key cannot have a budget.");
  const expiresAt = readOptionalFutureTime(values, "expires");
  const rate = readOptionalCount(values, "rate");
  const inFlight = readOptionalCount(values, "in-flight");
  const allowedIps = readTexts(values, "allow-ip");

  for (const network of allowedIps) await checkNetwork(pool, network);
  if (!(await readWallet(pool, walletId))) throw new CommandFailed(`No wallet has the id ${walletId}.`);
  const created = await inTransaction(pool, async (db) => {
    const key = await createKey(db, pepper(), {
      walletId,
      mode,
      name,
      ...(expiresAt && { expiresAt }),
      ...(allowedIps.length > 0 && { allowedIps }),
      ...(rate && { searchesPerSecond: rate }),
      ...(inFlight && { searchesInFlight: inFlight }),
      ...(hasBudget && mode !== "mgmt" && { limitsId: await createKeyLimits(db, { walletId, mode }, limits) }),
    });
    const after = await readKeySettings(db, key.id);
    await recordAct(db, act, { act: "key.create", subject: key.id, walletId, after });
    return key;
  });
  if (values["json"]) return print(JSON.stringify({ keyId: created.id, key: created.key }));
  print(`Created key "${name}".\n`);
  print(
    formatTable([
      ["key", created.key],
      ["id", created.id],
    ]),
  );
  print("\nThe key is shown only once. Store it securely.");
}

async function readKeySettings(db: Queryable, keyId: string): Promise<Record<string, unknown>> {
  const { rows } = await db.query<{ settings: Record<string, unknown> }>(
    "select pb.key_settings(k) as settings from pb.keys k where k.id = $1",
    [keyId],
  );
  return rows[0]?.settings ?? {};
}

function readMode(mode: string): KeyMode {
  if (mode === "live" || mode === "test" || mode === "mgmt") return mode;
  throw new UsageError("--mode must be live, test or mgmt.");
}

/** Lets PostgreSQL validate the network, since it stores it as cidr. */
async function checkNetwork(db: Queryable, network: string): Promise<void> {
  try {
    await db.query("select $1::cidr", [network]);
  } catch (error) {
    const isMalformed = error instanceof DatabaseError && error.code === "22P02";
    if (!isMalformed) throw error;
    throw new UsageError(`--allow-ip ${network} must be an IP address or a network such as 192.0.2.0/24.`);
  }
}

async function list({ values, pool, print }: CommandContext): Promise<void> {
  const walletId = readId(values, "wallet");
  if (!(await readWallet(pool, walletId))) throw new CommandFailed(`No wallet has the id ${walletId}.`);
  const keys = await readOwnKeys(pool, walletId, {});
  const rows = keys.map((key) => [
    key.id,
    key.mode,
    key.name,
    `${key.start}...`,
    key.state,
    key.expiresAt?.toISOString() ?? "never",
    describeBudget(key.budget),
  ]);
  if (rows.length === 0) return print("This wallet has no keys. To create one: npm run admin -- key create --help");
  print(formatTable(rows, ["id", "mode", "name", "prefix", "state", "expires", "budget (spent of limit)"]));
}

function describeBudget(budget: KeyBudget | undefined): string {
  if (!budget) return "none";
  const part = (period: string, spent: Micros, limit: Micros | null): string[] =>
    limit === null ? [] : [`${period} ${formatUsd(spent)} of ${formatUsd(limit)}`];
  return [
    ...part("total", budget.totalSpent, budget.totalLimit),
    ...part("day", budget.daySpent, budget.dayLimit),
    ...part("month", budget.monthSpent, budget.monthLimit),
  ].join(", ");
}

async function revoke({ values, pool, print, act }: CommandContext): Promise<void> {
  const walletId = readId(values, "wallet");
  const keyId = readId(values, "key");
  if ((await findKeyWallet(pool, keyId)) !== walletId)
    throw new CommandFailed(`Wallet ${walletId} has no key with the id ${keyId}. See: npm run admin -- key list`);
  const outcome = await revokeAnyKey(pool, act, keyId);
  print(outcome === "revoked" ? "Revoked. The key no longer works." : "The key was already revoked. Nothing changed.");
}
