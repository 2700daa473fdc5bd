import { fileURLToPath } from "node:url";
import type { Pooler } from "../db/pool.ts";
import type { Operator } from "../http/operator-auth.ts";
import type { Micros } from "../lib/money.ts";
import type { Adapter } from "../providers/provider.ts";
import { type Constants, constants } from "./constants.ts";
import {
  addresses,
  ConfigFaults,
  cellName,
  Fault,
  hostNames,
  httpUrl,
  integer,
  mailAddress,
  oneOf,
  onlyWith,
  operatorTokens,
  optional,
  type Parse,
  peppers,
  postgresUrl,
  ratio,
  required,
  requiredWith,
  secrets,
  secretText,
  signingSeeds,
  topUpAmount,
  topUpMax,
  urlOf,
  usd,
  withDefault,
} from "./parse-setting.ts";
import { upstreams, upstreamVariables } from "./parse-upstreams.ts";
import { findUnknownSettings } from "./unknown-settings.ts";

export { ConfigFaults } from "./parse-setting.ts";
export { upstreamVariables } from "./parse-upstreams.ts";

// The only code that reads the environment. Every setting is checked before anything starts, and all faults are reported
// at once. A fault names the setting and the rule, never the value, which may be a secret.

export type Config = { readonly [Name in keyof typeof settings]: ReturnType<(typeof settings)[Name]["read"]> };

/**
 * Reads the named settings, or throws all faults. The server, the worker and the admin command need different ones. Each of
 * the adapters has settings of its own.
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
  "stripeSecretKey",
  "logLevel",
] as const;

/** The configuration of a worker. */
export type WorkerConfig = Pick<Config, (typeof workerSettings)[number]> & Constants;

/** For `npm run dev`, which passes its environment to the processes it starts, and for the admin command. */
export function readEnvironment(): NodeJS.ProcessEnv {
  return { ...process.env };
}

const withStripe = <Value>(parse: Parse<Value>) => onlyWith("PENNYBLACK_STRIPE_SECRET_KEY", parse);

