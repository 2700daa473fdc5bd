import { userInfo } from "node:os";
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
  parseOptions,
  print,
  printError,
  type StandaloneCommand,
  UsageError,
} from "./command.ts";
import { commands, isCommand, standaloneCommands } from "./commands.ts";
import { explainFailure } from "./explain-failure.ts";

// npm run admin -- <noun> <verb> [options]. Exit codes: 0 success, 1 failure, 2 usage error.

process.exitCode = await runAdmin(process.argv.slice(2));

async function runAdmin(args: string[]): Promise<number> {
  try {
    const isHelp = args.includes("--help") || args.includes("-h");
    const { names, command, rest } = findCommand(args, isHelp);
    if (!command || isHelp) print(describe(names));
    else await runCommand(command, rest);
    return 0;
  } catch (error) {
    if (error instanceof UsageError) return printError(`${error.message}\nSee: npm run admin -- --help`, 2);
    if (error instanceof CommandFailed) return printError(error.message, 1);
    if (error instanceof ConfigFaults) {
      return printError(`${error.message}\nSet the missing variables, or start "npm run dev".`, 1);
    }
    return printError(explainFailure(error), 1);
  }
}

/** Without a verb there is no command, only help for the noun. */
function findCommand(
  args: string[],
  isHelp: boolean,
): { names: string[]; command?: Command | StandaloneCommand; rest: string[] } {
  const firstOption = args.findIndex((arg) => arg.startsWith("-"));
  const [noun, verb] = firstOption === -1 ? args : args.slice(0, firstOption);
  if (noun === undefined && (isHelp || args.length === 0)) return { names: [], rest: [] };
  const standalone = standaloneCommands[noun ?? ""];
  if (noun && standalone) return { names: [noun], command: standalone, rest: args.slice(1) };
  const group = commands[noun ?? ""];
  if (!noun || !group) {
    const names = [...Object.keys(standaloneCommands), ...Object.keys(commands)];
    throw new UsageError(`Unknown command. Commands: ${names.join(", ")}.`);
  }
  if (isCommand(group)) return { names: [noun], command: group, rest: args.slice(1) };
  if (verb === undefined && isHelp) return { names: [noun], rest: [] };
  const command = group[verb ?? ""];
  if (!verb || !command) throw new UsageError(`Unknown "${noun}" command. Commands: ${Object.keys(group).join(", ")}.`);
  return { names: [noun, verb], command, rest: args.slice(2) };
}

async function runCommand(command: Command | StandaloneCommand, rest: string[]): Promise<void> {
  const { values } = parseOptions({ args: rest, options: command.options });
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
      jwks: () => createSigner(readConfig(["signingSeeds"]).signingSeeds)?.jwks,
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
  const { stripeSecretKey: secretKey, stripeUrl: url } = readConfig(["stripeSecretKey", "stripeUrl"]);
  const stripe = secretKey === undefined ? [] : [createStripe({ secretKey, webhookSecrets: [], url })];
  return [createManualSource(pool), ...stripe];
}

function describe(names: string[]): string {
  const all: [string, Command | StandaloneCommand][] = Object.entries(commands).flatMap(([noun, group]) =>
    isCommand(group) ? [[noun, group]] : Object.entries(group).map(([verb, command]) => [`${noun} ${verb}`, command]),
  );
  const lines = [...Object.entries(standaloneCommands), ...all]
    .filter(([name]) => name === names.join(" ") || name.startsWith(`${names.join(" ")} `) || names.length === 0)
    .flatMap(([name, command]) => [`  ${name} ${command.usage}`.trimEnd(), `      ${command.summary}`]);
  return ["Usage: npm run admin -- <command> [options]", "", ...lines].join("\n");
}
