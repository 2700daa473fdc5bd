import { readFile } from "node:fs/promises";
import { formatUsd } from "../lib/money.ts";
import type { Jwks, Signer } from "../lib/sign-jws.ts";
import {
  amountOf,
  bookTransfer,
  readTransferDocument,
  signTransfer,
  type TransferDocument,
  type TransferOutcome,
} from "../wallet/wallet.ts";
import { describeApproval } from "./accounting-commands.ts";
import { type Command, type CommandContext, CommandFailed, UsageError, type Values } from "./command.ts";
import { readId, readOptionalAmount, readText } from "./read-values.ts";

export const transferCommands: Record<string, Command> = {
  out: {
    role: "operator",
    changes: true,
    summary:
      "Transfer a balance to another cell, and print the signed document for `transfer in`. Repeatable. " +
      "After a restore, --document books a transfer again.",
    required: ["--reason <text>"],
    options: [
      "--wallet <id>",
      "--to <cell>",
      "--to-wallet <id>",
      "--reference <id>",
      "--amount <usd>",
      "--document <file>",
    ],
    run: transferOut,
  },
  in: {
    role: "operator",
    changes: true,
    summary: "Book a transfer from another cell. The key set is its /.well-known/jwks.json. Repeatable.",
    required: ["--document <file>", "--jwks <file>", "--reason <text>"],
    run: transferIn,
  },
};

async function transferOut(context: CommandContext): Promise<void> {
  const { values, pool, print, act } = context;
  const signer = context.signer();
  if (!signer) throw new CommandFailed("Set PENNYBLACK_SIGNING_KEYS, with which the document is signed.");
  readText(values, "reason");
  const document = values["document"] === undefined ? undefined : await readDocument(values, signer.jwks);
  const transfer = document ? { ...document, amount: amountOf(document) } : await readTransfer(context);
  const { outcome, adjustmentId, amount } = await bookTransfer(pool, {
    ...transfer,
    kind: "transfer_out",
    ...act,
    hasDocument: document !== undefined,
  });
  if (outcome === "requested")
    throw new CommandFailed(
      `Requested ${formatUsd(amount ?? 0n)} USD. ${describeApproval(adjustmentId)}\nThen repeat this command.`,
    );
  if (outcome !== "booked" && outcome !== "repeated") throw new CommandFailed(`${faults[outcome]} Nothing was booked.`);
  print(await sign(signer, { ...transfer, amount: formatUsd(amount ?? 0n) }));
}

async function transferIn({ values, pool, print, act }: CommandContext): Promise<void> {
  readText(values, "reason");
  const jwks = JSON.parse(await readFile(readText(values, "jwks"), "utf8")) as Jwks;
  if (!Array.isArray(jwks.keys)) throw new UsageError("--jwks must be a key set, such as /.well-known/jwks.json.");
  const document = await readDocument(values, jwks);
  const { outcome, amount } = await bookTransfer(pool, {
    ...document,
    amount: amountOf(document),
    kind: "transfer_in",
    ...act,
    hasDocument: true,
  });
  if (outcome !== "booked" && outcome !== "repeated") throw new CommandFailed(`${faults[outcome]} Nothing was booked.`);
  const what = `${formatUsd(amount ?? 0n)} USD from ${document.source}, reference ${document.reference}`;
  print(outcome === "booked" ? `Booked ${what}.` : `Already booked ${what}. Nothing changed.`);
}

const faults: Record<Exclude<TransferOutcome, "booked" | "repeated">, string> = {
  requested: "The transfer is waiting for approval.",
  conflicting: "This reference was already used with a different wallet, amount or target.",
  other_cell: "The transfer names another cell than the one of this database.",
  unknown_wallet: "No wallet of an account in this cell has this id.",
  wallet_suspended: "The wallet is suspended.",
  wallet_owes: "The wallet owes money.",
  insufficient_balance: "The available balance of the wallet is too low.",
};

async function readTransfer({ values, pool }: CommandContext) {
  const reference = readText(values, "reference");
  if (!/^[A-Za-z0-9._-]{1,100}$/.test(reference))
    throw new UsageError("--reference must have 1 to 100 letters, digits, dots, hyphens or underscores.");
  const target = readText(values, "to");
  if (!/^[a-z0-9]{3}$/.test(target)) throw new UsageError("--to must be the name of a cell, such as us2.");
  const { rows } = await pool.query<{ name: string }>("select name from pb.cell");
  const source = rows[0]?.name;
  if (source === undefined) throw new CommandFailed("The database belongs to no named cell. Set PENNYBLACK_CELL.");
  if (source === target) throw new UsageError("--to must be another cell.");
  return {
    source,
    reference,
    sourceWallet: readId(values, "wallet"),
    target,
    targetWallet: readId(values, "to-wallet"),
    amount: readOptionalAmount(values, "amount"),
  };
}

async function readDocument(values: Values, jwks: Jwks): Promise<TransferDocument> {
  const document = await readTransferDocument(await readFile(readText(values, "document"), "utf8"), jwks);
  if (!document)
    throw new CommandFailed("The document was changed, or was signed with another key. Nothing was booked.");
  return document;
}

function sign(signer: Signer, { source, reference, sourceWallet, target, targetWallet, amount }: TransferDocument) {
  return signTransfer(signer, { source, reference, sourceWallet, target, targetWallet, amount });
}
