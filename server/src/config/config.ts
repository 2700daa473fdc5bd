import { fileURLToPath } from "node:url";
import type { Operator } from "./http/operators.ts";
import type { Micros } from "./lib/money.ts";
import { adapters } from "./providers/providers.ts";
import {
  addresses,
  ConfigFaults,
  Fault,
  httpUrl,
  integer,
  mailAddress,
  oneOf,
  operatorTokens,
  optional,
  peppers,
  postgresUrl,
  required,
  secretBytes,
  secretWord,
  share,
  together,
  topUpAmount,
  topUpMost,
  urlOf,
  usd,
  withDefault,
  withStripe,
} from "./read-setting.ts";
import { upstreams, upstreamVariables } from "./read-upstreams.ts";

export { ConfigFaults } from "./read-setting.ts";
export { upstreamVariables } from "./read-upstreams.ts";

// The only reader of the environment. Every setting is checked before anything starts, and all faults are told
// at once. A fault names the setting and the rule, never the value, which may be a secret.

export type Config = { readonly [Name in keyof typeof settings]: ReturnType<(typeof settings)[Name]["read"]> };

/** Reads the settings named, all of them or throws. The server, the worker and the admin command need different ones. */
export function readConfig<Name extends keyof typeof settings>(
  names: readonly Name[],
  environment: NodeJS.ProcessEnv = process.env,
): Pick<Config, Name> {
  const faults = unknownSettings(environment);
  const values: Record<string, unknown> = {};
  for (const name of names) {
    const { variable, read } = settings[name];
    try {
      values[name] = read(environment[variable]?.trim() || undefined, environment);
    } catch (error) {
      if (error instanceof Fault) faults.push(`${variable} ${error.message}`);
      else if (error instanceof ConfigFaults) faults.push(...error.faults);
      else throw error;
    }
  }
  if (faults.length > 0) throw new ConfigFaults(faults);
  return Object.freeze(values) as Pick<Config, Name>;
}

export const serverSettings = [
  "ledgerDatabaseUrl",
  "tenantDatabaseUrl",
  "operatorDatabaseUrl",
  "peopleDatabaseUrl",
  "redisUrl",
  "host",
  "port",
  "opsHost",
  "opsPort",
  "publicUrl",
  "secret",
  "keyPeppers",
  "upstreams",
  "operators",
  "lenses",
  "topUpUrl",
  "stripeSecretKey",
  "stripeWebhookSecrets",
  "stripeUrl",
  "topUpMin",
  "topUpMax",
  "securityContact",
  "trustedProxies",
  "servers",
  "drainMs",
  "webhooksAllowPrivate",
  "smtpUrl",
  "signUp",
  "trialCredit",
  "trialsPerDay",
  "oidcIssuer",
  "oidcClientId",
  "oidcClientSecret",
  "oidcName",
  "logLevel",
  "otlpEndpoint",
  "tracesSampler",
  "tracesRatio",
] as const;

export const workerSettings = [
  "directDatabaseUrl",
  "opsHost",
  "opsPort",
  "publicUrl",
  "topUpUrl",
  "secret",
  "webhooksAllowPrivate",
  "smtpUrl",
  "mailFrom",
  "retentionDays",
  "archive",
  "stripeSecretKey",
  "stripeUrl",
  "logLevel",
] as const;

/** For `npm run dev`, which hands its own environment on to the processes it starts. */
export function readEnvironment(): NodeJS.ProcessEnv {
  return { ...process.env };
}

