import { userInfo } from "node:os";
import { parseArgs } from "node:util";
import type { TrialTerms } from "../accounts/accounts.ts";
import { ConfigFaults, readConfig } from "../config.ts";
import { createPool, type Pool } from "../db/pool.ts";
import type { Pepper } from "../keys/keys.ts";
import { createManualSource } from "../payments/manual.ts";
import type { PaymentSource } from "../payments/payments.ts";
import { createStripe } from "../payments/stripe.ts";
import { accountCommands } from "./account-commands.ts";
import { auditCommand } from "./audit-command.ts";
import { type Command, CommandFailed, UsageError } from "./command.ts";
import { consoleCommands } from "./console-commands.ts";
import { databaseCommands } from "./database-commands.ts";
import { explainFailure } from "./explain-failure.ts";
import { keyCommands } from "./key-commands.ts";
import { leakedKeysCommands } from "./leaked-keys-command.ts";
import { reconcileCommand, refundCommand } from "./ledger-commands.ts";
import { marginCommand } from "./margin-command.ts";
import { creditCommand, paymentCommands } from "./payment-commands.ts";
import { walletCommands } from "./wallet-commands.ts";

// npm run admin -- <noun> <verb> [options]. Exit 0: done. 1: it could not be done. 2: it was written wrongly.

const nouns: Record<string, Command | Record<string, Command>> = {
  database: databaseCommands,
  account: accountCommands,
  console: consoleCommands,
  wallet: walletCommands,
  key: keyCommands,
  keys: leakedKeysCommands,
  credit: creditCommand,
  payments: paymentCommands,
  refund: refundCommand,
  reconcile: reconcileCommand,
  audit: auditCommand,
  margin: marginCommand,
};

process.exitCode = await runAdmin(process.argv.slice(2));

async function runAdmin(words: string[]): Promise<number> {
  try {
    const wantsHelp = words.includes("--help") || words.includes("-h");
    const { names, command, rest } = findCommand(words, wantsHelp);
    if (!command || wantsHelp) print(describe(names));
    else await runCommand(command, rest);
    return 0;
  } catch (error) {
    if (error instanceof UsageError) return complain(`${error.message}\nSee: npm run admin -- --help`, 2);
    if (error instanceof CommandFailed) return complain(error.message, 1);
    if (error instanceof ConfigFaults) {
      return complain(`${error.message}\nIs "npm run dev" running? Otherwise set what is missing.`, 1);
    }
    return complain(explainFailure(error), 1);
  }
}

/** As much of "noun verb" as there is; half a name is only good enough for help. */
function findCommand(words: string[], wantsHelp: boolean): { names: string[]; command?: Command; rest: string[] } {
  const firstOption = words.findIndex((word) => word.startsWith("-"));
  const [noun, verb] = firstOption === -1 ? words : words.slice(0, firstOption);
  if (noun === undefined && (wantsHelp || words.length === 0)) return { names: [], rest: [] };
  const group = nouns[noun ?? ""];
  if (!noun || !group) throw new UsageError(`A command begins with one of: ${Object.keys(nouns).join(", ")}.`);
  if (isCommand(group)) return { names: [noun], command: group, rest: words.slice(1) };
  if (verb === undefined && wantsHelp) return { names: [noun], rest: [] };
  const command = group[verb ?? ""];
  if (!verb || !command) throw new UsageError(`"${noun}" is followed by one of: ${Object.keys(group).join(", ")}.`);
  return { names: [noun, verb], command, rest: words.slice(2) };
}

async function runCommand(command: Command, rest: string[]): Promise<void> {
  const values = readOptions(command, rest);
  const { directDatabaseUrl } = readConfig(["directDatabaseUrl"]);
  const pool = createPool({
    url: directDatabaseUrl,
    name: "pennyblack admin",
    connections: 4,
    statementTimeoutMs: 600_000,
    onIdleError: () => {},
  });
  try {
    await command.run({
      values,
      pool,
      pepper: readPepper,
      peppers: readPeppers,
      trialTerms: readTrialTerms,
      paymentSources: () => openPaymentSources(pool),
      print,
      operator: `admin:${userInfo().username}`.slice(0, 64),
    });
  } finally {
    await pool.end();
  }
}

function readOptions(command: Command, rest: string[]): ReturnType<typeof parseArgs>["values"] {
  try {
    return parseArgs({ args: rest, options: command.options, strict: true }).values;
  } catch (error) {
    if (!(error instanceof TypeError)) throw error;
    throw new UsageError(error.message.split(". ")[0] ?? error.message);
  }
}

function readPeppers(): Pepper[] {
  return readConfig(["keyPeppers"]).keyPeppers;
}

function readPepper(): Pepper {
  const [newest] = readPeppers();
  if (!newest) throw new CommandFailed("PENNYBLACK_KEY_PEPPERS is empty.");
  return newest;
}

function readTrialTerms(): TrialTerms {
  const {
    trialCredit: amount,
    trialsPerDay: mostPerDay,
    secret,
  } = readConfig(["trialCredit", "trialsPerDay", "secret"]);
  return { amount, mostPerDay, secret };
}

function openPaymentSources(pool: Pool): PaymentSource[] {
  const { stripeSecretKey: secretKey, stripeUrl: url } = readConfig(["stripeSecretKey", "stripeUrl"]);
  const stripe = secretKey === undefined ? [] : [createStripe({ secretKey, webhookSecrets: [], url })];
  return [createManualSource(pool), ...stripe];
}

function describe(names: string[]): string {
  const lines = Object.entries(nouns).flatMap(([noun, group]) => {
    const commands: [string, Command][] = isCommand(group)
      ? [[noun, group]]
      : Object.entries(group).map(([verb, command]) => [`${noun} ${verb}`, command]);
    return commands
      .filter(([name]) => name === names.join(" ") || name.startsWith(`${names.join(" ")} `) || names.length === 0)
      .flatMap(([name, command]) => [`  ${name} ${command.usage}`.trimEnd(), `      ${command.summary}`]);
  });
  return ["npm run admin -- <command>", "", ...lines].join("\n");
}

function isCommand(group: Command | Record<string, Command>): group is Command {
  return typeof group["run"] === "function";
}

function print(text: string): void {
  process.stdout.write(`${text}\n`);
}

function complain(text: string, exitCode: number): number {
  process.stderr.write(`${text}\n`);
  return exitCode;
}
