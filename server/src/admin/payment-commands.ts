import { userInfo } from "node:os";
import { inTransaction } from "../db/in-transaction.ts";
import { formatUsd } from "../lib/money.ts";
import { noteAct } from "../operator/operator.ts";
import { closeNotice, creditByHand, listNotices, readWallet } from "../wallet/wallet.ts";
import { type Command, type CommandContext, CommandFailed, UsageError } from "./command.ts";
import { formatTable } from "./format-table.ts";
import { readId, readOptionalAmount, readText } from "./read-values.ts";

const text = { type: "string" } as const;

export const creditCommand: Command = {
  usage: '--wallet ID --amount 5.00 --kind invoice|promotion --reason "why" --reference INV-17 [--by NAME]',
  summary: "Book an invoice that was paid, or a gift, once per reference.",
  options: { wallet: text, amount: text, kind: text, reason: text, reference: text, by: text },
  run: credit,
};

export const paymentCommands: Record<string, Command> = {
  list: {
    usage: "",
    summary: "What waits for a person: payments that fit no top-up, and the like.",
    options: {},
    run: list,
  },
  close: {
    usage: "--notice ID [--by NAME]",
    summary: "Say that a person has looked at it.",
    options: { notice: text, by: text },
    run: close,
  },
  show: {
    usage: "--payment ID",
    summary: "What the payment's source says of it: the operator's own papers, or Stripe.",
    options: { payment: text },
    run: show,
  },
};

async function credit({ values, pool, print }: CommandContext): Promise<void> {
  const walletId = readId(values, "wallet");
  const amount = readOptionalAmount(values, "amount");
  const kind = readText(values, "kind");
  const [reason, reference] = [readText(values, "reason"), readText(values, "reference")];
  if (amount === undefined || amount === 0n) throw new UsageError("--amount must be more than nothing, such as 5.00.");
  if (kind !== "invoice" && kind !== "promotion") throw new UsageError("--kind must be invoice or promotion.");
  if (reason.length > 500) throw new UsageError("--reason must have at most 500 characters.");
  if (reference.length > 200) throw new UsageError("--reference must have at most 200 characters.");
  const operator = readOperator(values);
  const { outcome } = await creditByHand(pool, { reference, walletId, kind, amount, reason, operator });
  if (outcome === "unknown_wallet") throw new CommandFailed(`No wallet has the id ${walletId}.`);
  if (outcome === "conflicting") {
    throw new CommandFailed(
      `The reference ${reference} was already booked, for another wallet, amount or kind. Nothing was booked now.`,
    );
  }
  const balance = formatUsd((await readWallet(pool, walletId))?.balance ?? 0n);
  const did =
    outcome === "credited"
      ? `Booked ${formatUsd(amount)} USD (${kind} ${reference}, by ${operator}).`
      : "That reference was already booked; nothing changed.";
  print(`${did} The balance is ${balance} USD.`);
}

async function list({ pool, print }: CommandContext): Promise<void> {
  const notices = await listNotices(pool);
  if (notices.length === 0) return print("Nothing waits for a person.");
  const rows = notices.map((notice) => [
    notice.id,
    notice.foundAt.toISOString(),
    notice.reason,
    notice.subject,
    notice.walletId ?? "",
    notice.amount === null ? "" : formatUsd(notice.amount),
  ]);
  print(formatTable(rows, ["notice", "found", "reason", "about", "wallet", "USD"]));
}

async function close({ values, pool, print }: CommandContext): Promise<void> {
  const id = readId(values, "notice");
  const operator = readOperator(values);
  const closed = await inTransaction(pool, async (db) => {
    const done = await closeNotice(db, id, operator);
    const what = { act: "close_notice", target: id, outcome: "done" };
    if (done) await noteAct(db, { operator, reason: "a person has looked at it" }, what);
    return done;
  });
  if (!closed) throw new CommandFailed(`No open notice has the id ${id}.`);
  print("Closed. If its cause is still there, the next comparison opens a new one.");
}

async function show({ values, paymentSources, print }: CommandContext): Promise<void> {
  const paymentId = readText(values, "payment");
  for (const source of paymentSources()) {
    const found = await source.readPayment(paymentId);
    if (!found) continue;
    return print(
      formatTable([
        ["source", source.name],
        ["payment", found.id],
        ["status", found.status],
        ["amount", found.amount === undefined ? "in another currency" : `${formatUsd(found.amount)} USD`],
        ["wallet", found.walletId],
      ]),
    );
  }
  throw new CommandFailed(`No source of payments knows ${paymentId}.`);
}

/** Who is asking: named, or the account they are logged in with. */
function readOperator(values: CommandContext["values"]): string {
  return values["by"] === undefined ? userInfo().username : readText(values, "by").slice(0, 255);
}