const settings = {
  /** As pennyblack_ledger: calls the functions of a paid search and reads no table. */
  ledgerDatabaseUrl: { variable: "DATABASE_URL", read: required(postgresUrl) },
  /** As pennyblack_tenant: reads the books of one wallet at a time. */
  tenantDatabaseUrl: { variable: "PENNYBLACK_TENANT_DATABASE_URL", read: required(postgresUrl) },
  /** As pennyblack_operator: what /operator/* does. Without it, operators see the upstreams and nothing else. */
  operatorDatabaseUrl: { variable: "PENNYBLACK_OPERATOR_DATABASE_URL", read: optional(postgresUrl) },
  /** As pennyblack_people: who signs in to the console. Without it there is no console. */
  peopleDatabaseUrl: { variable: "PENNYBLACK_PEOPLE_DATABASE_URL", read: optional(postgresUrl) },
  /** As pennyblack_owner, not through a transaction pooler: migrations, jobs, the admin command. */
  directDatabaseUrl: { variable: "PENNYBLACK_DIRECT_DATABASE_URL", read: required(postgresUrl) },
  /** A superuser, or a role with CREATEROLE that owns the database: only for `database setup`, never for a server. */
  adminDatabaseUrl: { variable: "PENNYBLACK_ADMIN_DATABASE_URL", read: optional(postgresUrl) },
  /** `npm run dev` alone takes it for an admin URL, and gives the server it starts a URL of its own. */
  devDatabaseUrl: { variable: "DATABASE_URL", read: optional(postgresUrl) },
  /** Without it, limits are counted by each server alone. */
  redisUrl: { variable: "REDIS_URL", read: optional(urlOf("redis:", "rediss:")) },
  host: { variable: "HOST", read: withDefault("0.0.0.0", (text) => text) },
  port: { variable: "PORT", read: withDefault(8080, integer(0, 65_535)) },
  /** Health and metrics: for the operator's network only. */
  opsHost: { variable: "PENNYBLACK_OPS_HOST", read: withDefault("127.0.0.1", (text) => text) },
  opsPort: { variable: "PENNYBLACK_OPS_PORT", read: withDefault(9090, integer(0, 65_535)) },
  /** Where callers reach us; the `type` of every error is a page below it. */
  publicUrl: { variable: "PENNYBLACK_PUBLIC_URL", read: withDefault("http://localhost:8080", httpUrl) },
  /**
   * Protects stored answers, Idempotency-Keys and the secrets of webhooks. After a change, retries of the day before are
   * new searches and pay, and every webhook endpoint needs its secret rotated.
   */
  secret: { variable: "PENNYBLACK_SECRET", read: required(secretBytes) },
  /** "1:<base64>,2:<base64>": new keys use the highest version, older ones stay valid while listed. */
  keyPeppers: { variable: "PENNYBLACK_KEY_PEPPERS", read: required(peppers) },
  /** The providers with a key or a URL of their own, in the order named here, else the cheapest first. */
  upstreams: { variable: "PENNYBLACK_UPSTREAMS", read: upstreams },
  /** The folder of the ranking rules; SIGHUP reads it anew. */
  lenses: {
    variable: "PENNYBLACK_LENSES",
    read: withDefault(fileURLToPath(new URL("../lenses", import.meta.url)), (text) => text),
  },
  /** Where a wallet's owner adds money; the 402 leads there. */
  topUpUrl: { variable: "PENNYBLACK_TOP_UP_URL", read: optional(httpUrl) },
  /** What a new account gets from us to try it, in USD, and how many accounts a day (UTC) at most. */
  trialCredit: { variable: "PENNYBLACK_TRIAL_CREDIT", read: withDefault<Micros>(0n, usd) },
  trialsPerDay: { variable: "PENNYBLACK_TRIALS_PER_DAY", read: withDefault(100, integer(0, 1_000_000)) },
  /** Payments are on where it is set, for the server and the worker. */
  stripeSecretKey: { variable: "PENNYBLACK_STRIPE_SECRET_KEY", read: optional(secretWord) },
  /** What Stripe signs its webhooks with. While it is replaced: both, separated by a comma. */
  stripeWebhookSecrets: {
    variable: "PENNYBLACK_STRIPE_WEBHOOK_SECRET",
    read: withStripe(withDefault<string[]>([], (text) => text.split(",").map((part) => secretWord(part.trim())))),
  },
  /** Elsewhere than at Stripe: a proxy, or a stand-in for tests. */
  stripeUrl: { variable: "PENNYBLACK_STRIPE_URL", read: withStripe(optional(httpUrl)) },
  /** What one top-up may be, in USD. */
  topUpMin: { variable: "PENNYBLACK_TOP_UP_MIN", read: withDefault(5_000_000n, topUpAmount) },
  topUpMax: { variable: "PENNYBLACK_TOP_UP_MAX", read: topUpMost },
  /** Where a vulnerability is reported, for /.well-known/security.txt. */
  securityContact: { variable: "PENNYBLACK_SECURITY_CONTACT", read: optional(urlOf("mailto:", "https:")) },
  /** "alice:<token>,bob:<token>": who may read /operator/* on the internal listener. */
  operators: { variable: "PENNYBLACK_OPERATORS", read: withDefault<Operator[]>([], operatorTokens) },
  /** Whose X-Forwarded-For is believed. */
  trustedProxies: { variable: "PENNYBLACK_TRUSTED_PROXIES", read: withDefault<string[]>([], addresses) },
  /** How many servers share the limits: each one's share while Redis is away. */
  servers: { variable: "PENNYBLACK_SERVERS", read: withDefault(1, integer(1, 10_000)) },
  /** How long a stopping server keeps serving, so that balancers can look away. */
  drainMs: { variable: "PENNYBLACK_DRAIN_MS", read: withDefault(5_000, integer(0, 300_000)) },
  /** `npm run failover`: how long the primary may be away, and how long it waits for a replica that is. */
  failoverDeadMs: { variable: "PENNYBLACK_FAILOVER_DEAD_MS", read: withDefault(2_000, integer(500, 600_000)) },
  failoverAloneMs: { variable: "PENNYBLACK_FAILOVER_ALONE_MS", read: withDefault(10_000, integer(500, 600_000)) },
  /** For development and tests: webhooks over plain HTTP and to addresses of our own network. */
  webhooksAllowPrivate: {
    variable: "PENNYBLACK_WEBHOOKS_ALLOW_PRIVATE",
    read: withDefault(false, (text) => oneOf("true", "false")(text) === "true"),
  },
  /** "smtps://user:password@mail.example": without it, nobody is told by e-mail. */
  smtpUrl: { variable: "PENNYBLACK_SMTP_URL", read: together("PENNYBLACK_MAIL_FROM", urlOf("smtp:", "smtps:")) },
  mailFrom: { variable: "PENNYBLACK_MAIL_FROM", read: together("PENNYBLACK_SMTP_URL", mailAddress) },
  /** Whether whoever signs in may open an account, or only those may who are known or invited. */
  signUp: { variable: "PENNYBLACK_SIGN_UP", read: withDefault("closed", oneOf("open", "closed")) },
  /** Sign-in to the console through an OpenID Connect provider. */
  oidcIssuer: {
    variable: "PENNYBLACK_OIDC_ISSUER",
    read: together("PENNYBLACK_OIDC_CLIENT_ID", urlOf("https:", "http:")),
  },
  oidcClientId: { variable: "PENNYBLACK_OIDC_CLIENT_ID", read: together("PENNYBLACK_OIDC_ISSUER", (text) => text) },
  oidcClientSecret: { variable: "PENNYBLACK_OIDC_CLIENT_SECRET", read: together("PENNYBLACK_OIDC_ISSUER", secretWord) },
  /** What its button says. */
  oidcName: { variable: "PENNYBLACK_OIDC_NAME", read: together("PENNYBLACK_OIDC_ISSUER", (text) => text) },
  /** Searches and entries that are older are archived and leave the database. Without it everything stays. */
  retentionDays: {
    variable: "PENNYBLACK_RETENTION_DAYS",
    read: together("PENNYBLACK_ARCHIVE", integer(35, 36_500)),
  },
  archive: { variable: "PENNYBLACK_ARCHIVE", read: together("PENNYBLACK_RETENTION_DAYS", (text) => text) },
  logLevel: {
    variable: "PENNYBLACK_LOG_LEVEL",
    read: withDefault("info", oneOf("debug", "info", "warn", "error", "silent")),
  },
  /** A collector of traces, over OTLP and HTTP; /v1/traces is below it. Without it nothing is traced. */
  otlpEndpoint: { variable: "OTEL_EXPORTER_OTLP_ENDPOINT", read: optional(httpUrl) },
  /** Which searches are traced, by the names that OpenTelemetry gives the choices. */
  tracesSampler: {
    variable: "OTEL_TRACES_SAMPLER",
    read: withDefault(
      "parentbased_always_on",
      oneOf(
        ...["", "parentbased_"].flatMap((who) => ["always_on", "always_off", "traceidratio"].map((what) => who + what)),
      ),
    ),
  },
  tracesRatio: { variable: "OTEL_TRACES_SAMPLER_ARG", read: withDefault(1, share) },
} as const;

/** What the command line and the MCP server read; a person may have both in one shell. */
const settingsOfClients = [
  "PENNYBLACK_API_KEY",
  "PENNYBLACK_URL",
  "PENNYBLACK_MANAGEMENT_KEY",
  "PENNYBLACK_MCP_BUDGET",
  "PENNYBLACK_MCP_TOKEN",
];

/** A misspelt setting would otherwise be ignored in silence. */
function unknownSettings(environment: NodeJS.ProcessEnv): string[] {
  const known = new Set<string>([
    ...Object.values(settings).map((setting) => setting.variable),
    ...adapters.flatMap(upstreamVariables),
    ...settingsOfClients,
  ]);
  return Object.keys(environment)
    .filter((name) => name.startsWith("PENNYBLACK_") && !name.startsWith("PENNYBLACK_TEST_") && !known.has(name))
    .map((name) => `${name} is not a setting`);
}
