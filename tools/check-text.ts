// Checks of the repository's text that neither the compiler nor the linter covers. Each rule is a function from all files
// to a list of violations; check-text.test.ts has a test case for each.

import { execFileSync } from "node:child_process";
import { lstatSync, readFileSync } from "node:fs";
import { basename, dirname, join } from "node:path";
import { isDeepStrictEqual } from "node:util";
import { missingChangelogEntry } from "./check-changelog.ts";
import { duplicatedParagraphs } from "./check-duplicates.ts";
import { findLanguageViolations } from "./check-language.ts";
import { brokenLinks } from "./check-links.ts";
import { unknownPackageNames } from "./check-package-names.ts";
import { missingFromLock } from "./complete-lock.ts";
import { versionDifferences } from "./release/versions.ts";

type Files = ReadonlyMap<string, string>;

/** Money tables without a column for an amount: amounts in JSON, or rows that decide whether money moves. */
const moneyTablesWithoutAmount = ["closed_months", "idempotency", "refunds", "trial_days"];

/** Tables of amounts that are only reports: no balance and no limit depends on them, and usage/ reads them. */
const reportTables = ["abandoned_calls", "upstream_days", "upstream_wallet_days", "usage_days", "usage_hours"];

export function findViolations(files: Files): string[] {
  return [
    ...moneyTablesOutsideWallet(files),
    ...environmentOutsideConfig(files),
    ...absolutePaths(files),
    ...registryHostsInLock(files),
    ...incompleteLock(files),
    ...staleLock(files),
    ...todosWithoutIssue(files),
    ...invalidMigrations(files),
    ...genericFileNames(files),
    ...undocumentedDependencies(files),
    ...inexactVersions(files),
    ...brokenLinks(files),
    ...duplicatedParagraphs(files),
    ...unknownScripts(files),
    ...missingChangelogEntry(files),
    ...versionDifferences(files),
    ...unknownPackageNames(files),
    ...findLanguageViolations(files),
  ];
}

/** Only wallet/ may use money tables, so that every statement that moves money is in one folder. evidence/ reads them. */
function moneyTablesOutsideWallet(files: Files): string[] {
  const withAmount = tablesWithAmount(files.get("server/sql/schema.sql") ?? "");
  const unknown = reportTables.filter((table) => !withAmount.includes(table));
  if (unknown.length > 0) return [`tools/check-text.ts: server/sql/schema.sql has no amounts in ${unknown.join(", ")}`];
  const tables = withAmount.filter((table) => !reportTables.includes(table)).concat(moneyTablesWithoutAmount);
  const name = `"?\\bpb"?\\."?(?:${tables.join("|")})`;
  const written = new RegExp(`\\b(?:insert into|update|delete from|truncate) (?:only )?${name}`, "i");
  const reading = "server/src/evidence/";
  const found = [
    ...matchingLines(files, new RegExp(name)).filter(({ path }) => !path.startsWith(reading)),
    ...matchingLines(files, written).filter(({ path }) => path.startsWith(reading)),
  ];
  return found
    .filter(({ path }) => path.startsWith("server/src/") && !path.startsWith("server/src/wallet/"))
    .map(({ location, match }) => `${location}: uses the money table ${match}; allowed only in server/src/wallet/`);
}

/** Tables and views with a column that ends in "micros". */
function tablesWithAmount(schema: string): string[] {
  const definitions = [...schema.matchAll(/^CREATE (?:TABLE|VIEW) pb\.(\w+)[^;]*;/gm)];
  return definitions.flatMap(([text, table = ""]) => (/micros\b/.test(text) ? [table] : []));
}

