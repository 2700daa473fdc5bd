import { once } from "node:events";
import type { Readable, Writable } from "node:stream";
import { text as readStream } from "node:stream/consumers";
import { CommanderError } from "commander";
import { ConfigFaults, readConfig } from "../config/config.ts";
import { createPool, type Pool, waitForConnection } from "../db/pool.ts";
import { roles } from "../db/roles.ts";
import type { Pepper } from "../keys/keys.ts";
import { createSecrets } from "../lib/secrets.ts";
import { createSigner } from "../lib/sign-jws.ts";
import { createManualSource } from "../payments/manual-payments.ts";
import type { PaymentSource } from "../payments/payments.ts";
import { createStripe } from "../payments/stripe.ts";
import { adapters } from "../providers/providers.ts";
import {
  type Command,
  CommandFailed,
  type ReadSettings,
  type StandaloneCommand,
  UsageError,
  type Values,
} from "./command.ts";
import { createProgram } from "./commands.ts";
import { explainFailure } from "./explain-failure.ts";
import { readAct } from "./read-values.ts";

/** The environment that a process provides to the command. Tests run it in their own process. */
export interface AdminStreams {
  environment: NodeJS.ProcessEnv;
  stdin: Readable;
  stdout: Writable;
  stderr: Writable;
}

/** Returns the exit code: 0 success, 1 failure, 2 usage error. */
export async function runAdmin(args: string[], streams: AdminStreams): Promise<number> {
  const { stdout, stderr } = streams;
  const program = createProgram((command, values) => runCommand(command, values, streams), {
    writeOut: (text) => void stdout.write(text),
    writeErr: (text) => void stderr.write(text),
  });
  const fail = (message: string, exitCode: number): number => {
    stderr.write(`${message}\n`);
    return exitCode;
  };
  try {
    await program.parseAsync(args.length === 0 ? ["--help"] : args, { from: "user" });
    return 0;
  } catch (error) {
    // Commander has printed the help or the usage error.
    if (error instanceof CommanderError) return error.exitCode === 0 ? 0 : 2;
    if (error instanceof UsageError) return fail(`${error.message}\nSee: npm run admin -- --help`, 2);
    if (error instanceof CommandFailed) return fail(error.message, 1);
    if (error instanceof ConfigFaults) {
      return fail(`${error.message}\nSet the missing variables, or start "npm run dev".`, 1);
    }
    return fail(explainFailure(error), 1);
  }
}

async function runCommand(
  command: Command | StandaloneCommand,
  values: Values,
  { environment, stdin, stdout }: AdminStreams,
): Promise<void> {
  const readSettings: ReadSettings = (names) => readConfig(adapters, names, environment);
  const print = (text: string): void => void stdout.write(`${text}\n`);
  if ("runAlone" in command) return command.runAlone({ print, readSettings });
  const pool = createPool({
    url: readSettings(["directDatabaseUrl"]).directDatabaseUrl,
    name: "pennyblack admin",
    // The owner's commands run as the login itself. They fail if it has fewer privileges.
    ...(command.role !== "owner" && { role: roles[command.role] }),
    isReadOnly: !command.changes,
    connections: 4,
    statementTimeoutMs: 600_000,
    onIdleError: () => {},
  });
  try {
    if (command.role !== "owner") {
      await waitForConnection(pool);
      await checkRole(pool, roles[command.role]);
    }
    await command.run({
      values,
      pool,
      readSettings,
      pepper: () => readPepper(readSettings),
      peppers: () => readSettings(["keyPeppers"]).keyPeppers,
      secrets: () => createSecrets(readSettings(["secrets"]).secrets),
      signer: () => createSigner(readSettings(["signingSeeds"]).signingSeeds),
      paymentSources: () => openPaymentSources(pool, readSettings),
      print,
      // Waits for a slow reader, so that a long text is never in memory as a whole.
      write: async (text) => void (stdout.write(text) || (await once(stdout, "drain"))),
      readInput: () => readStream(stdin),
      act: readAct(values),
    });
  } finally {
    await pool.end();
  }
}

async function checkRole(pool: Pool, role: string): Promise<void> {
  const { rows } = await pool.query<{ name: string }>("select current_user as name");
  if (rows[0]?.name !== role)
    throw new CommandFailed(
      `The session does not run as ${role}. Remove "options" from PENNYBLACK_DIRECT_DATABASE_URL, which replace the role.`,
    );
}

function readPepper(readSettings: ReadSettings): Pepper {
  const [first] = readSettings(["keyPeppers"]).keyPeppers;
  if (!first) throw new CommandFailed("PENNYBLACK_KEY_PEPPERS is empty.");
  return first;
}

function openPaymentSources(pool: Pool, readSettings: ReadSettings): PaymentSource[] {
  const { stripeSecretKey: secretKey, stripeUrl: url } = readSettings(["stripeSecretKey"]);
  const stripe = secretKey === undefined ? [] : [createStripe({ secretKey, webhookSecrets: [], url })];
  return [createManualSource(pool), ...stripe];
}