const settings = {
  /** Role pennyblack_ledger: can call the functions of a paid search, cannot read tables. */
  ledgerDatabaseUrl: { variable: "DATABASE_URL", read: required(postgresUrl) },
  /** Role pennyblack_tenant: reads one wallet at a time. */
  tenantDatabaseUrl: { variable: "PENNYBLACK_TENANT_DATABASE_URL", read: required(postgresUrl) },
  /** Role pennyblack_payments: books what the payment processor reports. */
  paymentsDatabaseUrl: {
    variable: "PENNYBLACK_PAYMENTS_DATABASE_URL",
    read: requiredWith("PENNYBLACK_STRIPE_SECRET_KEY", postgresUrl),
  },
  /** Role pennyblack_operator: for /operator/*. Without it, operators see only the upstreams. */
  operatorDatabaseUrl: { variable: "PENNYBLACK_OPERATOR_DATABASE_URL", read: optional(postgresUrl) },
  /** Role pennyblack_people: for sign-in. Without it, the console is disabled. */
  peopleDatabaseUrl: { variable: "PENNYBLACK_PEOPLE_DATABASE_URL", read: optional(postgresUrl) },
  /** The pooler that the URLs of a server lead to. Workers, migrations and the admin command do not use it. */
  databasePooler: {
    variable: "PENNYBLACK_DATABASE_POOLER",
    read: withDefault<Pooler>("none", oneOf("none", "transaction")),
  },
  /** Role pennyblack_worker, not through a transaction pooler: for background jobs. */
  workerDatabaseUrl: { variable: "PENNYBLACK_WORKER_DATABASE_URL", read: required(postgresUrl) },
  /**
   * Role pennyblack_owner, not through a transaction pooler: for migrations and the admin command, which switches to the
   * role of each command.
   */
  directDatabaseUrl: { variable: "PENNYBLACK_DIRECT_DATABASE_URL", read: required(postgresUrl) },
  /** The same for a worker that archives and drops old days. */
  retentionDatabaseUrl: {
    variable: "PENNYBLACK_DIRECT_DATABASE_URL",
    read: requiredWith("PENNYBLACK_RETENTION_DAYS", postgresUrl),
  },
  /** A superuser, or a role with CREATEROLE that owns the database. Only for `database setup`, never for a server. */
  adminDatabaseUrl: { variable: "PENNYBLACK_ADMIN_DATABASE_URL", read: optional(postgresUrl) },
  /** Only `npm run dev` uses it as an admin URL. The server it starts gets a different one. */
  devDatabaseUrl: { variable: "DATABASE_URL", read: optional(postgresUrl) },
  /** Without it, each server enforces its share of the limits on its own. */
  redisUrl: { variable: "REDIS_URL", read: optional(urlOf("redis:", "rediss:")) },
  host: { variable: "HOST", read: withDefault("0.0.0.0", (text) => text) },
  port: { variable: "PORT", read: withDefault(8080, integer(0, 65_535)) },
  /** Health and metrics. Keep it inside the operator's network. */
  opsHost: { variable: "PENNYBLACK_OPS_HOST", read: withDefault("127.0.0.1", (text) => text) },
  opsPort: { variable: "PENNYBLACK_OPS_PORT", read: withDefault(9090, integer(0, 65_535)) },
  /** The same for a worker, whose default differs because it can run beside a server. */
  workerOpsPort: { variable: "PENNYBLACK_OPS_PORT", read: withDefault(9091, integer(0, 65_535)) },
  /** The base URL for callers. The `type` of every problem contains it. */
  publicUrl: { variable: "PENNYBLACK_PUBLIC_URL", read: withDefault("http://localhost:8080", httpUrl) },
  /**
   * Encrypts data keys and webhook secrets. "<base64>" or "<base64>,<base64>": the first writes, all are read.
   */
  secrets: { variable: "PENNYBLACK_SECRET", read: required(secrets) },
  /** "2:<base64>,1:<base64>": new keys use the first one. Keys of another version stay valid while it is listed. */
  keyPeppers: { variable: "PENNYBLACK_KEY_PEPPERS", read: required(peppers) },
  /**
   * Ed25519 seeds, "<base64>,<base64>": the first signs receipts and roots, all are published in /.well-known/jwks.json.
   * Never stored in the database. Without it, nothing is signed.
   */
  signingSeeds: { variable: "PENNYBLACK_SIGNING_KEYS", read: withDefault<Buffer[]>([], signingSeeds) },
  /** The folder to which the worker appends the signed root of each closed hour and day. */
  roots: { variable: "PENNYBLACK_ROOTS", read: onlyWith("PENNYBLACK_SIGNING_KEYS", (text) => text) },
  /** The order of the configured providers. Default: cheapest first. */
  upstreams: { variable: "PENNYBLACK_UPSTREAMS", read: upstreams },
  /** A file with settings of providers, which replace those in the environment. SIGHUP reloads it. */
  upstreamFile: { variable: "PENNYBLACK_UPSTREAM_FILE", read: optional((text) => text) },
  /** The folder of the ranking rules. SIGHUP reloads it. */
  lenses: {
    variable: "PENNYBLACK_LENSES",
    read: withDefault(fileURLToPath(new URL("../../lenses", import.meta.url)), (text) => text),
  },
  /** Where a wallet's owner adds money. Returned with 402. */
  topUpUrl: { variable: "PENNYBLACK_TOP_UP_URL", read: optional(httpUrl) },
  /** The name of this installation among several behind one address. `npm run migrate` stores it in the database. */
  cell: { variable: "PENNYBLACK_CELL", read: optional(cellName) },
  /** Free credit for a new account in USD. `npm run migrate` stores it in the database; servers cannot change it. */
  trialCredit: { variable: "PENNYBLACK_TRIAL_CREDIT", read: withDefault<Micros>(0n, usd) },
  /** Enables payments. Set it for the server and the worker. */
  stripeSecretKey: { variable: "PENNYBLACK_STRIPE_SECRET_KEY", read: optional(secretText) },
  /** The signing secret of Stripe's webhooks. During a rotation: both, separated by a comma. */
  stripeWebhookSecrets: {
    variable: "PENNYBLACK_STRIPE_WEBHOOK_SECRET",
    read: (text: string | undefined, environment: NodeJS.ProcessEnv): string[] =>
      withStripe((list) => list.split(",").map((part) => secretText(part.trim())))(text, environment) ?? [],
  },
  /** Limits of one top-up in USD. */
  topUpMin: { variable: "PENNYBLACK_TOP_UP_MIN", read: withDefault(5_000_000n, topUpAmount) },
  topUpMax: { variable: "PENNYBLACK_TOP_UP_MAX", read: topUpMax },
  /** Where to report a vulnerability, for /.well-known/security.txt. */
  securityContact: { variable: "PENNYBLACK_SECURITY_CONTACT", read: optional(urlOf("mailto:", "https:")) },
  /** "alice:<token>,bob:<token>": access to /operator/* on the internal listener. */
  operators: { variable: "PENNYBLACK_OPERATORS", read: withDefault<Operator[]>([], operatorTokens) },
  /** File that lists all cells, for the page "Cells" of the operator console. The same as for `npm run fleet`. */
  fleet: { variable: "PENNYBLACK_FLEET", read: onlyWith("PENNYBLACK_OPERATORS", (text) => text) },
  /** Proxies whose X-Forwarded-For is trusted. */
  trustedProxies: { variable: "PENNYBLACK_TRUSTED_PROXIES", read: withDefault<string[]>([], addresses) },
  /** Host names of /mcp besides that of the public URL and of this machine, for requests and for the pages that send them. */
  mcpHosts: { variable: "PENNYBLACK_MCP_HOSTS", read: withDefault<string[]>([], hostNames) },
  /** The number of servers, which sets each one's share of the limits while Redis is unavailable. */
  servers: { variable: "PENNYBLACK_SERVERS", read: withDefault(1, integer(1, 10_000)) },
  /** For development and tests: allows webhooks over plain HTTP and to private addresses. */
  webhooksAllowPrivate: {
    variable: "PENNYBLACK_WEBHOOKS_ALLOW_PRIVATE",
    read: withDefault(false, (text) => oneOf("true", "false")(text) === "true"),
  },
  /** "smtps://user:password@mail.example". Without it, no email is sent. */
  smtpUrl: { variable: "PENNYBLACK_SMTP_URL", read: onlyWith("PENNYBLACK_MAIL_FROM", urlOf("smtp:", "smtps:")) },
  mailFrom: { variable: "PENNYBLACK_MAIL_FROM", read: onlyWith("PENNYBLACK_SMTP_URL", mailAddress) },
  /** "open": anyone who signs in can create an account. "closed": only existing and invited people can sign in. */
  signUp: { variable: "PENNYBLACK_SIGN_UP", read: withDefault("closed", oneOf("open", "closed")) },
  /** Console sign-in through an OpenID Connect provider. */
  oidcIssuer: {
    variable: "PENNYBLACK_OIDC_ISSUER",
    read: onlyWith("PENNYBLACK_OIDC_CLIENT_ID", urlOf("https:", "http:")),
  },
  oidcClientId: { variable: "PENNYBLACK_OIDC_CLIENT_ID", read: onlyWith("PENNYBLACK_OIDC_ISSUER", (text) => text) },
  oidcClientSecret: { variable: "PENNYBLACK_OIDC_CLIENT_SECRET", read: onlyWith("PENNYBLACK_OIDC_ISSUER", secretText) },
  /** Older searches and entries are archived and deleted. Without it, nothing is deleted. */
  retentionDays: {
    variable: "PENNYBLACK_RETENTION_DAYS",
    read: onlyWith("PENNYBLACK_ARCHIVE", integer(35, 36_500)),
  },
  archive: { variable: "PENNYBLACK_ARCHIVE", read: onlyWith("PENNYBLACK_RETENTION_DAYS", (text) => text) },
  logLevel: {
    variable: "PENNYBLACK_LOG_LEVEL",
    read: withDefault("info", oneOf("debug", "info", "warn", "error", "silent")),
  },
  /** Base URL of an OTLP/HTTP collector; /v1/traces is appended. Without it, tracing is off. */
  otlpEndpoint: { variable: "OTEL_EXPORTER_OTLP_ENDPOINT", read: optional(httpUrl) },
  /** The OpenTelemetry name of the sampler. */
  tracesSampler: {
    variable: "OTEL_TRACES_SAMPLER",
    read: withDefault(
      "parentbased_always_on",
      oneOf(
        ...["", "parentbased_"].flatMap((prefix) =>
          ["always_on", "always_off", "traceidratio"].map((name) => prefix + name),
        ),
      ),
    ),
  },
  tracesRatio: { variable: "OTEL_TRACES_SAMPLER_ARG", read: withDefault(1, ratio) },
} as const;

/** Settings of the SDK, the command line and the MCP server, which may be set in the same shell. */
const clientSettings = ["PENNYBLACK_API_KEY", "PENNYBLACK_URL", "PENNYBLACK_MANAGEMENT_KEY"];

const knownSettings = [
  ...new Set<string>([...Object.values(settings).map((setting) => setting.variable), ...clientSettings]),
];
