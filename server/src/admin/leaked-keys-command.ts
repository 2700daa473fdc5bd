import { readFileSync } from "node:fs";
import { listMembers } from "../accounts/accounts.ts";
import type { Pool } from "../db/pool.ts";
import { findKeys, type LeakedKey, revokeLeakedKeys } from "../keys/keys.ts";
import { formatTable } from "../lib/format-table.ts";
import { revokeAnyKey } from "../operator/operator.ts";
import { findWalletAccount } from "../wallet/wallet.ts";
import { type Command, type CommandContext, CommandFailed } from "./command.ts";
import { readOptionalText } from "./read-values.ts";

export const leakedKeysCommands: Record<string, Command> = {
  leaked: {
    role: "operator",
    changes: true,
    summary: "Revoke every Pennyblack key found in a file or on stdin, and list the owners to notify.",
    options: ["--file <file>", "--json"],
    run: revokeLeaked,
  },
};

async function revokeLeaked(context: CommandContext): Promise<void> {
  const { values, pool, peppers, print, act } = context;
  const file = readOptionalText(values, "file");
  const keys = findKeys(file === undefined ? await context.readInput() : readList(file));
  if (keys.length === 0)
    throw new CommandFailed("No keys found. Only keys with a valid prefix and checksum are recognized.");
  // The revocation triggers a webhook. The operator should also write to the owners.
  const owners = new Map<string, string[]>();
  const results = await revokeLeakedKeys(pool, keys, {
    peppers: peppers(),
    revoke: async (keyId) => (await revokeAnyKey(pool, act, keyId, "leaked")) === "revoked",
    notify: async ({ keyId, walletId }) => void owners.set(keyId, await findOwners(pool, walletId)),
  });
  const ownersOf = (result: LeakedKey): string[] => owners.get(result.keyId ?? "") ?? [];
  if (values["json"]) {
    return print(JSON.stringify(results.map((result) => ({ ...result, owners: ownersOf(result) }))));
  }
  const rows = results.map((result) => [
    `${result.start}...`,
    result.outcome.replaceAll("_", " "),
    result.keyId ?? "",
    result.walletId ?? "",
    ownersOf(result).join(", "),
  ]);
  print(formatTable(rows, ["prefix", "outcome", "key", "wallet", "notify"]));
  print(`\nRevoked ${owners.size} of ${keys.length} keys.`);
}

function readList(file: string): string {
  try {
    return readFileSync(file, "utf8");
  } catch {
    throw new CommandFailed(`Cannot read ${file}.`);
  }
}

async function findOwners(pool: Pool, walletId: string): Promise<string[]> {
  const accountId = await findWalletAccount(pool, walletId);
  const members = accountId ? await listMembers(pool, accountId) : [];
  return members.filter(({ role }) => role === "owner").map(({ email }) => email);
}
