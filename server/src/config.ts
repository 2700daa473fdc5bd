import { isIP } from "node:net";
import { fileURLToPath } from "node:url";
import type { Operator } from "./http/operators.ts";
import type { Pepper } from "./keys/keys.ts";
import { type Micros, parseUsd } from "./lib/money.ts";
import type { Adapter, FieldNames, Provider } from "./providers/provider.ts";
import { adapters } from "./providers/providers.ts";

// The only reader of the environment. Every setting is checked before anything starts, and all faults are told
// at once. A fault names the setting and the rule, never the value, which may be a secret.

export type Config = { readonly [Name in keyof typeof settings]: ReturnType<(typeof settings)[Name]["read"]> };

export class ConfigFaults extends Error {
  readonly faults: readonly string[];

  constructor(faults: readonly string[]) {
    super(`The configuration has ${faults.length} fault(s):\n${faults.map((fault) => `  - ${fault}`).join("\n")}`);
    this.faults = faults;
  }
}

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
  "logLevel",
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
  /** For development and tests: webhooks over plain HTTP and to addresses of our own network. */
  webhooksAllowPrivate: {
    variable: "PENNYBLACK_WEBHOOKS_ALLOW_PRIVATE",
    read: withDefault(false, (text) => oneOf("true", "false")(text) === "true"),
  },
  /** "smtps://user:password@mail.example": without it, nobody is told by e-mail. */
  smtpUrl: { variable: "PENNYBLACK_SMTP_URL", read: together("PENNYBLACK_MAIL_FROM", urlOf("smtp:", "smtps:")) },
  mailFrom: { variable: "PENNYBLACK_MAIL_FROM", read: together("PENNYBLACK_SMTP_URL", mailAddress) },
  logLevel: {
    variable: "PENNYBLACK_LOG_LEVEL",
    read: withDefault("info", oneOf("debug", "info", "warn", "error", "silent")),
  },
} as const;

class Fault extends Error {}

type Parse<Value> = (text: string) => Value;

function required<Value>(parse: Parse<Value>) {
  return (text: string | undefined): Value => {
    if (text === undefined) throw new Fault("is required");
    return parse(text);
  };
}

function optional<Value>(parse: Parse<Value>) {
  return (text: string | undefined): Value | undefined => (text === undefined ? undefined : parse(text));
}

function withDefault<Value>(value: Value, parse: Parse<Value>) {
  return (text: string | undefined): Value => (text === undefined ? value : parse(text));
}

/** Two settings that mean something only together. */
function together<Value>(other: string, parse: Parse<Value>) {
  return (text: string | undefined, environment: NodeJS.ProcessEnv): Value | undefined => {
    if (text === undefined) return undefined;
    if (!environment[other]?.trim()) throw new Fault(`does nothing without ${other}`);
    return parse(text);
  };
}

function mailAddress(text: string): string {
  if (!/^[^@\r\n]+@[^@\r\n]+$/.test(text)) throw new Fault('must look like "Pennyblack <alerts@example.com>"');
  return text;
}

function integer(least: number, most: number): Parse<number> {
  return (text) => {
    const value = Number(text);
    if (!/^\d+$/.test(text) || value < least || value > most)
      throw new Fault(`must be an integer from ${least} to ${most}`);
    return value;
  };
}

function usd(text: string): Micros {
  const amount = parseUsd(text);
  if (amount === undefined) throw new Fault("must be an amount in USD such as 0.50");
  return amount;
}

function oneOf(...choices: string[]): Parse<string> {
  return (text) => {
    if (!choices.includes(text)) throw new Fault(`must be one of ${choices.join(", ")}`);
    return text;
  };
}

function urlOf(...protocols: string[]): Parse<string> {
  return (text) => {
    if (!URL.canParse(text) || !protocols.includes(new URL(text).protocol)) {
      throw new Fault(`must be a URL that begins with ${protocols.join(" or ")}`);
    }
    return text;
  };
}

function postgresUrl(text: string): string {
  return urlOf("postgres:", "postgresql:")(text);
}

function httpUrl(text: string): string {
  const url = new URL(urlOf("http:", "https:")(text));
  if (url.username || url.password || url.search || url.hash)
    throw new Fault("must not have credentials, a query or a fragment");
  return url.href.replace(/\/$/, "");
}

function secretWord(text: string): string {
  if (!/^[\x21-\x7e]{8,}$/.test(text)) throw new Fault("must be 8 or more printable characters without spaces");
  return text;
}

/** Half a dollar is the least that a card is charged: https://docs.stripe.com/currencies#minimum-and-maximum-charge-amounts */
function topUpAmount(text: string): Micros {
  const amount = parseUsd(text);
  if (amount === undefined || amount < 500_000n || amount > 999_999_000_000n || amount % 10_000n !== 0n) {
    throw new Fault("must be an amount in whole cents from 0.50 to 999999.00");
  }
  return amount;
}

function topUpMost(text: string | undefined, environment: NodeJS.ProcessEnv): Micros {
  const most = text === undefined ? 1_000_000_000n : topUpAmount(text);
  const least = parseUsd(environment["PENNYBLACK_TOP_UP_MIN"]?.trim() || "5.00");
  if (least !== undefined && most < least) throw new Fault("must not be less than PENNYBLACK_TOP_UP_MIN");
  return most;
}