function environmentOutsideConfig(files: Files): string[] {
  const read =
    /\bprocess\s*(?:\?\.|\.)\s*env\b|\bprocess\[["']env["']\]|\benv\b[^=\n]*\}\s*=\s*process\b|from ["'](?:node:)?process["']/;
  // The second file only writes it, in samples.
  const allowed = ["server/src/config/config.ts", "server/src/api-docs/render-samples.ts"];
  return matchingLines(files, read)
    .filter(({ path }) => path.startsWith("server/src/") && !allowed.includes(path))
    .map(({ location }) => `${location}: reads the environment; allowed only in server/src/config/config.ts`);
}

function absolutePaths(files: Files): string[] {
  return matchingLines(files, /(?:^|[\s"'`(=:,[]|file:\/\/)\/(?:work|root|home)\/[\w.-]/).map(
    ({ location, match }) => `${location}: absolute path (${match.trim()}...)`,
  );
}

/** npm ci must work with any registry mirror, so the lock file must not contain hosts. */
function registryHostsInLock(files: Files): string[] {
  const locks = new Map([...files].filter(([path]) => basename(path) === "package-lock.json"));
  return matchingLines(locks, /"resolved": "https?:[^"]*"|\bregistry\.[\w.-]+/).map(
    ({ location, match }) => `${location}: registry host (${match}); see omit-lockfile-registry-resolved in .npmrc`,
  );
}

function incompleteLock(files: Files): string[] {
  const locks = [...files].filter(([path]) => basename(path) === "package-lock.json");
  return locks.flatMap(([path, text]) =>
    missingFromLock(text).map(
      ({ name }) => `${path}: ${name} is missing, so npm ci will fail; run npm run lock:complete`,
    ),
  );
}

/** npm install writes these fields of our own packages to the lock file, so a difference would dirty a fresh clone. */
function staleLock(files: Files): string[] {
  const fields = ["version", "license", "workspaces", "engines", "dependencies", "devDependencies", "peerDependencies"];
  const locks = [...files].filter(([path]) => basename(path) === "package-lock.json");
  return locks.flatMap(([path, text]) => {
    const { packages = {} } = JSON.parse(text) as { packages?: Record<string, Record<string, unknown>> };
    const own = Object.entries(packages).filter(([folder]) => !folder.includes("node_modules/"));
    return own.flatMap(([folder, entry]) => {
      const manifestPath = join(dirname(path), folder, "package.json");
      const manifest = JSON.parse(files.get(manifestPath) ?? "{}") as Record<string, unknown>;
      const differing = fields.filter((field) => !isDeepStrictEqual(entry[field], manifest[field]));
      return differing.length === 0
        ? []
        : [`${path}: differs from ${manifestPath} (${differing.join(", ")}); run npm install`];
    });
  });
}

function todosWithoutIssue(files: Files): string[] {
  return matchingLines(files, /\b(?:T[O]DO|F[I]XME|X[X]X)\b(?!\(#\d+\))/)
    .filter(({ path }) => /\.(?:ts|tsx|cjs|mjs|sql|sh|ya?ml)$|^\.ci\//.test(path))
    .map(({ location, match }) => `${location}: ${match} without an issue number; write ${match}(#123)`);
}

function invalidMigrations(files: Files): string[] {
  const migrations = [...files].filter(([path]) => path.startsWith("server/migrations/")).toSorted(byPath);
  return migrations.flatMap(([path, text], index) => {
    const number = String(index + 1).padStart(4, "0");
    return [
      ...(/^\d{4}_[a-z0-9_]+\.sql$/.test(basename(path)) ? [] : [`${path}: not named like 0007_expire_holds.sql`]),
      ...(basename(path).startsWith(number) ? [] : [`${path}: number should be ${number}`]),
      ...(/^-- \S/.test(text) ? [] : [`${path}: does not start with a comment that gives the reason`]),
      ...(/^\s*--\s*down migration/im.test(text) ? [`${path}: has a down migration; migrations only go forward`] : []),
    ];
  });
}

function genericFileNames(files: Files): string[] {
  return [...files.keys()]
    .filter((path) => /(?:^|\/)(?:utils?|helpers?|common|types|misc|index)(?:\.test)?\.tsx?$/.test(path))
    .map((path) => `${path}: generic name; name the file after its exports`);
}

/** docs/decisions/dependencies.md must have exactly one row for each dependency in any package.json. */
function undocumentedDependencies(files: Files): string[] {
  const page = "docs/decisions/dependencies.md";
  const rows = new Set([...(files.get(page) ?? "").matchAll(/^\| `([^`]+)` \|/gm)].map((match) => match[1] ?? ""));
  const declared = dependencies(files);
  const names = new Set(declared.map(({ name }) => name));
  return [
    ...declared.filter(({ name }) => !rows.has(name)).map(({ path, name }) => `${path}: ${name} has no row in ${page}`),
    ...[...rows].filter((name) => !names.has(name)).map((name) => `${page}: ${name} is in no package.json`),
  ];
}

/** Docs must not name a script that package.json does not have. Decisions describe the past. */
function unknownScripts(files: Files): string[] {
  const { scripts = {} } = JSON.parse(files.get("package.json") ?? "{}") as { scripts?: Record<string, string> };
  const pages = [...files].filter(([path]) => path.endsWith(".md") && !path.startsWith("docs/decisions/"));
  return pages.flatMap(([path, text]) => {
    const named = [...text.matchAll(/\bnpm run (?:--silent )?([a-z][\w:-]*)/g)].map(([, name = ""]) => name);
    const unknown = new Set(named).difference(new Set(Object.keys(scripts)));
    return [...unknown].map((name) => `${path}: package.json has no script ${name}`);
  });
}

function inexactVersions(files: Files): string[] {
  return dependencies(files)
    .filter(({ version }) => !/^(?:npm:[@\w/-]+@)?\d+\.\d+\.\d+(?:-[\w.]+)?$/.test(version))
    .map(({ path, name, version }) => `${path}: ${name} is ${version}; use an exact version`);
}

function dependencies(files: Files): { path: string; name: string; version: string }[] {
  const manifests = [...files].filter(([path]) => /^(?:[a-z]+\/|tools\/on-demand\/[a-z]+\/)?package\.json$/.test(path));
  return manifests.flatMap(([path, text]) => {
    const manifest = JSON.parse(text) as Record<string, Record<string, string> | undefined>;
    const kinds = ["dependencies", "devDependencies", "optionalDependencies", "peerDependencies"];
    return kinds
      .flatMap((kind) => Object.entries(manifest[kind] ?? {}))
      .filter(([name]) => !name.startsWith("@pennyblack/"))
      .map(([name, version]) => ({ path, name, version }));
  });
}

function matchingLines(files: Files, pattern: RegExp): { path: string; location: string; match: string }[] {
  return [...files].flatMap(([path, text]) =>
    text.split("\n").flatMap((line, index) => {
      const match = pattern.exec(line)?.[0];
      return match === undefined ? [] : [{ path, location: `${path}:${index + 1}`, match }];
    }),
  );
}

function byPath([left]: [string, string], [right]: [string, string]): number {
  return left < right ? -1 : 1;
}

/** All tracked and untracked files that are not ignored. Binary files (with a zero byte) are returned as empty. */
function readRepositoryFiles(): Files {
  // In CI the checkout often belongs to another user. Listing files is still safe.
  const list = ["-c", "safe.directory=*", "ls-files", "-z", "--cached", "--others", "--exclude-standard"];
  const paths = execFileSync("git", list, { encoding: "utf8", maxBuffer: 1 << 26 })
    .split("\0")
    .filter(Boolean);
  // Git also lists symlinks and files whose deletion is not committed yet.
  const existing = paths.filter((path) => lstatSync(path, { throwIfNoEntry: false })?.isFile());
  const texts = existing.map((path): [string, string] => [path, readFileSync(path, "utf8")]);
  return new Map(texts.map(([path, text]) => [path, text.includes("\0") ? "" : text]));
}

if (import.meta.main) {
  const files = readRepositoryFiles();
  const violations = files.size === 0 ? ["git listed no files"] : findViolations(files);
  for (const violation of violations) console.error(violation);
  console.log(`${files.size} files, ${violations.length} text violations`);
  process.exitCode = violations.length === 0 ? 0 : 1;
}
