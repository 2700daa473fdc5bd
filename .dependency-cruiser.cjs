// Who may import whom. The picture is in ARCHITECTURE.md; this file is what makes it true.
//
//   main, generate, dev, jobs/main, admin/main,
//   providers/main, failover/main                           processes: wire things and start them
//     -> app                                       the only wiring of the HTTP server
//       -> slices                                  one folder for each thing the product does
//         -> http, db, jobs, telemetry             what is true of every request, query, job
//           -> problems, lib                       leaves
//
// tools/check-imports.ts runs these rules and also fails when a file was not looked at.

// A slice is entered by the file that bears its name, in the singular or the plural.
const frontDoors = {
  search: "search",
  wallet: "wallet",
  keys: "keys?",
  providers: "providers?",
  ranking: "ranking",
  lenses: "lenses",
  accounts: "accounts?",
  payments: "payments?",
  usage: "usage",
  webhooks: "webhooks?",
  operator: "operator",
  "docs-site": "docs-site",
  console: "console",
  admin: "admin",
};

const slices = Object.keys(frontDoors).join("|");
const anySlice = `^server/src/(?:${slices})/`;
const backRooms = Object.entries(frontDoors)
  .map(([slice, door]) => `${slice}/(?!${door}\\.ts$)`)
  .join("|");

const tests = "\\.test\\.ts$|^server/test/";
const processes =
  "^server/src/(?:main|generate|healthcheck)\\.ts$|^server/src/(?:jobs|admin|providers|lenses|failover)/main\\.ts$|^server/src/dev/";
// Harnesses may look into every room, and start what they measure.
const harnesses = "^(?:bench|deploy)/";
const wiring = `${processes}|^server/src/app\\.ts$`;

