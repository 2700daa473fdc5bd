import { formatTable } from "../lib/format-table.ts";
import { formatUsd, type Micros } from "../lib/money.ts";
import {
  type AdjustmentOutcome,
  adjustmentKinds,
  closeMonth,
  type DecisionOutcome,
  decideAdjustment,
  listRequestedAdjustments,
  readTrialBalance,
  requestAdjustment,
  writeJournal,
} from "../wallet/wallet.ts";
import { type Command, type CommandContext, CommandFailed, UsageError, type Values } from "./command.ts";
import { readId, readOptionalAmount, readText } from "./read-values.ts";

export const adjustCommands: Record<string, Command> = {
  request: {
    role: "operator",
    changes: true,
    summary: "Correct a transfer, pay out or forfeit a balance, write off a debt, or book a processor fee.",
    required: [`--kind <${adjustmentKinds.join("|")}>`, "--reference <id>", "--reason <text>"],
    options: ["--wallet <id>", "--amount <usd>"],
    run: request,
  },
  approve: {
    role: "operator",
    changes: true,
    summary: "Approve an adjustment that another operator requested.",
    required: ["--adjustment <id>"],
    run: (context) => decide(context, true),
  },
  reject: {
    role: "operator",
    changes: true,
    summary: "Reject a requested adjustment, or withdraw your own.",
    required: ["--adjustment <id>"],
    run: (context) => decide(context, false),
  },
  list: {
    role: "operator",
    summary: "List adjustments that are waiting for approval.",
    run: list,
  },
};

export const monthCommands: Record<string, Command> = {
  close: {
    role: "operator",
    changes: true,
    summary: "Close the books of a month and save its trial balance.",
    required: ["--month <month>"],
    run: close,
  },
  "trial-balance": {
    role: "operator",
    summary: "Show debits, credits and balance of every account at the end of a month.",
    required: ["--month <month>"],
    options: ["--json"],
    run: showTrialBalance,
  },
  journal: {
    role: "operator",
    summary: "Print the journal of a month for accounting software.",
    required: ["--month <month>", "--format <csv|hledger>"],
    run: printJournal,
  },
};

async function request({ values, pool, print, act }: CommandContext): Promise<void> {
  const kind = adjustmentKinds.find((each) => each === readText(values, "kind"));
  if (!kind) throw new UsageError(`--kind must be one of ${adjustmentKinds.join(", ")}.`);
  readText(values, "reason");
  const amount = readAmount(values, kind);
  const isOwnReference = kind !== "correction" && kind !== "fee";
  const adjusted = await requestAdjustment(pool, {
    ...act,
    kind,
    reference: kind === "correction" ? readId(values, "reference") : readText(values, "reference").slice(0, 255),
    walletId: isOwnReference || values["wallet"] !== undefined ? readId(values, "wallet") : undefined,
    amount,
  });
  const usd = `${formatUsd(adjusted.amount ?? 0n)} USD`;
  if (adjusted.outcome === "booked") return print(`Booked ${usd} (${kind}).`);
  if (adjusted.outcome === "repeated") return print("This reference was already booked. Nothing changed.");
  if (adjusted.outcome === "requested") {
    return print(`Requested ${usd} (${kind}). ${describeApproval(adjusted.id)}`);
  }
  throw new CommandFailed(`${faults[adjusted.outcome]} Nothing was booked.`);
}

/** The next step after a request. */
export function describeApproval(adjustmentId: string | null): string {
  return `A second operator must approve it: npm run admin -- adjust approve --adjustment ${adjustmentId}`;
}

/** A correction reverses the whole transfer, so it has no amount. */
function readAmount(values: Values, kind: string): Micros | undefined {
  const amount = readOptionalAmount(values, "amount");
  if (kind === "correction") {
    if (amount !== undefined)
      throw new UsageError("--amount is not allowed: a correction reverses the whole transfer.");
    return undefined;
  }
  if (amount === undefined || amount === 0n) throw new UsageError("--amount must be greater than 0, such as 5.00.");
  return amount;
}

const faults: Record<
  Exclude<AdjustmentOutcome | DecisionOutcome, "booked" | "requested" | "repeated" | "rejected">,
  string
