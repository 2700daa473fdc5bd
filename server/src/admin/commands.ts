import { accountCommands } from "./account-commands.ts";
import { adjustCommands, monthCommands } from "./accounting-commands.ts";
import { auditCommand } from "./audit-command.ts";
import type { Command, StandaloneCommand } from "./command.ts";
import { consoleCommands } from "./console-commands.ts";
import { databaseCommands } from "./database-commands.ts";
import { doctorCommand } from "./doctor/doctor-command.ts";
import { keyCommands } from "./key-commands.ts";
import { leakedKeysCommands } from "./leaked-keys-command.ts";
import { reconcileCommand, refundCommand } from "./ledger-commands.ts";
import { marginCommand } from "./margin-command.ts";
import { creditCommand, paymentCommands } from "./payment-commands.ts";
import { secretCommands } from "./secret-commands.ts";
import { verifyCommand } from "./verify-command.ts";
import { walletCommands } from "./wallet-commands.ts";

/** By noun, and by verb for a noun with several. */
export const commands: Record<string, Command | Record<string, Command>> = {
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
  verify: verifyCommand,
  adjust: adjustCommands,
  month: monthCommands,
  audit: auditCommand,
  margin: marginCommand,
  secret: secretCommands,
};

export const standaloneCommands: Record<string, StandaloneCommand> = { doctor: doctorCommand };

export function isCommand(group: Command | Record<string, Command>): group is Command {
  return typeof group["run"] === "function";
}
