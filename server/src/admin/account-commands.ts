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
import { formatUsd } from "../lib/money.ts";
import { noteAct } from "../operator/operator.ts";
import { type Command, type CommandContext, CommandFailed, UsageError } from "./command.ts";
import { formatTable } from "./format-table.ts";
import { readId, readOptionalAmount, readOptionalEmail, readOptionalText, readText } from "./read-values.ts";

const text = { type: "string" } as const;
const flag = { type: "boolean" } as const;

export const accountCommands: Record<string, Command> = {
  create: {
    usage: "--name NAME --owner EMAIL [--owner-name NAME] [--balance 5.00] [--trial] [--json]",
    summary: "Make an account with an owner, a wallet and keys, with a trial credit if asked and if there is one left.",
    options: { name: text, owner: text, "owner-name": text, balance: text, trial: flag, json: flag },
    run: create,
  },
  list: {
    usage: "[--email EMAIL]",
    summary: "The newest accounts, or those of one person.",
    options: { email: text },
    run: list,
  },
  members: {
    usage: "--account ID",
    summary: "Who belongs to an account.",
    options: { account: text },
    run: showMembers,
  },
  invite: {
    usage: "--account ID --email EMAIL --role owner|developer|viewer [--json]",
    summary: "Make an invitation; you send its token to that address.",
    options: { account: text, email: text, role: text, json: flag },
    run: makeInvitation,
  },
  delete: {
    usage: "--account ID [--forfeit]",
    summary: "End an account for good: keys revoked, personal data gone, books kept.",
    options: { account: text, forfeit: flag },
    run: remove,
  },
};

const trialLines: Record<TrialOutcome, string> = {
  given: "The trial credit was booked.",
  already_given: "No trial credit: this person has had one.",
  day_is_full: "No trial credit: today's are all given.",
  none: "",
};

async function create({ values, pool, pepper, trialTerms, print }: CommandContext): Promise<void> {
  const accountName = readText(values, "name");
  const email = readEmailOf(values, "owner");
  const personName = readOptionalText(values, "owner-name") ?? "";
  const balance = readOptionalAmount(values, "balance") ?? 0n;
  const trial = values["trial"] ? trialTerms() : undefined;
  if (trial?.amount === 0n) throw new CommandFailed("There are no trials. Set PENNYBLACK_TRIAL_CREDIT, such as 0.50.");
  const made = await signUp(pool, { accountName, email, personName, balance }, { pepper: pepper(), trial });
  if (values["json"]) return print(JSON.stringify(made));
  print(`The account "${accountName}" is ready. ${trialLines[made.trial]}\n`);
  print(
    formatTable([
      ["account", made.accountId],
      ["owner", email],
      ["wallet", made.walletId],
      ["live key", made.liveKey],
      ["management key", made.managementKey],
    ]),
  );
  print("\nThe keys are shown this once. Keep them where your secrets are.");
}

async function list({ values, pool, print }: CommandContext): Promise<void> {
  const most = 100;
  const accounts = await listAccounts(pool, { email: readOptionalEmail(values, "email"), most });
  if (accounts.length === 0) return print("There are none. Make one: npm run admin -- account create --help");
  const rows = accounts.flatMap(showAccount);
  print(formatTable(rows, ["account", "name", "state", "owners", "wallet", "balance, USD"]));
  if (accounts.length === most) print(`\nThese are the newest ${most}. Find others with --email.`);
}

function showAccount({ id, name, deletedAt, owners, wallets }: AccountView): string[][] {
  const start = [id, name || "-", deletedAt ? "deleted" : "active", owners.join(", ") || "nobody"];
  return wallets.map((wallet) => [
    ...start,
    wallet.id + (wallet.isSuspended ? " (suspended)" : ""),
    formatUsd(wallet.balance),
  ]);
}

async function showMembers({ values, pool, print }: CommandContext): Promise<void> {
  const members = await listMembers(pool, readId(values, "account"));
  if (members.length === 0) return print("Nobody, or there is no such account.");
  const rows = members.map(({ email, name, role, joinedAt }) => [email, name || "-", role, joinedAt.toISOString()]);
  print(formatTable(rows, ["e-mail", "name", "role", "joined"]));
}

async function makeInvitation({ values, pool, print }: CommandContext): Promise<void> {
  const accountId = readId(values, "account");
  const email = readEmailOf(values, "email");
  const role = roles.find((each) => each === readText(values, "role")) satisfies Role | undefined;
  if (!role) throw new UsageError(`--role must be one of ${roles.join(", ")}.`);
  const made = await invite(pool, { accountId, email, role });
  if (!made) throw new CommandFailed(`No account has the id ${accountId}, or it was deleted.`);
  if (values["json"]) return print(JSON.stringify(made));
  print(`Invited ${email} as ${role}, until ${made.expiresAt.toISOString()}.\n`);
  print(formatTable([["token", made.token]]));
  print("\nSend the token to that address and nowhere else. It works once and is not shown again.");
}

async function remove({ values, pool, print, operator }: CommandContext): Promise<void> {
  const accountId = readId(values, "account");
  const deletion = await inTransaction(pool, async (db) => {
    const done = await deleteAccount(db, accountId, values["forfeit"] === true);
    const what = { act: "delete_account", target: accountId, outcome: done.outcome };
    if (done.outcome !== "not_found") await noteAct(db, { operator, reason: "none given" }, what);
    return done;
  });
  if (deletion.outcome === "not_found")
    throw new CommandFailed(`No account has the id ${accountId}, or it was deleted.`);
  if (deletion.outcome === "money_left") {
    throw new CommandFailed(
      `It has ${formatUsd(deletion.balance)} USD left. Nothing was deleted. Pay it back first, or add --forfeit.`,
    );
  }
  print("Deleted. Its keys are revoked, its names and addresses are gone, its books are kept.");
}

function readEmailOf(values: CommandContext["values"], name: string): string {
  const email = readOptionalEmail(values, name);
  if (email === undefined) throw new UsageError(`--${name} is missing.`);
  return email;
}
