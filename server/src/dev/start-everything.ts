import { join, relative } from "node:path";
import { readConfig, serverSettings, workerSettings } from "../config/config.ts";
import { adapters } from "../providers/providers.ts";
import { buildStaleSites, findStaleSites } from "./build-sites.ts";
import { type Addresses, chooseAddresses } from "./choose-addresses.ts";
import { describeLine } from "./describe-line.ts";
import { type DevAccount, openDevAccount } from "./dev-account.ts";
import { type EnvironmentFile, writeEnvironmentFile } from "./environment-file.ts";
import { openKeptData } from "./kept-data.ts";
import { makeEnvironment } from "./make-environment.ts";
import { startPlayMoney } from "./play-money.ts";
import { prepareDatabase } from "./prepare-database.ts";
import type { DevOptions } from "./read-options.ts";
import { buildIndex } from "./searx/build-index.ts";
import { type Searx, startSearx } from "./searx/start-searx.ts";
import { type Child, startChild, whileAlive } from "./start-child.ts";
import { startPostgres } from "./start-postgres.ts";
import { StartupError } from "./startup-error.ts";
import { waitUntilReady } from "./wait-until-ready.ts";

export interface StartContext {
  environment: NodeJS.ProcessEnv;
  /** Disposed in reverse order at the end. */
  opened: AsyncDisposableStack;
  stopping: AbortSignal;
  /** Runs one step of the startup and prints its duration. */
  step: <Result>(name: string, work: () => Promise<Result>) => Promise<Result>;
  print: (line: string) => void;
}

export interface Everything {
  addresses: Addresses;
  account: DevAccount;
  /** Names, in the order they are tried. */
  upstreams: string[];
  operatorToken: string | undefined;
  playMoneyUrl: string;
  environmentFile: EnvironmentFile;
  /** Sites that are built in the background. */
  sitesInProgress: string[];
  /** Where the data stays when dev stops; undefined if it is deleted. */
  keptIn: string | undefined;
  /** Dev stops if one of these dies. */
  processes: Pick<Child, "died">[];
}

export async function startEverything(options: DevOptions, context: StartContext): Promise<Everything> {
  const { opened, step } = context;
  const { devDatabaseUrl } = readConfig(adapters, ["devDatabaseUrl"], context.environment);
  const addresses = await chooseAddresses(options, context.environment);
  const searx = options.withSearx ? await startOwnSearx(context) : undefined;
  const environment = searx ? { ...context.environment, PENNYBLACK_SEARXNG_URL: searx.url } : context.environment;
  const kept = openKeptData(options);
  opened.defer(kept.release);
  const folder = kept.folder && join(kept.folder, "postgres");
  const postgres = devDatabaseUrl
    ? undefined
    : await step("PostgreSQL from npm", () => startPostgres({ folder, reset: options.reset }));
  if (postgres) opened.defer(postgres.stop);
  const urls = await step("roles and tables", () =>
    prepareDatabase(devDatabaseUrl ?? postgres?.url ?? "", options.reset),
  );
  const made = makeEnvironment(environment, { addresses, urls, secrets: kept.secrets });
  // Validate all settings once, before each process reports its own errors.
  const { upstreams, operators } = readConfig(adapters, [...serverSettings, ...workerSettings], {
    ...environment,
    ...made,
  });
  const account = await step("wallet and keys", () =>
    openDevAccount(urls.owner, { settings: made, kept, balance: options.balance }),
  );
  const playMoney = await startPlayMoney(urls.owner, account.walletId);
  opened.defer(playMoney.stop);
  if (!made["PENNYBLACK_STRIPE_SECRET_KEY"]) made["PENNYBLACK_TOP_UP_URL"] ??= playMoney.url;
  const environmentFile = writeEnvironmentFile(made, { isDefault: kept.folder !== undefined });
  opened.defer(environmentFile.remove);
  const children = await step("server and worker", () => startProcesses(made, addresses, context));
  return {
    addresses,
    account,
    upstreams: upstreams.map(({ name }) => name),
    operatorToken: operators[0]?.token,
    playMoneyUrl: playMoney.url,
    environmentFile,
    sitesInProgress: startSiteBuilds(context),
    keptIn: kept.folder && relative(".", kept.folder),
    processes: [...children, ...(postgres ? [postgres] : []), ...(searx ? [searx] : [])],
  };
}

/** Started first: if it is not available here, nothing else needs to start. */
async function startOwnSearx({ environment, opened, stopping, step, print }: StartContext): Promise<Searx> {
  if (environment["PENNYBLACK_SEARXNG_URL"]?.trim()) {
    throw new StartupError("Use either --with-searx or PENNYBLACK_SEARXNG_URL, not both.", 2);
  }
  const index = await step("index of Debian's documentation", () => buildIndex({ onProgress: print, stopping }));
  const searx = await step("searx", () => startSearx({ index, stopping }));
  opened.defer(searx.stop);
  return searx;
}

/** Started last, so that they do not delay the API. */
function startSiteBuilds(context: StartContext): string[] {
  const stale = findStaleSites();
  buildStaleSites(context).catch((error: unknown) => context.print(`Building the sites failed: ${String(error)}`));
  return stale;
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
        const text = describeLine(name, line);
        if (text) context.print(text);
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