> = {
  conflicting: "This reference was already used with a different wallet or amount.",
  insufficient_balance: "The available balance of the wallet is too low.",
  exceeds_debt: "The wallet owes less than this amount.",
  unknown_wallet: "No wallet has this id.",
  unknown_transfer: "No transfer of this wallet has this id, or it is archived.",
  unknown_payment: "No payment of this wallet has this id.",
  not_correctable:
    "Only credits, top-ups and adjustments can be corrected. Refund a search with npm run admin -- refund.",
  already_credited: "The payment processor has reported this payment, and it was credited.",
  refund_at_processor: "The payment processor has reported this payment. Refund it there.",
  debt_recovered: "A won dispute or a failed refund has recovered this debt.",
  wallet_suspended: "The wallet is suspended.",
  wallet_owes: "The wallet owes money.",
  unknown_adjustment: "No adjustment has this id.",
  own_request: "You requested this adjustment. Another operator must approve it.",
  already_booked: "This adjustment is already booked. To reverse it, request a correction of its transfer.",
  already_rejected: "This adjustment was rejected. Request it again.",
};

async function decide({ values, pool, print, act }: CommandContext, isApproved: boolean): Promise<void> {
  const id = readId(values, "adjustment");
  const outcome = await decideAdjustment(pool, { ...act, id, isApproved });
  if (outcome === "booked") return print("Approved and booked.");
  if (outcome === "rejected") return print("Rejected. Nothing was booked.");
  if (outcome === "repeated") return print("This adjustment was already decided. Nothing changed.");
  throw new CommandFailed(`${faults[outcome]} Nothing changed.`);
}

async function list({ pool, print }: CommandContext): Promise<void> {
  const requested = await listRequestedAdjustments(pool);
  if (requested.length === 0) return print("No adjustment is waiting for approval.");
  const rows = requested.map(({ id, requestedAt, kind, reference, walletId, amount, operator, reason }) => [
    id,
    requestedAt.toISOString(),
    kind,
    reference,
    walletId,
    formatUsd(amount),
    operator,
    reason,
  ]);
  print(formatTable(rows, ["adjustment", "requested", "kind", "reference", "wallet", "USD", "operator", "reason"]));
}

async function close({ values, pool, print, act }: CommandContext): Promise<void> {
  const month = readMonth(values);
  const outcome = await closeMonth(pool, { ...act, month });
  const failures = {
    not_over: `A month can be closed one hour after its end (UTC).`,
    out_of_order: `Close the month before ${month} first.`,
    not_reconciled:
      "The last reconciliation after the end of the month is missing or not clean. Wait for the worker's next reconciliation, and see npm run admin -- reconcile.",
  };
  if (outcome === "closed") return print(`Closed ${month}.`);
  if (outcome === "repeated") return print(`${month} was already closed. Nothing changed.`);
  throw new CommandFailed(`${failures[outcome]} Nothing changed.`);
}

async function showTrialBalance({ values, pool, print }: CommandContext): Promise<void> {
  const { month, closedAt, accounts } = await readTrialBalance(pool, readMonth(values));
  const lines = accounts.map(({ debit, credit, ...account }) => ({
    ...account,
    debit: formatUsd(debit),
    credit: formatUsd(credit),
    balance: formatUsd(debit - credit),
  }));
  if (values["json"]) return print(JSON.stringify({ month, closedAt, accounts: lines }));
  const total = (side: "debit" | "credit"): string => formatUsd(accounts.reduce((sum, each) => sum + each[side], 0n));
  const rows = [
    ...lines.map(({ code, account, type, debit, credit, balance }) => [
      String(code),
      account,
      type,
      ...[debit, credit, balance].map((amount) => amount.padStart(16)),
    ]),
    ["", "Total", "", total("debit").padStart(16), total("credit").padStart(16), ""],
  ];
  print(
    `Trial balance at the end of ${month} (UTC), ${closedAt ? `closed ${closedAt.toISOString()}` : "not closed"}.\n`,
  );
  print(
    formatTable(rows, ["code", "account", "type", ...["debits", "credits", "balance"].map((it) => it.padStart(16))]),
  );
}

async function printJournal({ values, pool, write }: CommandContext): Promise<void> {
  const month = readMonth(values);
  const format = readText(values, "format");
  if (format !== "csv" && format !== "hledger") throw new UsageError("--format must be csv or hledger.");
  for await (const part of writeJournal(pool, month, format)) await write(part);
}

function readMonth(values: Values): string {
  const month = readText(values, "month");
  if (!/^20\d\d-(?:0[1-9]|1[0-2])$/.test(month)) throw new UsageError("--month must be a month such as 2026-10.");
  return month;
}