/** @type {import("dependency-cruiser").IConfiguration} */
module.exports = {
  forbidden: [
    {
      name: "no-cycles",
      comment: "Two files that need each other are one file, or a third one is missing.",
      severity: "error",
      from: {},
      to: { circular: true },
    },
    {
      name: "no-unresolved",
      comment: "An import that leads nowhere would escape every other rule.",
      severity: "error",
      from: {},
      to: { couldNotResolve: true },
    },
    {
      name: "slices-by-the-front-door",
      comment: "Another slice is entered by the file that bears its name. Only the wiring and tests see more.",
      severity: "error",
      from: { path: `^server/src/(${slices})/`, pathNot: [tests, wiring] },
      to: { path: `^server/src/(?:${backRooms})`, pathNot: "^server/src/$1/" },
    },
    {
      name: "search-is-handed-its-neighbours",
      comment:
        "app.ts hands keys, wallet, providers and ranking to search as functions; only their types are imported.",
      severity: "error",
      from: { path: "^server/src/search/", pathNot: tests },
      to: { path: "^server/src/(?:keys|wallet|providers|ranking)/", dependencyTypesNot: ["type-only"] },
    },
    {
      name: "providers-and-ranking-stand-alone",
      comment: "An upstream adapter or a ranking rule can be read, tested and replaced knowing only lib and problems.",
      severity: "error",
      from: { path: "^server/src/(providers|ranking)/", pathNot: [tests, processes] },
      to: {
        path: "^(?:server|sdk|cli|mcp|console|tools)/",
        pathNot: ["^server/src/$1/", "^server/src/lib/", "^server/src/problems\\.ts$"],
      },
    },
    {
      name: "nothing-below-knows-the-slices",
      comment: "http, db, jobs, telemetry and lib serve every slice and know none.",
      severity: "error",
      from: { path: "^server/src/(?:http|db|jobs|telemetry|lib)/", pathNot: [tests, wiring] },
      to: { path: anySlice },
    },
    {
      name: "nothing-below-knows-http",
      comment: "A query, a job or a metric does not know that a request asked for it.",
      severity: "error",
      from: { path: "^server/src/(?:db|jobs|telemetry|lib)/", pathNot: [tests, wiring] },
      to: { path: "^server/src/http/" },
    },
    {
      name: "lib-imports-nothing-of-ours",
      comment: "lib is what could be published tomorrow: packages and Node only.",
      severity: "error",
      from: { path: "^server/src/lib/", pathNot: tests },
      to: { path: "^(?:server|sdk|cli|mcp|console|tools)/", pathNot: "^server/src/lib/" },
    },
    {
      name: "config-and-problems-are-leaves",
      comment:
        "Every slice reads them, so they may import lib and each other only, and the list of providers, whose settings config reads. Types are fine.",
      severity: "error",
      from: { path: "^server/src/(?:config|read-setting|read-upstreams|problems|problem-row|console-problems)\\.ts$" },
      to: {
        path: "^server/",
        pathNot: [
          "^server/src/lib/",
          "^server/src/(?:config|read-setting|read-upstreams|problems|problem-row|console-problems|providers/providers)\\.ts$",
        ],
        dependencyTypesNot: ["type-only"],
      },
    },
    {
      name: "only-processes-import-app",
      comment: "A slice that imports the wiring turns the house upside down.",
      severity: "error",
      from: { pathNot: [tests, processes, "^server/src/(?:app|console-rooms)\\.ts$"] },
      to: { path: "^server/src/(?:app|doors|console-rooms|operator-rooms)\\.ts$" },
    },
    {
      name: "nobody-imports-a-process",
      comment: "Importing a process starts it.",
      severity: "error",
      from: { pathNot: [tests, harnesses, "^server/src/dev/"] },
      to: { path: processes },
    },
    {
      name: "one-file-talks-to-upstreams",
      comment:
        "Limits, deadlines and redirects are set once for each outside party: upstreams in call-provider.ts, receivers of webhooks in deliver.ts. (The global fetch is a lint rule.)",
      severity: "error",
      from: {
        path: "^server/src/",
        pathNot: [tests, "^server/src/(?:providers/call-provider|webhooks/deliver)\\.ts$"],
      },
      to: { path: "(?:^|/)node_modules/undici/|^undici(?:/|$)" },
    },
    {
      name: "one-file-signs-webhooks",
      comment: "What is signed, and how, is read in one place.",
      severity: "error",
      from: { path: "^server/src/", pathNot: [tests, "^server/src/webhooks/sign\\.ts$"] },
      to: { path: "(?:^|/)node_modules/standardwebhooks/|^standardwebhooks(?:/|$)" },
    },
    {
      name: "one-file-talks-to-stripe",
      comment: "Whatever is asked of Stripe bears our idempotency keys and comes back in our words. Types are fine.",
      severity: "error",
      from: { path: "^server/src/", pathNot: [tests, "^server/src/payments/stripe\\.ts$"] },
      to: { path: "(?:^|/)node_modules/stripe/|^stripe(?:/|$)", dependencyTypesNot: ["type-only"] },
    },
    {
      name: "one-file-talks-to-openid-providers",
      comment: "What is believed of a provider, and how it is checked, is read in one place.",
      severity: "error",
      from: { path: "^server/src/", pathNot: [tests, "^server/src/console/oidc\\.ts$"] },
      to: { path: "(?:^|/)node_modules/openid-client/|^openid-client(?:/|$)" },
    },
    {
      name: "no-raw-sockets-in-slices",
      comment: "node:http and friends would walk around call-provider.ts. Their types are fine.",
      severity: "error",
      from: { path: anySlice, pathNot: [tests, wiring, "^server/src/providers/call-provider\\.ts$"] },
      to: { path: "^(?:node:)?(?:http|https|http2|tls|dgram)$", dependencyTypesNot: ["type-only"] },
    },
    {
      name: "no-tests-in-the-product",
      comment: "What runs in production imports neither tests nor their harness.",
      severity: "error",
      from: { path: "^(?:server|sdk|cli|mcp|console)/", pathNot: tests },
      to: { path: tests },
    },
    {
      name: "server-stands-alone",
      comment: "The server does not know its clients. Tests may.",
      severity: "error",
      from: { path: "^server/", pathNot: tests },
      to: { path: "^(?:sdk|cli|mcp|console|tools|bench|eval)/" },
    },
    {
      name: "sdk-imports-nothing",
      comment: "The SDK has no dependencies: Node or a browser is enough.",
      severity: "error",
      from: { path: "^sdk/", pathNot: tests },
      to: { pathNot: "^sdk/", dependencyTypesNot: ["core"] },
    },
    {
      name: "cli-and-mcp-stand-on-sdk",
      comment: "They do what any customer can do, and nothing else.",
      severity: "error",
      from: { path: "^(cli|mcp)/", pathNot: tests },
      to: { path: "^(?:server|console|cli|mcp|tools)/", pathNot: "^$1/" },
    },
    {
      name: "console-talks-http",
      comment: "The console reaches the server over HTTP only.",
      severity: "error",
      from: { path: "^console/", pathNot: tests },
      to: { path: "^(?:server|cli|mcp|tools)/" },
    },
    {
      name: "tools-stand-alone",
      comment: "A guard must not depend on what it guards.",
      severity: "error",
      from: { path: "^tools/" },
      to: { path: "^(?:server|sdk|cli|mcp|console)/" },
    },
  ],
  options: {
    // TypeScript 7 has no JavaScript API: without this line the cruise finds 0 modules and calls that a success.
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
