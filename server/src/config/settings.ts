import { fileURLToPath } from "node:url";
import type { Pooler } from "../db/pool.ts";
import type { Operator } from "../http/operator-auth.ts";
import type { Micros } from "../lib/money.ts";
import {
  addresses,
  cellName,
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
import { upstreams } from "./parse-upstreams.ts";

// Every setting, with its parser and its description in docs/settings.md. `defaultText` replaces a default that cannot be
// derived from the parser.

const withStripe = <Value>(parse: Parse<Value>) => onlyWith("PENNYBLACK_STRIPE_SECRET_KEY", parse);

const databasesAndListeners = {
  ledgerDatabaseUrl: {
    variable: "DATABASE_URL",
    read: required(postgresUrl),
    description: "PostgreSQL as `pennyblack_ledger`, for paid searches",
  },
  /** Only `npm run dev` uses it as an admin URL. The server it starts gets a different one. */
  devDatabaseUrl: { variable: "DATABASE_URL", read: optional(postgresUrl) },
  tenantDatabaseUrl: {
    variable: "PENNYBLACK_TENANT_DATABASE_URL",
    read: required(postgresUrl),
    description: "PostgreSQL as `pennyblack_tenant`, for the data of one wallet at a time",
  },
  paymentsDatabaseUrl: {
    variable: "PENNYBLACK_PAYMENTS_DATABASE_URL",
    read: requiredWith("PENNYBLACK_STRIPE_SECRET_KEY", postgresUrl),
    description: "PostgreSQL as `pennyblack_payments`. Required with `PENNYBLACK_STRIPE_SECRET_KEY`",
  },
  operatorDatabaseUrl: {
    variable: "PENNYBLACK_OPERATOR_DATABASE_URL",
    read: optional(postgresUrl),
    description: "PostgreSQL as `pennyblack_operator`, for `/operator/*`",
  },
  peopleDatabaseUrl: {
    variable: "PENNYBLACK_PEOPLE_DATABASE_URL",
    read: optional(postgresUrl),
    description: "PostgreSQL as `pennyblack_people`, for sign-in to the [console](#console)",
  },
  databasePooler: {
    variable: "PENNYBLACK_DATABASE_POOLER",
    read: withDefault<Pooler>("none", oneOf("none", "transaction")),
    description: "`transaction` if the URLs above point to [PgBouncer](operate.md#pgbouncer) in transaction mode",
  },
  workerDatabaseUrl: {
    variable: "PENNYBLACK_WORKER_DATABASE_URL",
    read: required(postgresUrl),
    description: "PostgreSQL as `pennyblack_worker`, not through a transaction pooler",
  },
  directDatabaseUrl: {
    variable: "PENNYBLACK_DIRECT_DATABASE_URL",
    read: required(postgresUrl),
    description:
      "PostgreSQL as `pennyblack_owner` or, for [some commands](operate.md#database-roles-of-the-admin-command), a narrower login. Not through a transaction pooler, and without `options`. A worker needs it only for retention",
  },
  /** The same for a worker that archives and drops old days. */
  retentionDatabaseUrl: {
    variable: "PENNYBLACK_DIRECT_DATABASE_URL",
    read: requiredWith("PENNYBLACK_RETENTION_DAYS", postgresUrl),
  },
  adminDatabaseUrl: {
    variable: "PENNYBLACK_ADMIN_DATABASE_URL",
    read: optional(postgresUrl),
    description: "PostgreSQL as a superuser, with which `npm run migrate` creates the roles",
  },
  redisUrl: {
    variable: "REDIS_URL",
    read: optional(urlOf("redis:", "rediss:")),
    description: "Redis or Valkey. Without it, each server enforces limits on its own",
  },
  host: {
    variable: "HOST",
    read: withDefault("0.0.0.0", (text) => text),
    description: "Address of the API",
  },
  port: {
    variable: "PORT",
    read: withDefault(8080, integer(0, 65_535)),
    description: "Port of the API",
  },
  opsHost: {
    variable: "PENNYBLACK_OPS_HOST",
    read: withDefault("127.0.0.1", (text) => text),
    description: "Address of the internal listener: health, metrics, operator API",
  },
  opsPort: {
    variable: "PENNYBLACK_OPS_PORT",
    defaultText: "`9090`, worker `9091`",
    read: withDefault(9090, integer(0, 65_535)),
    description: "Port of the internal listener",
  },
  /** The same for a worker, whose default differs because it can run beside a server. */
  workerOpsPort: { variable: "PENNYBLACK_OPS_PORT", read: withDefault(9091, integer(0, 65_535)) },
  publicUrl: {
    variable: "PENNYBLACK_PUBLIC_URL",
    read: withDefault("http://localhost:8080", httpUrl),
    description: "Public base URL of the API. The `type` of every error contains it",
  },
  cell: {
    variable: "PENNYBLACK_CELL",
    read: optional(cellName),
    description:
      "Name of this installation among several behind one address, such as `eu1`. See [Scaling](scaling.md). `npm run migrate` stores it in the database. It cannot be changed later",
  },
  mcpHosts: {
    variable: "PENNYBLACK_MCP_HOSTS",
    read: withDefault<string[]>([], hostNames),
    description:
      "Host names under which clients and web pages may use `/mcp`, besides those of the public URL and of this machine. Set it if a proxy forwards another `Host`",
  },
  trustedProxies: {
    variable: "PENNYBLACK_TRUSTED_PROXIES",
    read: withDefault<string[]>([], addresses),
    description:
      "Addresses or networks whose `X-Forwarded-For` is trusted. Without it, all clients behind a proxy share one limit for invalid keys, and the server [logs a warning](runbooks/unlisted-proxy.md)",
  },
} as const;

const secretsAndAccess = {
  secrets: {
    variable: "PENNYBLACK_SECRET",
    read: required(secrets),
    description:
      "32 random bytes in base64, as `<base64>` or `<base64>,<base64>`. The first one encrypts, and all of them decrypt. Protects webhook secrets and the data keys from which claims and stored answers are derived. [Rotate it](runbooks/rotate-secret.md) in steps, because servers do not start without a secret that is in use",
  },
  keyPeppers: {
    variable: "PENNYBLACK_KEY_PEPPERS",
    read: required(peppers),
    description:
      "`1:<base64>` or `2:<base64>,1:<base64>`. New keys use the first one. Keys of the others stay valid while they are listed. [Rotate them](runbooks/key-peppers.md)",
  },
  signingSeeds: {
    variable: "PENNYBLACK_SIGNING_KEYS",
    read: withDefault<Buffer[]>([], signingSeeds),
    description:
      "32 random bytes in base64, or several separated by commas. The first key signs [receipts](receipts.md) and roots, and all are published. Keep it out of the database and its backups",
  },
  operators: {
    variable: "PENNYBLACK_OPERATORS",
    read: withDefault<Operator[]>([], operatorTokens),
    description: "Operators who can use `/operator/*`, as `alice:<token>`, separated by commas",
  },
  fleet: {
    variable: "PENNYBLACK_FLEET",
    read: onlyWith("PENNYBLACK_OPERATORS", (text) => text),
    description:
      'File that lists all cells, such as `fleet.json`, for the page "Cells" of the operator console. See [Scaling](scaling.md#fleet-commands)',
  },
  securityContact: {
    variable: "PENNYBLACK_SECURITY_CONTACT",
    read: optional(urlOf("mailto:", "https:")),
    description: "`mailto:` or `https:` URL for `/.well-known/security.txt`",
  },
  signUp: {
    variable: "PENNYBLACK_SIGN_UP",
    read: withDefault("closed", oneOf("open", "closed")),
    description: "`open` allows anyone who signs in to open an account",
  },
  oidcIssuer: {
    variable: "PENNYBLACK_OIDC_ISSUER",
    read: onlyWith("PENNYBLACK_OIDC_CLIENT_ID", urlOf("https:", "http:")),
    description: "OpenID Connect provider for sign-in. Set it together with the client ID",
  },
  oidcClientId: {
    variable: "PENNYBLACK_OIDC_CLIENT_ID",
    read: onlyWith("PENNYBLACK_OIDC_ISSUER", (text) => text),
    description: "Client ID at the provider",
  },
  oidcClientSecret: {
    variable: "PENNYBLACK_OIDC_CLIENT_SECRET",
    read: onlyWith("PENNYBLACK_OIDC_ISSUER", secretText),
    description: "Client secret at the provider",
  },
} as const;

const search = {
  upstreams: {
    variable: "PENNYBLACK_UPSTREAMS",
    read: upstreams,
    defaultText: "cheapest first",
    description: "Order in which [providers](#providers) are queried, such as `brave,searxng`",
  },
  upstreamFile: {
    variable: "PENNYBLACK_UPSTREAM_FILE",
    read: optional((text) => text),
    description:
      "File with settings of [providers](#providers), one per line as `PENNYBLACK_BRAVE_KEY=<key>`. They replace those in the environment, and SIGHUP reloads them",
  },
  lenses: {
    variable: "PENNYBLACK_LENSES",
    read: withDefault(fileURLToPath(new URL("../../lenses", import.meta.url)), (text) => text),
    defaultText: "built-in lenses",
    description: "Folder with the [ranking](ranking.md) rules. SIGHUP reloads it",
  },
} as const;

const paymentsAndNotifications = {
  topUpUrl: {
    variable: "PENNYBLACK_TOP_UP_URL",
    read: optional(httpUrl),
    description: "Page where a wallet's owner tops up. A 402 links to it",
  },
  topUpMin: {
    variable: "PENNYBLACK_TOP_UP_MIN",
    read: withDefault(5_000_000n, topUpAmount),
    description: "Minimum amount of one top-up in USD",
  },
  topUpMax: {
    variable: "PENNYBLACK_TOP_UP_MAX",
    read: topUpMax,
    description: "Maximum amount of one top-up in USD",
  },
  trialCredit: {
    variable: "PENNYBLACK_TRIAL_CREDIT",
    read: withDefault<Micros>(0n, usd),
    description:
      "Trial credit for a new account in USD, for at most 100 accounts per day. `npm run migrate` stores it in the database, so run it after a change",
  },
  stripeSecretKey: {
    variable: "PENNYBLACK_STRIPE_SECRET_KEY",
    read: optional(secretText),
    description: "Enables payments",
  },
  stripeWebhookSecrets: {
    variable: "PENNYBLACK_STRIPE_WEBHOOK_SECRET",
    read: (text: string | undefined, environment: NodeJS.ProcessEnv): string[] =>
      withStripe((list) => list.split(",").map((part) => secretText(part.trim())))(text, environment) ?? [],
    description: "Signing secret of Stripe's webhooks. During a rotation, list both, separated by a comma",
  },
  smtpUrl: {
    variable: "PENNYBLACK_SMTP_URL",
    read: onlyWith("PENNYBLACK_MAIL_FROM", urlOf("smtp:", "smtps:")),
    description: "Mail server for alerts, sign-in links and invitations. Set it together with the sender",
  },
  mailFrom: {
    variable: "PENNYBLACK_MAIL_FROM",
    read: onlyWith("PENNYBLACK_SMTP_URL", mailAddress),
    description: "Sender address",
  },
  webhooksAllowPrivate: {
    variable: "PENNYBLACK_WEBHOOKS_ALLOW_PRIVATE",
    read: withDefault(false, (text) => oneOf("true", "false")(text) === "true"),
    description: "Allows webhooks to plain HTTP and private addresses, for development",
  },
} as const;

const operations = {
  servers: {
    variable: "PENNYBLACK_SERVERS",
    read: withDefault(1, integer(1, 10_000)),
    description: "Number of servers that share the limits while Redis is unavailable",
  },
  retentionDays: {
    variable: "PENNYBLACK_RETENTION_DAYS",
    read: onlyWith("PENNYBLACK_ARCHIVE", integer(35, 36_500)),
    description: "[Data retention](upgrading.md#data-retention) in days, at least 35. Set it together with the archive",
  },
  archive: {
    variable: "PENNYBLACK_ARCHIVE",
    read: onlyWith("PENNYBLACK_RETENTION_DAYS", (text) => text),
    description: "The worker's folder for archived days",
  },
  roots: {
    variable: "PENNYBLACK_ROOTS",
    read: onlyWith("PENNYBLACK_SIGNING_KEYS", (text) => text),
    description:
      "The worker's folder for [signed roots](receipts.md#roots). Copy it to a place that the database's administrators cannot change",
  },
  statusFolder: {
    variable: "PENNYBLACK_STATUS_COPY",
    read: optional((text) => text),
    description:
      "The worker's folder for a copy of the [status page](status-page.md#static-copy), which another host can serve",
  },
  otlpEndpoint: {
    variable: "OTEL_EXPORTER_OTLP_ENDPOINT",
    read: optional(httpUrl),
    description: "Collector for [traces](observability.md#traces)",
  },
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
    description: "Trace sampler. The default traces all searches, and `traceidratio` traces a fraction",
  },
  tracesRatio: {
    variable: "OTEL_TRACES_SAMPLER_ARG",
    read: withDefault(1, ratio),
    description: "Fraction of searches to trace, such as `0.01` for one in a hundred",
  },
  logLevel: {
    variable: "PENNYBLACK_LOG_LEVEL",
    read: withDefault("info", oneOf("debug", "info", "warn", "error", "silent")),
    description: "`debug`, `info`, `warn`, `error` or `silent`",
  },
} as const;

/** By the headings of docs/settings.md. */
export const settingGroups = {
  "Databases and listeners": databasesAndListeners,
  "Secrets and access": secretsAndAccess,
  Search: search,
  "Payments and notifications": paymentsAndNotifications,
  Operations: operations,
} as const;

export const settings = {
  ...databasesAndListeners,
  ...secretsAndAccess,
  ...search,
  ...paymentsAndNotifications,
  ...operations,
} as const;
