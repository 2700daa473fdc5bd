import type { ParseArgsOptionsConfig } from "node:util";
import type { TrialTerms } from "../accounts/accounts.ts";
import type { Pool } from "../db/pool.ts";
import type { Pepper } from "../keys/keys.ts";
import type { PaymentSource } from "../payments/payments.ts";

/** The values a command was given. parseArgs has checked that they are options of the command. */
export type Values = Readonly<Record<string, string | boolean | (string | boolean)[] | undefined>>;

export interface CommandContext {
  values: Values;
  /** As the owner. */
  pool: Pool;
  /** New keys are made under it. */
  pepper: () => Pepper;
  /** Older keys may be under any of them. */
  peppers: () => Pepper[];
  /** What a new account may get from us. */
  trialTerms: () => TrialTerms;
  /** Where a payment can be looked up: our own papers, and the processor if one is configured. */
  paymentSources: () => PaymentSource[];
  print: (text: string) => void;
  /** For the audit log: the login of whoever runs the command. */
  operator: string;
}

export interface Command {
  /** Its options as a person would write them: "--wallet ID [--json]". */
  usage: string;
  summary: string;
  options: ParseArgsOptionsConfig;
  run: (context: CommandContext) => Promise<void>;
}

/** The command was written wrongly: exit 2. */
export class UsageError extends Error {}

/** The command could not be done: exit 1. The message says what to do next. */
export class CommandFailed extends Error {}
