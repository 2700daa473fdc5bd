// Import rules. ARCHITECTURE.md describes the layers; these rules enforce them.
//
//   entry points                         wire modules and start them
//     -> app.ts, app/                    wiring of the HTTP server
//       -> modules                       one folder per feature of the product
//         -> http, limits, db, jobs,      infrastructure shared by every module
//            telemetry
//           -> config, problems, lib     leaves
//
// tools/check-imports.ts runs these rules. It fails if a file was not analyzed, if a name below does not exist, or if no rule
// names a folder of server/src.

// The public files of each module. Other modules import only these.
const publicFiles = {
  search: ["search"],
  wallet: ["wallet"],
  keys: ["keys"],
  providers: ["provider", "providers"],
  dialects: ["dialects"],
  ranking: ["ranking"],
  lenses: ["lenses"],
  accounts: ["accounts"],
  payments: ["payments"],
  evidence: ["evidence"],
  cells: ["cells"],
  usage: ["usage"],
  status: ["status"],
  activity: ["activity-routes"],
  webhooks: ["webhooks"],
  email: ["email"],
  operator: ["operator"],
  console: ["console"],
  mcp: ["mcp"],
  oauth: ["oauth"],
  admin: [],
};

const modules = Object.keys(publicFiles).join("|");
const anyModule = `^server/src/(?:${modules})/`;
const internalFiles = Object.entries(publicFiles).map(([module, names]) =>
  names.length === 0 ? `^server/src/${module}/` : `^server/src/${module}/(?!(?:${names.join("|")})\\.ts$)`,
);

const tests = "\\.test\\.ts$|^server/test/";
const processes =
  "^server/src/(?:main|generate|healthcheck)\\.ts$|^server/src/cells/(?:edge|fleet)-main\\.ts$|^server/src/(?:jobs|admin|lenses)/main\\.ts$|^server/src/admin/providers-main\\.ts$|^server/src/dev/";
// Harnesses may import internal files and start the processes they measure.
const harnesses = "^(?:bench|deploy|eval/record)/";
const wiring = `${processes}|^server/src/app\\.ts$|^server/src/app/|^server/src/jobs/(?:create-worker|task-dependencies)\\.ts$|^server/src/admin/run-admin\\.ts$`;

