import {
  type AccountView,
  deleteAccount,
  invite,
  listAccounts,
  listMembers,
  type Role,
  roles,
  signUp,
  type TrialOutcome,
} from "../accounts/accounts.ts";
import { inTransaction } from "../db/in-transaction.ts";
import { recordAct } from "../db/record-act.ts";
import { formatTable } from "../lib/format-table.ts";
import { formatUsd } from "../lib/money.ts";
import { readTrialTerms } from "../wallet/wallet.ts";
import { describeApproval } from "./accounting-commands.ts";
import { type Command, type CommandContext, CommandFailed, UsageError } from "./command.ts";
import { readId, readOptionalAmount, readOptionalEmail, readOptionalText, readText } from "./read-values.ts";

export const accountCommands: Record<string, Command> = {
  create: {
    role: "owner",
    changes: true,
    summary: "Create an account with an owner, a wallet and keys. --trial adds the trial credit, if one is available.",
    required: ["--name <name>", "--owner <email>"],
    options: ["--owner-name <name>", "--balance <usd>", "--trial", "--json"],
    run: create,
  },
  list: {
    role: "operator",
    summary: "List the newest accounts, or the accounts of one person.",
    options: ["--email <email>"],
    run: list,
  },
  members: {
    role: "operator",
    summary: "List the members of an account.",
    required: ["--account <id>"],
    run: listAccountMembers,
  },
  invite: {
    role: "owner",
    changes: true,
    summary: "Create an invitation. Send its token to the invited address.",
    required: ["--account <id>", "--email <email>", "--role <owner|developer|viewer>"],
    options: ["--json"],
    run: makeInvitation,
  },
  delete: {
    role: "owner",
    changes: true,
    summary:
      "Delete an account permanently. Revokes its keys, erases personal data and keeps the ledger entries. --forfeit books a remaining balance as forfeited.",
    required: ["--account <id>"],
    options: ["--forfeit"],
    run: remove,
  },
};

const trialLines: Record<TrialOutcome, string> = {
  given: "Trial credit added.",
  already_given: "No trial credit, because this person already had one.",
  day_is_full: "No trial credit, because today's limit is reached.",
  none: "",
};

async function create({ values, pool, pepper, secrets, print, act }: CommandContext): Promise<void> {
  const accountName = readText(values, "name");
  const email = readEmailOf(values, "owner");
  const personName = readOptionalText(values, "owner-name") ?? "";
  const balance = readOptionalAmount(values, "balance") ?? 0n;
  if (values["trial"] && (await readTrialTerms(pool)).amount === 0n)
    throw new CommandFailed(
      "Trial credit is not configured. Set PENNYBLACK_TRIAL_CREDIT, for example to 0.50, and run: npm run migrate",
    );
  const trialSecrets = values["trial"] ? secrets() : undefined;
  const request = { accountName, email, personName, openingCredit: balance, act };
  const created = await signUp(pool, request, { pepper: pepper(), trialSecrets });
  if (values["json"]) return print(JSON.stringify(created));
  print(`Created account "${accountName}". ${trialLines[created.trial]}\n`);
  if (created.requestedCredit !== undefined)
    print(`Requested ${formatUsd(balance)} USD. ${describeApproval(created.requestedCredit)}\n`);
  print(
    formatTable([
      ["account", created.accountId],
      ["owner", email],
      ["wallet", created.walletId],
      ["live key", created.liveKey],
      ["management key", created.managementKey],
    ]),
  );
  print("\nThe keys are shown only once. Store them securely.");
}

async function list({ values, pool, print }: CommandContext): Promise<void> {
  const limit = 100;
  const accounts = await listAccounts(pool, { email: readOptionalEmail(values, "email"), limit });
  if (accounts.length === 0) return print("No accounts found. To create one: npm run admin -- account create --help");
  const rows = accounts.flatMap(toRows);
  print(formatTable(rows, ["account", "name", "state", "owners", "wallet", "balance, USD"]));
  if (accounts.length === limit) print(`\nShowing the newest ${limit} accounts. Use --email to find others.`);
}

function toRows({ id, name, deletedAt, owners, wallets }: AccountView): string[][] {
  const start = [id, name || "-", deletedAt ? "deleted" : "active", owners.join(", ") || "-"];
  return wallets.map((wallet) => [
    ...start,
    wallet.id + (wallet.isSuspended ? " (suspended)" : ""),
    // A deleted account has one only if a dispute was won later, until an operator pays it out.
    deletedAt && wallet.balance === 0n ? "-" : formatUsd(wallet.balance),
  ]);
}

async function listAccountMembers({ values, pool, print }: CommandContext): Promise<void> {
  const members = await listMembers(pool, readId(values, "account"));
  if (members.length === 0) return print("No members, or no account with this id.");
  const rows = members.map(({ email, name, role, joinedAt }) => [email, name || "-", role, joinedAt.toISOString()]);
  print(formatTable(rows, ["email", "name", "role", "joined"]));
}

async function makeInvitation({ values, pool, print, act }: CommandContext): Promise<void> {
  const accountId = readId(values, "account");
  const email = readEmailOf(values, "email");
  const role = roles.find((each) => each === readText(values, "role")) satisfies Role | undefined;
  if (!role) throw new UsageError(`--role must be one of ${roles.join(", ")}.`);
  const invitation = await inTransaction(pool, async (db) => {
    const made = await invite(db, { accountId, email, role });
    if (made) await recordAct(db, act, { act: "invitation.create", subject: made.id, accountId, after: { role } });
    return made;
  });
  if (!invitation) throw new CommandFailed(`No active account has the id ${accountId}.`);
  if (values["json"]) return print(JSON.stringify(invitation));
  print(`Invited ${email} as ${role}. The invitation expires at ${invitation.expiresAt.toISOString()}.\n`);
  print(formatTable([["token", invitation.token]]));
  print("\nSend the token only to that address. It works once and is not shown again.");
}

async function remove({ values, pool, print, act }: CommandContext): Promise<void> {
  const accountId = readId(values, "account");
  const deletion = await deleteAccount(pool, act, accountId, values["forfeit"] === true);
  if (deletion.outcome === "not_found") throw new CommandFailed(`No active account has the id ${accountId}.`);
  if (deletion.outcome === "money_left")
    throw new CommandFailed(
      `The account has ${formatUsd(deletion.balance)} USD left. Nothing was deleted. Pay it out first, or add --forfeit.`,
    );
  if (deletion.outcome === "searches_in_flight")
    throw new CommandFailed(
      `Searches in flight hold ${formatUsd(deletion.balance)} USD. Nothing was deleted. Suspend the wallets, wait a minute, and try again.`,
    );
  if (deletion.outcome === "requested")
    throw new CommandFailed(
      `Forfeiting ${formatUsd(deletion.balance)} USD needs approval. Nothing was deleted. ${describeApproval(deletion.adjustmentId)}\nThen delete the account.`,
    );
  print("Deleted. Its keys are revoked and its personal data is erased. The ledger entries are kept.");
}

function readEmailOf(values: CommandContext["values"], name: string): string {
  const email = readOptionalEmail(values, name);
  if (email === undefined) throw new UsageError(`--${name} is required.`);
  return email;
}
