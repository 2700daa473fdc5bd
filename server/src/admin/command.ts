import { type ParseArgsConfig, parseArgs } from "node:util";
import type { Config } from "../config/config.ts";
import type { Constants } from "../config/constants.ts";
import type { Pool } from "../db/pool.ts";
import type { Act } from "../db/record-act.ts";
import type { CommandRole } from "../db/roles.ts";
import type { Pepper } from "../keys/keys.ts";
import type { Secrets } from "../lib/secrets.ts";
import type { Signer } from "../lib/sign-jws.ts";
import type { PaymentSource } from "../payments/payments.ts";

/** Parsed options. Commander has rejected unknown ones. */
export type Values = Readonly<Record<string, string | boolean | string[] | undefined>>;

/** readConfig with the environment of the command. */
export type ReadSettings = <Name extends keyof Config>(names: readonly Name[]) => Pick<Config, Name> & Constants;

export interface CommandContext {
  values: Values;
  readSettings: ReadSettings;
  /** Its sessions run as the command's role. */
  pool: Pool;
  /** The pepper for new keys. */
  pepper: () => Pepper;
  /** All peppers, including those of older keys. */
  peppers: () => Pepper[];
  /** The secrets that PENNYBLACK_SECRET lists. */
  secrets: () => Secrets;
  /** With PENNYBLACK_SIGNING_KEYS. Undefined if it is not set. */
  signer: () => Signer | undefined;
  /** Manual credits, and the payment processor if one is configured. */
  paymentSources: () => PaymentSource[];
  print: (text: string) => void;
  /** For long output. Resolves when more can be written. */
  write: (text: string) => Promise<void>;
  /** All of standard input. */
  readInput: () => Promise<string>;
  /** For the list of changes: --by or the login name of the current user, and --reason. */
  act: Act;
}

export interface Command {
  /** The database role with the fewest privileges that suffice, which limits the effect of a mistake in the command. */
  role: CommandRole;
  /** The command makes changes and records them in pb.changes. Without this, it can only read. */
  changes?: true;
  summary: string;
  /** Options in commander's notation: "--wallet <id>". */
  required?: readonly string[];
  options?: readonly string[];
  run: (context: CommandContext) => Promise<void>;
}

/** Opens its own connections, so that it also runs with invalid settings. */
export interface StandaloneCommand extends Pick<Command, "summary" | "required" | "options"> {
  runAlone: (context: Pick<CommandContext, "print" | "readSettings">) => Promise<void>;
}

/** Returns the exit code 0. */
export function print(text: string): number {
  process.stdout.write(`${text}\n`);
  return 0;
}

export function printError(text: string, exitCode: number): number {
  process.stderr.write(`${text}\n`);
  return exitCode;
}

/** parseArgs with UsageError for invalid arguments. */
export function parseOptions<Config extends ParseArgsConfig>(config: Config): ReturnType<typeof parseArgs<Config>> {
  try {
    return parseArgs(config);
  } catch (error) {
    if (!(error instanceof TypeError)) throw error;
    throw new UsageError(error.message.split(". ")[0] ?? error.message);
  }
}

/** Invalid arguments: exit code 2. */
export class UsageError extends Error {}

/** The command failed: exit code 1. */
export class CommandFailed extends Error {}
