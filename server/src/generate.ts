import { execFileSync } from "node:child_process";
import { existsSync, mkdirSync, readdirSync, readFileSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { Type } from "typebox";
import { formatJson } from "./api-docs/format-json.ts";
import { describeRoutes, exampleOf } from "./api-docs/openapi.ts";
import { problemMembers } from "./api-docs/problem-schema.ts";
import type { ReferenceExample } from "./api-docs/reference-example.ts";
import { renderExamples } from "./api-docs/render-examples.ts";
import { renderLimits } from "./api-docs/render-limits.ts";
import { fieldTable, type OpenapiDocument, renderReference } from "./api-docs/render-reference.ts";
import { resolveReferences } from "./api-docs/resolve-references.ts";
import { type ApiDependencies, apiRoutes } from "./app/api-routes.ts";
import { networkLimits } from "./app/console-app.ts";
import { constants } from "./config/constants.ts";
import { renderProviderSettings, renderSettings } from "./config/settings-page.ts";
import { maxAttempts, maxEmailsFromNetwork, maxEmailsTo, maxInvitations } from "./console/sign-in-limits.ts";
import { maxOpenInvitations } from "./console/team-routes.ts";
import { checksumOfSchema, parseVersion } from "./db/schema-files.ts";
import { dialects } from "./dialects/dialects.ts";
import { renderTable } from "./dialects/render-table.ts";
import { maxSearches } from "./keys/key-body.ts";
import { renderScopes } from "./keys/scopes.ts";
import { insertGenerated } from "./lib/insert-generated.ts";
import { version } from "./lib/version.ts";
import { poolParts } from "./limits/admission.ts";
import { maxInvalidPerMinute } from "./limits/key-guessing.ts";
import { managementLimits } from "./limits/request-limits.ts";
import { unpaidCalls } from "./limits/unpaid-limit.ts";
import { type ProblemCode, problemCodes, problemRow } from "./problems/problems.ts";
import { adapters } from "./providers/providers.ts";
import { testRequestsFactor } from "./search/limit-searches.ts";
import { publicRoutes } from "./sites/public-routes.ts";
import { statusRoutes } from "./status/status.ts";
import { renderMetricsPage } from "./telemetry/metrics-page.ts";
import { maxHolds } from "./wallet/wallet.ts";
import { renderEvents } from "./webhooks/event-types.ts";

// `npm run generate` writes openapi.json and the reference in docs from the routes, docs/problems from problems.ts,
// the tables in docs/compat from the dialects, the scopes in docs/api-keys.md from scopes.ts, the events in docs/webhooks.md
// from event-types.ts, the tables in docs/rate-limits.md from the constants, docs/metrics.md from metric-table.ts,
// docs/settings.md from config/settings.ts, docs/examples.md from examples, docs/changelog.md from CHANGELOG.md, the chart's
// alert rules, and server/sql/VERSION.
// With --check it fails if any is stale.

const root = new URL("../../", import.meta.url);
const description = openapi();
const files = new Map<string, string>([
  ["openapi.json", description],
  ["docs/problems.md", problemIndex()],
  ["docs/changelog.md", changelog()],
  ["docs/metrics.md", renderMetricsPage()],
  ["docs/examples.md", renderExamples(examples())],
  ["docs/settings.md", settingsPage()],
  ["docs/api-keys.md", insertGenerated(readOrEmpty("docs/api-keys.md"), "server/src/keys/scopes.ts", renderScopes())],
  [
    "docs/webhooks.md",
    insertGenerated(readOrEmpty("docs/webhooks.md"), "server/src/webhooks/event-types.ts", renderEvents()),
  ],
  ["docs/rate-limits.md", limitsPage()],
  ["server/sql/VERSION", schemaVersion()],
  // A chart can contain only files from its own folder.
  ["deploy/helm/pennyblack/files/rules.yml", alertRules()],
]);
const reference = renderReference(resolveReferences(JSON.parse(description) as OpenapiDocument), readExamples());
for (const [page, text] of reference) files.set(`docs/${page}.md`, text);
for (const dialect of dialects) {
  const page = `docs/compat/${dialect.name}.md`;
  files.set(page, insertGenerated(readOrEmpty(page), "server/src/dialects", renderTable(dialect)));
}
for (const code of problemCodes) files.set(`docs/problems/${code}.md`, problemMarkdown(code));

if (process.argv.includes("--check")) check();
else write();

function openapi(): string {
  // The routes are only described, never called, so they need no dependencies.
  const dependencies = { runner: {}, lenses: {}, publicUrl: "", management: {} } as ApiDependencies;
  const site = { publicUrl: "", securityContact: undefined, hasDocs: () => false, jwks: undefined };
  const status = statusRoutes(() => Promise.reject(new Error("only described")));
  const routes = [
    ...apiRoutes(dependencies),
    ...status,
    ...publicRoutes({ ...site, readOpenapi: () => Buffer.alloc(0) }),
  ];
  return `${formatJson(describeRoutes(routes, { version, serverUrl: "https://pennyblack.example" }))}\n`;
}

/** The text of each example by file name. */
function examples(): Map<string, string> {
  const names = readdirSync(new URL("examples/", root)).filter((name) => /(?<!\.test)\.(?:ts|py)$/.test(name));
  return new Map(names.toSorted().map((name) => [name, readOrEmpty(`examples/${name}`)]));
}

function settingsPage(): string {
  const page = insertGenerated(readOrEmpty("docs/settings.md"), "server/src/config/settings.ts", renderSettings());
  return insertGenerated(page, "server/src/providers", renderProviderSettings(adapters));
}

function limitsPage(): string {
  const { requests, signIn, slots } = renderLimits({
    ...constants,
    searchesOfKey: maxSearches,
    walletTestRequests: constants.walletTestRate * testRequestsFactor,
    management: managementLimits,
    network: networkLimits,
    unpaidCalls,
    invalidKeysPerMinute: maxInvalidPerMinute,
    waitingHolds: maxHolds,
    signIn: {
      attempts: maxAttempts,
      emailsFromNetwork: maxEmailsFromNetwork,
      emailsTo: maxEmailsTo,
      invitations: maxInvitations,
    },
    openInvitations: maxOpenInvitations,
    pools: poolParts,
  });
  const page = insertGenerated(readOrEmpty("docs/rate-limits.md"), "server/src/limits", requests);
  const withSignIn = insertGenerated(page, "server/src/console/sign-in-limits.ts", signIn);
  return insertGenerated(withSignIn, "server/src/limits/admission.ts", slots);
}

/** All groups in one file. */
function alertRules(): string {
  const [objectives = "", others = ""] = ["objectives", "pennyblack"].map((name) =>
    readFileSync(new URL(`deploy/prometheus/rules/${name}.yml`, root), "utf8"),
  );
  return others + objectives.slice(objectives.indexOf("\ngroups:\n") + "\ngroups:\n".length);
}

/** The recorded requests and responses of the reference, which `npm run docs:examples` writes. */
function readExamples(): Record<string, ReferenceExample> {
  return JSON.parse(readOrEmpty("server/src/api-docs/reference-examples.json")) as Record<string, ReferenceExample>;
}

function problemMarkdown(code: ProblemCode): string {
  const { status, title, retryable, cause, fix } = problemRow(code);
  const retry = retryable ? "The same request can succeed later." : "A retry fails until the cause is removed.";
  const members = problemMembers[code];
  return [
    "<!-- Generated from server/src/problems/problems.ts by `npm run generate`. -->",
    `# ${title}`,
    `\`${status} ${code}\`: you were not charged. ${retry}`,
    "## Cause",
    cause,
    "## Fix",
    fix,
    "## Example",
    `\`\`\`json\n${JSON.stringify(exampleOf(code), null, 2)}\n\`\`\``,
    ...(members === undefined ? [] : ["## Fields", fieldTable(Type.Object(members))]),
    "[Errors and retries](../errors.md) describes the fields of every problem.",
    "",
  ].join("\n\n");
}

function problemIndex(): string {
  const rows = problemCodes.map((code) => {
    const { status, title, retryable } = problemRow(code);
    return `| ${status} | [\`${code}\`](problems/${code}.md) | ${title} | ${retryable ? "yes" : "no"} |`;
  });
  return [
    "<!-- Generated from server/src/problems/problems.ts by `npm run generate`. -->",
    "# Problems",
    "Every error has one of these codes. Errors are never charged. See [Errors and retries](errors.md) for how to handle them.",
    ["| Status | Code | Meaning | Retry |", "| --- | --- | --- | --- |", ...rows].join("\n"),
    "",
  ].join("\n\n");
}

/** Raises the committed version by one if the migrations or server/sql differ from the committed ones. */
function schemaVersion(): string {
  const checksum = checksumOfSchema();
  const current = parseVersion(readOrEmpty("server/sql/VERSION"));
  if (current.checksum === checksum) return `${current.version} ${checksum}\n`;
  const show = ["-c", "safe.directory=*", "show", "HEAD:server/sql/VERSION"];
  const committed = parseVersion(execFileSync("git", show, { cwd: root, encoding: "utf8" }));
  return `${committed.version + 1} ${checksum}\n`;
}

/** Links in CHANGELOG.md are relative to the repository, those of the site to docs/. */
function changelog(): string {
  const text = readFileSync(new URL("CHANGELOG.md", root), "utf8");
  return `<!-- Generated from CHANGELOG.md by \`npm run generate\`. -->\n\n${text.replaceAll("](docs/", "](")}`;
}

/** Of the folders in which every page is generated. */
function existingPages(): string[] {
  return ["docs/problems/", "docs/reference/"].flatMap((folder) => {
    mkdirSync(new URL(folder, root), { recursive: true });
    return readdirSync(new URL(folder, root)).map((name) => `${folder}${name}`);
  });
}

function check(): void {
  const stale = [...files].filter(([name, text]) => readOrEmpty(name) !== text).map(([name]) => name);
  const orphaned = existingPages().filter((name) => !files.has(name));
  if (stale.length + orphaned.length === 0) return;
  process.stderr.write(`Stale: ${[...stale, ...orphaned].join(", ")}. Run: npm run generate\n`);
  process.exitCode = 1;
}

function write(): void {
  for (const name of existingPages()) if (!files.has(name)) rmSync(new URL(name, root));
  // Renamed into place, so that readers never see a partial file.
  for (const [name, text] of files) {
    writeFileSync(new URL(`${name}.new`, root), text);
    renameSync(new URL(`${name}.new`, root), new URL(name, root));
  }
  process.stdout.write(`Wrote ${files.size} files.\n`);
}

function readOrEmpty(name: string): string {
  const url = new URL(name, root);
  return existsSync(url) ? readFileSync(url, "utf8") : "";
}
