import { userInfo } from "node:os";
import { CommanderError } from "commander";
import { ConfigFaults, readConfig } from "../config/config.ts";
import { createPool, type Pool } from "../db/pool.ts";
import { roles } from "../db/roles.ts";
import type { Pepper } from "../keys/keys.ts";
import { createSecrets, type Secrets } from "../lib/secrets.ts";
import { createSigner } from "../lib/sign-jws.ts";
import { createManualSource } from "../payments/manual-payments.ts";
import type { PaymentSource } from "../payments/payments.ts";
import { createStripe } from "../payments/stripe.ts";
import {
  type Command,
  CommandFailed,
  print,
  printError,
  type StandaloneCommand,
  UsageError,
  type Values,
} from "./command.ts";
import { createProgram } from "./commands.ts";
import { explainFailure } from "./explain-failure.ts";

// npm run admin -- <noun> <verb> [options]. Exit codes: 0 success, 1 failure, 2 usage error.

process.exitCode = await runAdmin(process.argv.slice(2));

async function runAdmin(args: string[]): Promise<number> {
  try {
    await createProgram(runCommand).parseAsync(args.length === 0 ? ["--help"] : args, { from: "user" });
    return 0;
  } catch (error) {
    // Commander has printed the help or the usage error.
    if (error instanceof CommanderError) return error.exitCode === 0 ? 0 : 2;
    if (error instanceof UsageError) return printError(`${error.message}\nSee: npm run admin -- --help`, 2);
    if (error instanceof CommandFailed) return printError(error.message, 1);
    if (error instanceof ConfigFaults) {
      return printError(`${error.message}\nSet the missing variables, or start "npm run dev".`, 1);
    }
    return printError(explainFailure(error), 1);
  }
}

async function runCommand(command: Command | StandaloneCommand, values: Values): Promise<void> {
  if ("runAlone" in command) return command.runAlone(print);
  const { directDatabaseUrl } = readConfig(["directDatabaseUrl"]);
  const pool = createPool({
    url: directDatabaseUrl,
    name: "pennyblack admin",
    // The owner's commands run as the login itself. They fail if it is a narrower one.
    ...(command.role !== "owner" && { role: roles[command.role] }),
    connections: 4,
    statementTimeoutMs: 600_000,
    onIdleError: () => {},
  });
  try {
    if (command.role !== "owner") await checkRole(pool, roles[command.role]);
    await command.run({
      values,
      pool,
      pepper: readPepper,
      peppers: readPeppers,
      secrets: () => readSecrets(pool),
      signer: () => createSigner(readConfig(["signingSeeds"]).signingSeeds),
      paymentSources: () => openPaymentSources(pool),
      print,
      operator: `admin:${userInfo().username}`.slice(0, 64),
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

function readPeppers(): Pepper[] {
  return readConfig(["keyPeppers"]).keyPeppers;
}

function readPepper(): Pepper {
  const [newest] = readPeppers();
  if (!newest) throw new CommandFailed("PENNYBLACK_KEY_PEPPERS is empty.");
  return newest;
}

async function readSecrets(pool: Pool): Promise<Secrets> {
  const secrets = createSecrets(readConfig(["secrets"]).secrets);
  const { rows } = await pool.query<{ version: number }>("select writing_version as version from pb.secret_state");
  const version = rows[0]?.version ?? 0;
  if (secrets.use(version)) return secrets;
  throw new CommandFailed(`PENNYBLACK_SECRET does not list version ${version}, under which servers write. Add it.`);
}

function openPaymentSources(pool: Pool): PaymentSource[] {
  const { stripeSecretKey: secretKey, stripeUrl: url } = readConfig(["stripeSecretKey"]);
  const stripe = secretKey === undefined ? [] : [createStripe({ secretKey, webhookSecrets: [], url })];
  return [createManualSource(pool), ...stripe];
}
