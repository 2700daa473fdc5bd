import { type OutputConfiguration, Command as Program } from "commander";
import { accountCommands } from "./account-commands.ts";
import { adjustCommands, monthCommands } from "./accounting-commands.ts";
import { auditCommand } from "./audit-command.ts";
import type { Command, StandaloneCommand, Values } from "./command.ts";
import { consoleCommands } from "./console-commands.ts";
import { databaseCommands } from "./database-commands.ts";
import { doctorCommand } from "./doctor/doctor-command.ts";
import { changesCommand, findCommand } from "./find-command.ts";
import { incidentCommands } from "./incident-commands.ts";
import { keyCommands } from "./key-commands.ts";
import { leakedKeysCommands } from "./leaked-keys-command.ts";
import { reconcileCommand, refundCommand } from "./ledger-commands.ts";
import { marginCommand } from "./margin-command.ts";
import { creditCommand, paymentCommands } from "./payment-commands.ts";
import { secretCommands } from "./secret-commands.ts";
import { transferCommands } from "./transfer-commands.ts";
import { verifyCommand } from "./verify-command.ts";
import { walletCommands } from "./wallet-commands.ts";

/** By noun, and by verb for a noun with several. */
export const commands: Record<string, Command | Record<string, Command>> = {
  database: databaseCommands,
  account: accountCommands,
  console: consoleCommands,
  find: findCommand,
  wallet: { ...walletCommands, changes: changesCommand },
  key: keyCommands,
  keys: leakedKeysCommands,
  credit: creditCommand,
  payments: paymentCommands,
  refund: refundCommand,
  reconcile: reconcileCommand,
  verify: verifyCommand,
  adjust: adjustCommands,
  transfer: transferCommands,
  incident: incidentCommands,
  month: monthCommands,
  audit: auditCommand,
  margin: marginCommand,
  secret: secretCommands,
};

const standaloneCommands: Record<string, StandaloneCommand> = { doctor: doctorCommand };

export function isCommand(group: Command | Record<string, Command>): group is Command {
  return typeof group["run"] === "function";
}

/** The command line. `run` receives the chosen command. */
export function createProgram(
  run: (command: Command | StandaloneCommand, values: Values) => Promise<void>,
  output: OutputConfiguration = {},
): Program {
  const program = new Program("npm run admin --").configureOutput(output).exitOverride();
  program.showHelpAfterError("See: npm run admin -- --help");
  const add = (parent: Program, name: string, command: Command | StandaloneCommand): void => {
    const added = parent.command(name).description(command.summary);
    for (const flags of command.required ?? []) added.requiredOption(flags, "required");
    for (const flags of command.options ?? []) added.option(flags);
    if ("changes" in command) addActOptions(added);
    added.action(async (values: Record<string, Values[string]>) =>
      run(command, Object.fromEntries(added.options.map((option) => [option.name(), values[option.attributeName()]]))),
    );
  };
  for (const [name, command] of Object.entries(standaloneCommands)) add(program, name, command);
  for (const [noun, group] of Object.entries(commands)) {
    if (isCommand(group)) {
      add(program, noun, group);
      continue;
    }
    const parent = program.command(noun).summary(Object.keys(group).join(", "));
    for (const [verb, command] of Object.entries(group)) add(parent, verb, command);
  }
  return program;
}

function addActOptions(program: Program): void {
  program.option("--by <name>", "the name in the audit log, by default your login name");
  if (program.options.every((option) => option.name() !== "reason"))
    program.option("--reason <text>", "the reason in the audit log");
}
