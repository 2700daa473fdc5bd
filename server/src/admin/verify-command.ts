import { readFile } from "node:fs/promises";
import { inTransaction } from "../db/in-transaction.ts";
import { type Difference, readRoots, readSignedRoots, verifyLedger } from "../evidence/evidence.ts";
import type { Jwks } from "../lib/sign-jws.ts";
import { type Command, type CommandContext, CommandFailed, UsageError } from "./command.ts";
import { readText } from "./read-values.ts";

export const verifyCommand: Command = {
  role: "worker",
  summary: "Check all closed hours against exported, signed roots. Exits with 1 if they differ.",
  required: ["--roots <folder>"],
  options: ["--jwks <file>"],
  run: verify,
};

const maxPrinted = 1_000;

async function verify(context: CommandContext): Promise<void> {
  const { values, pool, print } = context;
  const roots = await readSignedRoots(readRoots(readText(values, "roots")), await readKeys(context));
  if (roots.hours.size === 0 && roots.faults.length === 0) throw new CommandFailed("The folder contains no roots.");
  let printed = 0;
  const result = await verifyLedger({
    inTransaction: (work) => inTransaction(pool, work, "begin isolation level repeatable read read only"),
    roots,
    onDifference(difference) {
      printed += 1;
      if (printed <= maxPrinted) print(formatDifference(difference));
    },
  });
  const { hours, entries, differences, entriesSince } = result;
  if (printed > maxPrinted) print(`${printed - maxPrinted} more differences are not shown.`);
  print(`${hours} closed hours, ${roots.hours.size} signed roots, ${entries} entries recomputed.`);
  // Nothing is archived if it is at the beginning of time.
  if (entriesSince > new Date(2 * 86_400_000))
    print(`Entries before ${entriesSince.toISOString()} may be archived. These hours are checked by their digests.`);
  if (differences > 0) {
    throw new CommandFailed(
      `${differences} differences. The ledger was changed after it was signed, or the roots belong to another ledger. Do not change the database, and compare it with a backup.`,
    );
  }
  print("No differences.");
}

/** Keys from a file do not depend on the settings of this machine. */
async function readKeys({ values, signer }: CommandContext): Promise<Jwks> {
  const { jwks: file } = values;
  const keys = typeof file === "string" ? (JSON.parse(await readFile(file, "utf8")) as Partial<Jwks>) : signer()?.jwks;
  if (!Array.isArray(keys?.keys)) throw new UsageError("Set PENNYBLACK_SIGNING_KEYS, or pass a key set with --jwks.");
  return { keys: keys.keys };
}

function formatDifference({ what, of, walletId, detail }: Difference): string {
  return [what, of, walletId && `wallet ${walletId}:`, detail].filter(Boolean).join(" ");
}
