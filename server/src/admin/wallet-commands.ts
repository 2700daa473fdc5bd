import { formatTable } from "../lib/format-table.ts";
import { formatUsd } from "../lib/money.ts";
import { setSuspended } from "../operator/operator.ts";
import { creditManually, readEntries, readWallet } from "../wallet/wallet.ts";
import { describeApproval } from "./accounting-commands.ts";
import { type Command, type CommandContext, CommandFailed, UsageError } from "./command.ts";
import { createAccount } from "./create-account.ts";
import { readId, readOptionalAmount, readText } from "./read-values.ts";

export const walletCommands: Record<string, Command> = {
  create: {
    role: "owner",
    changes: true,
    summary: "Create a wallet with keys and an opening credit.",
    required: ["--name <name>"],
    options: ["--balance <usd>", "--json"],
    run: create,
  },
  "top-up": {
    role: "operator",
    changes: true,
    summary: "Book a payment you received, once per payment id.",
    required: ["--wallet <id>", "--amount <usd>", "--payment <id>"],
    options: ["--json"],
    run: topUp,
  },
  show: {
    role: "tenant",
    summary: "Show the balance and the latest entries.",
    required: ["--wallet <id>"],
    run: show,
  },
  suspend: {
    role: "operator",
    changes: true,
    summary: "Suspend a wallet. Its searches are refused until you resume it.",
    required: ["--wallet <id>"],
    run: (context) => suspend(context, true),
  },
  resume: {
    role: "operator",
    changes: true,
    summary: "Resume a suspended wallet.",
    required: ["--wallet <id>"],
    run: (context) => suspend(context, false),
  },
};

async function create({ values, pool, pepper, print, act }: CommandContext): Promise<void> {
  const name = readText(values, "name");
  const balance = readOptionalAmount(values, "balance") ?? 0n;
  const account = await createAccount(pool, { name, balance, pepper: pepper() }, act);
  if (values["json"]) return print(JSON.stringify(account));
  const { requestedCredit } = account;
  print(`Created wallet "${name}" with a balance of ${formatUsd(requestedCredit === undefined ? balance : 0n)} USD.\n`);
  if (requestedCredit !== undefined)
    print(`Requested ${formatUsd(balance)} USD. ${describeApproval(requestedCredit)}\n`);
  print(
    formatTable([
      ["wallet", account.walletId],
      ["live key", account.liveKey],
      ["management key", account.managementKey],
    ]),
  );
  print("\nThe keys are shown only once. Store them securely.");
}

async function topUp({ values, pool, print, act }: CommandContext): Promise<void> {
  const walletId = readId(values, "wallet");
  const paymentId = readText(values, "payment");
  const amount = readOptionalAmount(values, "amount");
  if (amount === undefined || amount === 0n) throw new UsageError("--amount must be greater than 0, such as 5.00.");
  if (paymentId.startsWith("manual:"))
    throw new UsageError("--payment must not start with manual:. Use npm run admin -- credit for manual credits.");
  if (paymentId.length > 255) throw new UsageError("--payment must have at most 255 characters.");
  const payment = { kind: "payment", reference: paymentId, walletId, amount } as const;
  const { outcome, adjustmentId } = await creditManually(pool, { ...act, ...payment });
  if (outcome === "unknown_wallet") throw new CommandFailed(`No wallet has the id ${walletId}.`);
  if (outcome === "conflicting") {
    throw new CommandFailed(
      `Payment ${paymentId} was already booked with a different wallet or amount. Nothing was booked. Check the payment with your payment processor.`,
    );
  }
  const balance = formatUsd((await readWallet(pool, walletId))?.balance ?? 0n);
  if (values["json"]) {
    return print(
      JSON.stringify({ walletId, paymentId, outcome, balance, ...(outcome === "requested" && { adjustmentId }) }),
    );
  }
  if (outcome === "requested") return print(`Requested ${formatUsd(amount)} USD. ${describeApproval(adjustmentId)}`);
  const result =
    outcome === "credited" ? `Booked ${formatUsd(amount)} USD.` : "This payment was already booked. Nothing changed.";
  print(`${result} The balance is ${balance} USD.`);
}

async function show({ values, pool, print }: CommandContext): Promise<void> {
  const walletId = readId(values, "wallet");
  const found = await readWallet(pool, walletId);
  if (!found) throw new CommandFailed(`No wallet has the id ${walletId}.`);
  print(
    formatTable([
      ["wallet", found.id],
      ["name", found.name],
      ["balance", `${formatUsd(found.balance)} USD`],
      ["held", `${formatUsd(found.held)} USD`],
      ...(found.owed > 0n ? [["owed", `${formatUsd(found.owed)} USD`]] : []),
      ["state", found.isSuspended ? "suspended" : "active"],
    ]),
  );
  const entries = await readEntries(pool, walletId, { limit: 10 });
  if (entries.length === 0) return print("\nNo entries yet.");
  print("\nLatest entries:\n");
  const rows = entries.map((entry) => [
    entry.createdAt.toISOString(),
    entry.kind,
    formatUsd(entry.amount).padStart(12),
    entry.id,
    entry.requestId ?? "",
  ]);
  print(formatTable(rows, ["time", "kind", "USD".padStart(12), "entry", "request"]));
}

async function suspend({ values, pool, print, act }: CommandContext, isSuspended: boolean): Promise<void> {
  const walletId = readId(values, "wallet");
  const found = await setSuspended(pool, act, walletId, isSuspended);
  if (!found) throw new CommandFailed(`No wallet has the id ${walletId}.`);
  print(
    isSuspended
      ? "Suspended. Its searches are refused until you resume it."
      : "Resumed. Its searches are accepted again.",
  );
}
