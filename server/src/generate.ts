import { mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { describeRoutes, exampleOf } from "./http/openapi.ts";
import { publicRoutes } from "./http/public-routes.ts";
import { type OpenapiDocument, renderReference } from "./http/render-reference.ts";
import type { Route } from "./http/route.ts";
import { type KeyRouteParts, keyRoutes } from "./keys/key-routes.ts";
import { lensRoutes } from "./lenses/lens-routes.ts";
import type { LensFolder } from "./lenses/lenses.ts";
import { autoTopUpRoutes } from "./payments/auto-top-up-routes.ts";
import { type TopUpRouteParts, topUpRoutes } from "./payments/top-up-routes.ts";
import { webhookRoute } from "./payments/webhook-route.ts";
import { type ProblemCode, problemCodes, problemRow } from "./problems.ts";
import type { SearchParts } from "./search/search.ts";
import { searchRoutes } from "./search/search-routes.ts";
import { type UsageRouteParts, usageRoutes } from "./usage/usage-routes.ts";
import { version } from "./version.ts";
import { alertRoutes } from "./wallet/alert-routes.ts";
import { type WalletRouteParts, walletRoutes } from "./wallet/wallet-routes.ts";
import { deliveryRoutes } from "./webhooks/delivery-routes.ts";
import { type WebhookRouteParts, webhookRoutes } from "./webhooks/webhook-routes.ts";

// `npm run generate` writes openapi.json, docs/reference.md and docs/problems/*.md from the routes and the table of
// problems, and docs/changelog.md from CHANGELOG.md.
// With --check it writes nothing and fails if they are stale.

const root = new URL("../../", import.meta.url);
const description = openapi();
const files = new Map<string, string>([
  ["openapi.json", description],
  ["docs/reference.md", renderReference(JSON.parse(description) as OpenapiDocument)],
  ["docs/problems.md", problemIndex()],
  ["docs/changelog.md", changelog()],
]);
for (const code of problemCodes) files.set(`docs/problems/${code}.md`, problemMarkdown(code));

if (process.argv.includes("--check")) check();
else write();

function openapi(): string {
  // Described, never called: the parts behind the routes are not needed.
  const nothing = {} as LensFolder &
    SearchParts &
    WalletRouteParts &
    KeyRouteParts &
    UsageRouteParts &
    WebhookRouteParts &
    TopUpRouteParts;
  const routes: Route[] = [
    ...searchRoutes(nothing),
    ...lensRoutes(nothing, ""),
    ...walletRoutes(nothing),
    ...keyRoutes(nothing),
    ...usageRoutes(nothing),
    ...alertRoutes(nothing),
    ...webhookRoutes(nothing),
    ...deliveryRoutes(nothing),
    ...topUpRoutes(nothing),
    ...autoTopUpRoutes(nothing),
    webhookRoute(nothing),
    ...publicRoutes({ publicUrl: "", securityContact: undefined, hasDocs: false, readOpenapi: () => Buffer.alloc(0) }),
  ];
  return `${JSON.stringify(describeRoutes(routes, { version, serverUrl: "http://localhost:8080" }), null, 2)}\n`;
}

function problemMarkdown(code: ProblemCode): string {
  const { status, title, retryable, page } = problemRow(code);
  return [
    "<!-- Generated from server/src/problems.ts by `npm run generate`. -->",
    `# ${title}`,
    `\`${status} ${code}\``,
    page,
    `- **Charged:** nothing. An error never costs anything.`,
    `- **Retry:** ${retryable ? "yes, the same request can succeed later." : "no, the same request fails again."}`,
    `\`\`\`json\n${JSON.stringify(exampleOf(code), null, 2)}\n\`\`\``,
    "",
  ].join("\n\n");
}

function problemIndex(): string {
  const rows = problemCodes.map((code) => {
    const { status, title, retryable } = problemRow(code);
    return `| ${status} | [\`${code}\`](problems/${code}.md) | ${title} | ${retryable ? "yes" : "no"} |`;
  });
  return [
    "<!-- Generated from server/src/problems.ts by `npm run generate`. -->",
    "# Problems",
    "Every refusal has one of these codes, and charges nothing. [Errors and retries](errors.md) says what to do with them.",
    ["| Status | Code | Means | Retry |", "| --- | --- | --- | --- |", ...rows].join("\n"),
    "",
  ].join("\n\n");
}

/** The changelog's links begin at the root of the repository, those of the site in docs/. */
function changelog(): string {
  const text = readFileSync(new URL("CHANGELOG.md", root), "utf8");
  return `<!-- Generated from CHANGELOG.md by \`npm run generate\`. -->\n\n${text.replaceAll("](docs/", "](")}`;
}

function existingPages(): string[] {
  return readdirSync(new URL("docs/problems/", root)).map((name) => `docs/problems/${name}`);
}

function check(): void {
  const stale = [...files].filter(([name, text]) => readOrEmpty(name) !== text).map(([name]) => name);
  const orphaned = existingPages().filter((name) => !files.has(name));
  if (stale.length + orphaned.length === 0) return;
  process.stderr.write(`Stale: ${[...stale, ...orphaned].join(", ")}. Run: npm run generate\n`);
  process.exitCode = 1;
}

function write(): void {
  mkdirSync(new URL("docs/problems/", root), { recursive: true });
  for (const name of existingPages()) if (!files.has(name)) rmSync(new URL(name, root));
  for (const [name, text] of files) writeFileSync(new URL(name, root), text);
  process.stdout.write(`Wrote ${files.size} files.\n`);
}

function readOrEmpty(name: string): string {
  try {
    return readFileSync(new URL(name, root), "utf8");
  } catch (error) {
    if (error instanceof Error && "code" in error && error.code === "ENOENT") return "";
    throw error;
  }
}