/** For what does nothing without the key: more likely the key was forgotten. */
function withStripe<Value>(read: (text: string | undefined) => Value) {
  return (text: string | undefined, environment: NodeJS.ProcessEnv): Value => {
    if (text !== undefined && !environment["PENNYBLACK_STRIPE_SECRET_KEY"]?.trim()) {
      throw new Fault("does nothing without PENNYBLACK_STRIPE_SECRET_KEY");
    }
    return read(text);
  };
}

function secretBytes(text: string): Buffer {
  const bytes = Buffer.from(text, "base64");
  if (bytes.length < 32) throw new Fault("must be at least 32 random bytes in base64 (openssl rand -base64 32)");
  return bytes;
}

/** Highest version first. */
function peppers(text: string): Pepper[] {
  const list = text.split(",").map((part) => {
    const match = /^\s*([1-9]\d{0,3}):(.+)$/.exec(part);
    if (!match) throw new Fault('must look like "1:<base64>" or "1:<base64>,2:<base64>"');
    return { version: Number(match[1]), bytes: secretBytes(match[2] ?? "") };
  });
  if (new Set(list.map((pepper) => pepper.version)).size < list.length) throw new Fault("names a version twice");
  return list.toSorted((a, b) => b.version - a.version);
}

function operatorTokens(text: string): Operator[] {
  const list = text.split(",").map((part) => {
    const [, name, token] = /^\s*([\w.@-]{1,64}):(\S{32,})\s*$/.exec(part) ?? [];
    if (!name || !token) throw new Fault('must look like "alice:<token>", a token having 32 characters or more');
    return { name, token };
  });
  if (new Set(list.map(({ name }) => name)).size < list.length) throw new Fault("names an operator twice");
  return list;
}

function addresses(text: string): string[] {
  const list = text.split(",").map((part) => part.trim());
  for (const entry of list) {
    const [address = "", bits = "0", ...rest] = entry.split("/");
    const mostBits = isIP(address) === 6 ? 128 : 32;
    if (isIP(address) === 0 || !/^\d{1,3}$/.test(bits) || Number(bits) > mostBits || rest.length > 0) {
      throw new Fault("must be addresses or networks, separated by commas");
    }
  }
  return list;
}

function upstreams(order: string | undefined, environment: NodeJS.ProcessEnv): Provider[] {
  const faults: string[] = [];
  const switchedOn = new Map<string, Provider>();
  for (const adapter of adapters) {
    try {
      const provider = readUpstream(adapter, environment);
      if (provider) switchedOn.set(adapter.name, provider);
    } catch (error) {
      if (!(error instanceof Fault)) throw error;
      faults.push(error.message);
    }
  }
  const names = order?.split(",").map((name) => name.trim());
  if (names && (new Set(names).size < names.length || !names.every((name) => switchedOn.has(name)))) {
    const choices = [...switchedOn.keys()].join(", ") || "none so far";
    faults.push(`PENNYBLACK_UPSTREAMS must name providers that have their settings (${choices}), each once`);
  }
  if (faults.length > 0) throw new ConfigFaults(faults);
  if (names) return names.flatMap((name) => switchedOn.get(name) ?? []);
  return [...switchedOn.values()].toSorted((a, b) => Number(a.costMicros(10) - b.costMicros(10)));
}

/** The provider, or nothing where the operator has not switched it on. */
function readUpstream(adapter: Adapter, environment: NodeJS.ProcessEnv): Provider | undefined {
  const { name, usualUrl, usualFields } = adapter;
  const [switchName = "", ...others] = upstreamVariables(adapter);
  const given = (part: string): string | undefined => environment[upstreamVariable(name, part)]?.trim() || undefined;
  if (!environment[switchName]?.trim()) {
    const idle = others.find((variable) => environment[variable]?.trim());
    if (idle !== undefined) throw new Fault(`${idle} does nothing without ${switchName}`);
    return undefined;
  }
  const key = given("KEY") ?? "";
  if (!/^[\x20-\x7e]*$/.test(key)) throw new Fault(`${upstreamVariable(name, "KEY")} must be printable ASCII`);
  const named = <Value>(part: string, parse: Parse<Value>, usual: Value | undefined): Value | undefined => {
    const text = given(part);
    try {
      return text === undefined ? usual : parse(text);
    } catch (error) {
      throw error instanceof Fault ? new Fault(`${upstreamVariable(name, part)} ${error.message}`) : error;
    }
  };
  const fields = named("FIELDS", fieldNames, usualFields) ?? { title: "title", url: "url", snippet: "snippet" };
  return adapter.create({ url: named("URL", httpUrl, usualUrl) ?? "", key, fields });
}

function fieldNames(text: string): FieldNames {
  const [title, url, snippet, ...rest] = text.split(",").map((part) => part.trim());
  if (!title || !url || !snippet || rest.length > 0) throw new Fault('must look like "title,url,body"');
  return { title, url, snippet };
}

/** The setting that switches a provider on, then the others it has. */
export function upstreamVariables({ name, key, usualFields }: Adapter): string[] {
  const parts = key === "required" ? ["KEY", "URL"] : ["URL", ...(key === "optional" ? ["KEY"] : [])];
  return [...parts, ...(usualFields ? ["FIELDS"] : [])].map((part) => upstreamVariable(name, part));
}

function upstreamVariable(provider: string, part: string): string {
  return `PENNYBLACK_${provider.toUpperCase()}_${part}`;
}

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
