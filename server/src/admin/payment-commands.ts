import { formatTable } from "../lib/format-table.ts";
import { formatUsd } from "../lib/money.ts";
import { closeNotice, creditManually, listNotices, readWallet } from "../wallet/wallet.ts";
import { describeApproval } from "./accounting-commands.ts";
import { type Command, type CommandContext, CommandFailed, UsageError } from "./command.ts";
import { readId, readOptionalAmount, readText } from "./read-values.ts";

export const creditCommand: Command = {
  role: "operator",
  changes: true,
  summary: "Credit a paid invoice or a promotion, once per reference.",
  required: ["--wallet <id>", "--amount <usd>", "--kind <invoice|promotion>", "--reason <text>", "--reference <id>"],
  run: credit,
};

export const paymentCommands: Record<string, Command> = {
  list: {
    role: "operator",
    summary: "List open notices, such as payments that match no top-up.",
    run: list,
  },
  close: {
    role: "operator",
    changes: true,
    summary: "Close a notice that has been handled.",
    required: ["--notice <id>"],
    run: close,
  },
  show: {
    role: "operator",
    summary: "Show a payment as recorded by its source: manual credits or Stripe.",
    required: ["--payment <id>"],
    run: show,
  },
};

async function credit({ values, pool, print, act }: CommandContext): Promise<void> {
  const walletId = readId(values, "wallet");
  const amount = readOptionalAmount(values, "amount");
  const kind = readText(values, "kind");
  readText(values, "reason");
  const reference = readText(values, "reference");
  if (amount === undefined || amount === 0n) throw new UsageError("--amount must be greater than 0, such as 5.00.");
  if (kind !== "invoice" && kind !== "promotion") throw new UsageError("--kind must be invoice or promotion.");
  if (reference.length > 200) throw new UsageError("--reference must have at most 200 characters.");
  const credited = await creditManually(pool, { ...act, reference, walletId, kind, amount });
  const { outcome, adjustmentId } = credited;
  if (outcome === "unknown_wallet") throw new CommandFailed(`No wallet has the id ${walletId}.`);
  if (outcome === "conflicting") {
    throw new CommandFailed(
      `Reference ${reference} was already booked with a different wallet, amount or kind. Nothing was booked.`,
    );
  }
  if (outcome === "requested")
    return print(`Requested ${formatUsd(amount)} USD (${kind} ${reference}). ${describeApproval(adjustmentId)}`);
  const balance = formatUsd((await readWallet(pool, walletId))?.balance ?? 0n);
  const result =
    outcome === "credited"
      ? `Booked ${formatUsd(amount)} USD (${kind} ${reference}, by ${act.operator}).`
      : "This reference was already booked. Nothing changed.";
  print(`${result} The balance is ${balance} USD.`);
}

async function list({ pool, print }: CommandContext): Promise<void> {
  const notices = await listNotices(pool);
  if (notices.length === 0) return print("No open notices.");
  const rows = notices.map((notice) => [
    notice.id,
    notice.foundAt.toISOString(),
    notice.reason,
    notice.subject,
    notice.walletId ?? "",
    notice.amount === null ? "" : formatUsd(notice.amount),
  ]);
  print(formatTable(rows, ["notice", "found", "reason", "subject", "wallet", "USD"]));
}

async function close({ values, pool, print, act }: CommandContext): Promise<void> {
  const id = readId(values, "notice");
  if (!(await closeNotice(pool, act, id))) throw new CommandFailed(`No open notice has the id ${id}.`);
  print("Closed. If the cause persists, the next payment comparison opens a new notice.");
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
        ["amount", found.amount === undefined ? "not in USD" : `${formatUsd(found.amount)} USD`],
        ["wallet", found.walletId],
      ]),
    );
  }
  throw new CommandFailed(`No payment has the id ${paymentId}.`);
}
