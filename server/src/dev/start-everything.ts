import { type Account, createAccount } from "../admin/create-account.ts";
import { readConfig, serverSettings, workerSettings } from "../config.ts";
import { makeSignInLink } from "../console/console.ts";
import { createPool } from "../db/pool.ts";
import { createKey } from "../keys/keys.ts";
import type { Micros } from "../lib/money.ts";
import { buildConsole, isConsoleBuilt } from "./build-console.ts";
import { CannotStart } from "./cannot-start.ts";
import { type Addresses, chooseAddresses } from "./choose-addresses.ts";
import { describeLine } from "./describe-line.ts";
import { writeEnvironmentFile } from "./environment-file.ts";
import { makeEnvironment } from "./make-environment.ts";
import { prepareDatabase } from "./prepare-database.ts";
import type { DevOptions } from "./read-options.ts";
import { buildIndex } from "./searx/build-index.ts";
import { type Searx, startSearx } from "./searx/start-searx.ts";
import { type Child, startChild, whileAlive } from "./start-child.ts";
import { startPostgres } from "./start-postgres.ts";
import { waitUntilReady } from "./wait-until-ready.ts";

export interface StartContext {
  environment: NodeJS.ProcessEnv;
  /** Whatever is opened is put here, to be closed in the opposite order. */
  opened: AsyncDisposableStack;
  stopping: AbortSignal;
  /** Runs a part of the start and tells how long it took. */
  step: <Result>(name: string, work: () => Promise<Result>) => Promise<Result>;
  say: (line: string) => void;
}

export interface DevAccount extends Account {
  testKey: string;
  /** Signs the account's owner in to the console, once. */
  signInLink: string;
}

/** Whom the account of `npm run dev` belongs to. Nobody reads mail there. */
export const devOwner = "you@pennyblack.test";

export interface Everything {
  addresses: Addresses;
  account: DevAccount;
  upstreams: string[];
  operatorToken: string | undefined;
  /** The data was made for this start and goes with it. */
  isThrowaway: boolean;
  /** What must stay alive. */
  parts: Pick<Child, "died">[];
}

export async function startEverything(options: DevOptions, context: StartContext): Promise<Everything> {
  const { opened, step } = context;
  const { devDatabaseUrl } = readConfig(["devDatabaseUrl"], context.environment);
  const addresses = await chooseAddresses(options, context.environment);
  if (!isConsoleBuilt()) await step("console", () => buildConsole(context.say));
  const searx = options.withSearx ? await startOwnSearx(context) : undefined;
  const environment = searx ? { ...context.environment, PENNYBLACK_SEARXNG_URL: searx.url } : context.environment;
  const postgres = devDatabaseUrl ? undefined : await step("PostgreSQL from npm", startPostgres);
  if (postgres) opened.defer(postgres.stop);
  const urls = await step("roles and tables", () => prepareDatabase(devDatabaseUrl ?? postgres?.url ?? ""));
  const made = makeEnvironment(environment, { addresses, urls });
  // Before the processes would complain one after the other, each in its own words.
  const { upstreams, operators } = readConfig([...serverSettings, ...workerSettings], { ...environment, ...made });
  const account = await step("wallet and keys", () => createDevAccount(urls.owner, made, options.balance));
  opened.defer(writeEnvironmentFile(made));
  const children = await step("server and worker", () => startProcesses(made, addresses, context));
  return {
    addresses,
    account,
    upstreams: upstreams.map(({ name }) => name),
    operatorToken: operators[0]?.token,
    isThrowaway: postgres !== undefined,
    parts: [...children, ...(postgres ? [postgres] : []), ...(searx ? [searx] : [])],
  };
}

/** Started before the database, because it may be missing here, and then nothing else need be started. */
async function startOwnSearx({ environment, opened, stopping, step, say }: StartContext): Promise<Searx> {
  if (environment["PENNYBLACK_SEARXNG_URL"]?.trim()) {
    throw new CannotStart("--with-searx and PENNYBLACK_SEARXNG_URL name two upstreams. Choose one.", 2);
  }
  const index = await step("index of Debian's documentation", () => buildIndex({ onProgress: say, stopping }));
  const searx = await step("searx", () => startSearx({ index, stopping }));
  opened.defer(searx.stop);
  return searx;
}

async function createDevAccount(ownerUrl: string, made: Record<string, string>, balance: Micros): Promise<DevAccount> {
  const [pepper] = readConfig(["keyPeppers"], made).keyPeppers;
  if (!pepper) throw new Error("the environment has no pepper");
  const pool = createPool({ url: ownerUrl, name: "pennyblack dev", connections: 1, onIdleError: () => {} });
  try {
    const name = `dev ${new Date().toISOString()}`;
    const account = await createAccount(pool, { name, balance, pepper, owner: devOwner }, "dev");
    const test = await createKey(pool, pepper, { walletId: account.walletId, mode: "test", name: "test" });
    const { publicUrl } = readConfig(["publicUrl"], made);
    const signInLink = await makeSignInLink(pool, { email: devOwner, publicUrl, lifeMinutes: 24 * 60 });
    return { ...account, testKey: test.key, signInLink: signInLink ?? "" };
  } finally {
    await pool.end();
  }
}

async function startProcesses(
  made: Record<string, string>,
  addresses: Addresses,
  context: StartContext,
): Promise<Child[]> {
  const environment = { ...context.environment, ...made };
  const start = (name: string, script: string, extra: Record<string, string>): Child => {
    const child = startChild({
      name,
      script: new URL(script, import.meta.url).pathname,
      environment: { ...environment, ...extra },
      onLine(line) {
        const words = describeLine(name, line);
        if (words) context.say(words);
      },
    });
    context.opened.defer(child.stop);
    return child;
  };
  const children = [
    start("server", "../main.ts", {}),
    start("worker", "../jobs/main.ts", { PENNYBLACK_OPS_PORT: String(addresses.workerOpsPort) }),
  ];
  const ready = [addresses.opsUrl, addresses.workerOpsUrl].map((url) =>
    waitUntilReady(`${url}/readyz`, context.stopping),
  );
  await whileAlive(Promise.all(ready), children);
  return children;
}