/** @type {import("dependency-cruiser").IConfiguration} */
module.exports = {
  forbidden: [
    {
      name: "no-cycles",
      comment: "Break the cycle by merging the files or moving the shared part to a third.",
      severity: "error",
      from: {},
      to: { circular: true },
    },
    {
      name: "no-unresolved",
      comment: "An unresolved import would escape every other rule.",
      severity: "error",
      from: {},
      to: { couldNotResolve: true },
    },
    {
      name: "public-files-only",
      comment:
        "Other modules import only a module's public file, which usually has the module's name. Wiring and tests may import any file.",
      severity: "error",
      from: { path: `^server/src/(${modules})/`, pathNot: [tests, wiring] },
      to: { path: internalFiles, pathNot: "^server/src/$1/" },
    },
    {
      name: "search-receives-its-dependencies",
      comment:
        "search receives keys, wallet, providers and ranking as functions from app/; it imports only their types.",
      severity: "error",
      from: { path: "^server/src/search/", pathNot: tests },
      to: { path: "^server/src/(?:keys|wallet|providers|ranking)/", dependencyTypesNot: ["type-only"] },
    },
    {
      name: "providers-and-ranking-are-independent",
      comment: "Upstream adapters and ranking depend only on lib and problems.",
      severity: "error",
      from: { path: "^server/src/(providers|ranking)/", pathNot: tests },
      to: {
        path: "^(?:server|sdk|cli|mcp|ai-sdk|console|tools)/",
        pathNot: ["^server/src/$1/", "^server/src/lib/", "^server/src/problems/"],
      },
    },
    {
      name: "infrastructure-imports-no-modules",
      comment: "http, limits, db, jobs, telemetry and lib are used by every module and import none.",
      severity: "error",
      from: { path: "^server/src/(?:http|limits|db|jobs|telemetry|lib)/", pathNot: [tests, wiring] },
      to: { path: anyModule },
    },
    {
      name: "infrastructure-below-http",
      comment: "db, jobs, telemetry and lib do not depend on HTTP.",
      severity: "error",
      from: { path: "^server/src/(?:db|jobs|telemetry|lib)/", pathNot: [tests, wiring] },
      to: { path: "^server/src/http/" },
    },
    {
      name: "sites-are-wired-by-app",
      comment: "Pages and files are served by routes that app/ registers; generate.ts reads the routes.",
      severity: "error",
      from: { path: "^server/src/", pathNot: [tests, wiring, "^server/src/sites/"] },
      to: { path: "^server/src/sites/" },
    },
    {
      name: "api-docs-are-written-by-generate",
      comment: "The description of the API is made from the routes by generate.ts and the site; nothing else needs it.",
      severity: "error",
      from: {
        path: "^server/src/",
        pathNot: [
          tests,
          "^server/src/(?:api-docs|sites)/",
          "^server/src/generate\\.ts$",
          "^server/src/app/site-routes\\.ts$",
        ],
      },
      to: { path: "^server/src/api-docs/" },
    },
    {
      name: "evidence-is-wired-and-verified",
      comment: "Receipts, proofs and roots are made from the ledger's rows; no other module depends on them.",
      severity: "error",
      from: { path: "^server/src/", pathNot: [tests, wiring, "^server/src/(?:evidence|admin)/"] },
      to: { path: "^server/src/evidence/" },
    },
    {
      name: "cells-are-wired-and-named",
      comment: "A cell does not depend on others: only the wiring reads them, and the admin command names its own.",
      severity: "error",
      from: { path: "^server/src/", pathNot: [tests, wiring, "^server/src/(?:cells|admin)/"] },
      to: { path: "^server/src/cells/" },
    },
    {
      name: "limits-are-independent",
      comment: "Limits depend only on lib and problems, so that HTTP, MCP and modules can apply them.",
      severity: "error",
      from: { path: "^server/src/limits/", pathNot: tests },
      to: { path: "^(?:server|sdk|cli|mcp|ai-sdk|console|tools)/", pathNot: "^server/src/(?:limits|lib|problems)/" },
    },
    {
      name: "lib-imports-only-packages",
      comment: "lib imports only packages and Node modules.",
      severity: "error",
      from: { path: "^server/src/lib/", pathNot: tests },
      to: { path: "^(?:server|sdk|cli|mcp|ai-sdk|console|tools)/", pathNot: "^server/src/lib/" },
    },
    {
      name: "config-and-problems-are-leaves",
      comment: "Every module imports config and problems, so they import only lib and each other. Types are allowed.",
      severity: "error",
      from: { path: "^server/src/(?:config|problems)/", pathNot: tests },
      to: {
        path: "^server/",
        pathNot: "^server/src/(?:lib|config|problems)/",
        dependencyTypesNot: ["type-only"],
      },
    },
    {
      name: "only-processes-import-app",
      comment: "Modules do not import the wiring.",
      severity: "error",
      from: { pathNot: [tests, wiring] },
      to: { path: "^server/src/app(?:\\.ts$|/)" },
    },
    {
      name: "processes-are-not-imported",
      comment: "Importing an entry point starts the process.",
      severity: "error",
      from: { pathNot: [tests, harnesses, "^server/src/dev/"] },
      to: { path: processes },
    },
    {
      name: "one-file-calls-upstreams",
      comment:
        "Limits, deadlines and redirects are set in one place: call-provider.ts for upstreams, deliver.ts for webhooks. A lint rule allows the global fetch only in cells/operator-client.ts, which reads from other cells.",
      severity: "error",
      from: {
        path: "^server/src/",
        pathNot: [tests, "^server/src/(?:providers/call-provider|webhooks/deliver)\\.ts$"],
      },
      to: { path: "(?:^|/)node_modules/undici/|^undici(?:/|$)" },
    },
    {
      name: "one-file-signs-webhooks",
      comment: "Webhook signing is in one file.",
      severity: "error",
      from: { path: "^server/src/", pathNot: [tests, "^server/src/webhooks/sign\\.ts$"] },
      to: { path: "(?:^|/)node_modules/standardwebhooks/|^standardwebhooks(?:/|$)" },
    },
    {
      name: "one-file-signs-receipts",
      comment: "Signatures of receipts and roots are created and verified in one file, and access tokens in another.",
      severity: "error",
      from: { path: "^server/src/", pathNot: [tests, "^server/src/(?:lib/sign-jws|oauth/verify-access-token)\\.ts$"] },
      to: { path: "(?:^|/)node_modules/jose/|^jose(?:/|$)" },
    },
    {
      name: "one-file-calls-stripe",
      comment: "Every Stripe call carries our idempotency keys and returns our types. Types are allowed.",
      severity: "error",
      from: { path: "^server/src/", pathNot: [tests, "^server/src/payments/stripe\\.ts$"] },
      to: { path: "(?:^|/)node_modules/stripe/|^stripe(?:/|$)", dependencyTypesNot: ["type-only"] },
    },
    {
      name: "one-file-calls-openid-providers",
      comment: "Validation of OpenID Connect responses is in one file.",
      severity: "error",
      from: { path: "^server/src/", pathNot: [tests, "^server/src/console/oidc\\.ts$"] },
      to: { path: "(?:^|/)node_modules/openid-client/|^openid-client(?:/|$)" },
    },
    {
      name: "no-raw-sockets-in-modules",
      comment: "node:http and similar modules would bypass call-provider.ts. Types are allowed.",
      severity: "error",
      from: { path: anyModule, pathNot: [tests, wiring, "^server/src/providers/call-provider\\.ts$"] },
      to: { path: "^(?:node:)?(?:http|https|http2|tls|dgram)$", dependencyTypesNot: ["type-only"] },
    },
    {
      name: "no-tests-in-product",
      comment: "Production code imports no tests and no test support.",
      severity: "error",
      from: { path: "^(?:server|sdk|cli|mcp|ai-sdk|console)/", pathNot: tests },
      to: { path: tests },
    },
    {
      name: "server-imports-no-clients",
      comment: "The server does not import its clients. Tests may.",
      severity: "error",
      from: { path: "^server/", pathNot: tests },
      to: { path: "^(?:sdk|cli|mcp|ai-sdk|console|tools|bench|eval)/" },
    },
    {
      name: "sdk-has-no-dependencies",
      comment: "The SDK runs in Node and in browsers without dependencies.",
      severity: "error",
      from: { path: "^sdk/", pathNot: tests },
      to: { pathNot: "^sdk/", dependencyTypesNot: ["core"] },
    },
    {
      name: "cli-and-mcp-use-the-api",
      comment: "The CLI, the MCP program and the tool for the AI SDK use only the public API.",
      severity: "error",
      from: { path: "^(cli|mcp|ai-sdk)/", pathNot: tests },
      to: { path: "^(?:server|console|cli|mcp|ai-sdk|tools)/", pathNot: "^$1/" },
    },
    {
      name: "overspend-is-independent",
      comment: "pennyblack-overspend tests any gateway and has no dependencies.",
      severity: "error",
      from: { path: "^overspend/", pathNot: tests },
      to: { pathNot: "^overspend/", dependencyTypesNot: ["core"] },
    },
    {
      name: "console-uses-http",
      comment: "The console calls the server only over HTTP.",
      severity: "error",
      from: { path: "^console/src/", pathNot: tests },
      to: { path: "^(?:server|cli|mcp|ai-sdk|tools)/" },
    },
    {
      name: "tools-are-independent",
      comment: "A check must not depend on the code it checks.",
      severity: "error",
      from: { path: "^tools/" },
      to: { path: "^(?:server|sdk|cli|mcp|ai-sdk|console)/" },
    },
  ],
  options: {
    // TypeScript 7 has no JavaScript API: without this setting the cruise finds 0 modules and reports success.
    parser: "swc",
    tsPreCompilationDeps: true,
    combinedDependencies: true,
    doNotFollow: { path: "node_modules" },
    enhancedResolveOptions: {
      exportsFields: ["exports"],
      conditionNames: ["@pennyblack/source", "import", "node", "default", "types"],
      extensions: [".ts", ".tsx", ".js", ".mjs", ".cjs", ".json"],
    },
  },
};
