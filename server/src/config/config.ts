import type { Adapter } from "../providers/provider.ts";
import { type Constants, constants } from "./constants.ts";
import { ConfigFaults, Fault } from "./parse-setting.ts";
import { upstreamVariables } from "./parse-upstreams.ts";
import { settings } from "./settings.ts";
import { findUnknownSettings } from "./unknown-settings.ts";

export { ConfigFaults } from "./parse-setting.ts";
export { upstreamVariables } from "./parse-upstreams.ts";

// The only code that reads the environment. Every setting is checked before anything starts, and all faults are reported
// at once. A fault names the setting and the rule, never the value, which may be a secret.

export type Config = { readonly [Name in keyof typeof settings]: ReturnType<(typeof settings)[Name]["read"]> };

/**
 * Reads the named settings, or throws all faults. The server, the worker and the admin command need different ones. Each of
 * the adapters has its own settings.
 */
export function readConfig<Name extends keyof typeof settings>(
  adapters: readonly Adapter[],
  names: readonly Name[],
  environment: NodeJS.ProcessEnv = process.env,
): Pick<Config, Name> & Constants {
  const faults = findUnknownSettings(environment, [...knownSettings, ...adapters.flatMap(upstreamVariables)]);
  const values: Record<string, unknown> = {};
  for (const name of names) {
    const { variable, read } = settings[name];
    try {
      values[name] = read(environment[variable]?.trim() || undefined, environment, adapters);
    } catch (error) {
      if (error instanceof Fault) faults.push(`${variable} ${error.message}`);
      else if (error instanceof ConfigFaults) faults.push(...error.faults);
      else throw error;
    }
  }
  if (faults.length > 0) throw new ConfigFaults(faults);
  return Object.freeze({ ...constants, ...values }) as Pick<Config, Name> & Constants;
}

export const serverSettings = [
  "ledgerDatabaseUrl",
  "tenantDatabaseUrl",
  "paymentsDatabaseUrl",
  "operatorDatabaseUrl",
  "peopleDatabaseUrl",
  "databasePooler",
  "redisUrl",
  "host",
  "port",
  "opsHost",
  "opsPort",
  "publicUrl",
  "secrets",
  "keyPeppers",
  "signingSeeds",
  "upstreams",
  "upstreamFile",
  "operators",
  "fleet",
  "lenses",
  "topUpUrl",
  "stripeSecretKey",
  "stripeWebhookSecrets",
  "topUpMin",
  "topUpMax",
  "securityContact",
  "trustedProxies",
  "cell",
  "mcpHosts",
  "servers",
  "webhooksAllowPrivate",
  "smtpUrl",
  "signUp",
  "oidcIssuer",
  "oidcClientId",
  "oidcClientSecret",
  "logLevel",
  "otlpEndpoint",
  "tracesSampler",
  "tracesRatio",
] as const;

/** The configuration of a server. */
export type ServerConfig = Pick<Config, (typeof serverSettings)[number]> & Constants;

export const workerSettings = [
  "workerDatabaseUrl",
  "retentionDatabaseUrl",
  "paymentsDatabaseUrl",
  "opsHost",
  "workerOpsPort",
  "publicUrl",
  "topUpUrl",
  "secrets",
  "signingSeeds",
  "roots",
  "webhooksAllowPrivate",
  "smtpUrl",
  "mailFrom",
  "retentionDays",
  "archive",
  "statusFolder",
  "stripeSecretKey",
  "logLevel",
] as const;

/** The configuration of a worker. */
export type WorkerConfig = Pick<Config, (typeof workerSettings)[number]> & Constants;

/** For `npm run dev`, which passes its environment to the processes it starts, and for the admin command. */
export function readEnvironment(): NodeJS.ProcessEnv {
  return { ...process.env };
}

/** Settings of the SDK, the command line and the MCP server, which may be set in the same shell. */
const clientSettings = ["PENNYBLACK_API_KEY", "PENNYBLACK_URL", "PENNYBLACK_MANAGEMENT_KEY"];

const knownSettings = [
  ...new Set<string>([...Object.values(settings).map((setting) => setting.variable), ...clientSettings]),
];
