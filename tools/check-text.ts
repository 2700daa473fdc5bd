// Rules that neither the compiler nor the linter can see: they are about what a file says, not what it does.
// Each rule is a function from the repository's files to sentences about what is wrong; check-text.test.ts plants
// one fault for each.

import { execFileSync } from "node:child_process";
import { lstatSync, readFileSync } from "node:fs";
import { basename } from "node:path";
import { unloggedApiChange } from "./check-changelog.ts";
import { deadLinks } from "./check-links.ts";
import { missingFromLock } from "./complete-lock.ts";

type Files = ReadonlyMap<string, string>;

const moneyTables = [
  "wallets",
  "searches",
  "transfers",
  "idempotency",
  "payments",
  "refunds",
  "key_budgets",
  "run_budgets",
  "trials",
  "trial_days",
  "top_ups",
  "auto_top_ups",
  "reversals",
  "receivables",
  "manual_credits",
  "openings",
  "budget_openings",
];

export function findFaults(files: Files): string[] {
  return [
    ...moneyTablesStayInTheWallet(files),
    ...environmentIsReadOnce(files),
    ...noPathsOfOneMachine(files),
    ...noRegistryInTheLock(files),
    ...lockIsComplete(files),
    ...everyTodoHasAnIssue(files),
    ...migrationsGoForward(files),
    ...fileNamesSayWhatTheyHold(files),
    ...everyDependencyIsExplained(files),
    ...versionsAreExact(files),
    ...deadLinks(files),
    ...unloggedApiChange(files),
  ];
}

/** Only wallet/ may write down the name of a money table, so that every statement that moves money is in one folder. */
function moneyTablesStayInTheWallet(files: Files): string[] {
  const name = new RegExp(`"?\\bpb"?\\."?(?:${moneyTables.join("|")})`);
  return matchingLines(files, name)
    .filter(({ path }) => path.startsWith("server/src/") && !path.startsWith("server/src/wallet/"))
    .map(({ at, match }) => `${at}: names the money table ${match}; only server/src/wallet/ may`);
}

function environmentIsReadOnce(files: Files): string[] {
  const read =
    /\bprocess\s*(?:\?\.|\.)\s*env\b|\bprocess\[["']env["']\]|\benv\b[^=\n]*\}\s*=\s*process\b|from ["'](?:node:)?process["']/;
  return matchingLines(files, read)
    .filter(({ path }) => path.startsWith("server/src/") && path !== "server/src/config.ts")
    .map(({ at }) => `${at}: reads the environment; only server/src/config.ts may`);
}

function noPathsOfOneMachine(files: Files): string[] {
  return matchingLines(files, /(?:^|[\s"'`(=:,[]|file:\/\/)\/(?:work|root|home)\/[\w.-]/).map(
    ({ at, match }) => `${at}: names a path of one machine (${match.trim()}...)`,
  );
}

/** npm ci must work behind any mirror, so the lock file holds hashes and no hosts. */
function noRegistryInTheLock(files: Files): string[] {
  const locks = new Map([...files].filter(([path]) => basename(path) === "package-lock.json"));
  return matchingLines(locks, /"resolved": "https?:[^"]*"|\bregistry\.[\w.-]+/).map(
    ({ at, match }) => `${at}: names a package host (${match}); see omit-lockfile-registry-resolved in .npmrc`,
  );
}

function lockIsComplete(files: Files): string[] {
  return missingFromLock(files.get("package-lock.json") ?? "{}").map(
    ({ name }) => `package-lock.json: lacks ${name}, so npm ci will refuse it; run npm run lock:complete`,
  );
}

function everyTodoHasAnIssue(files: Files): string[] {
  return matchingLines(files, /\b(?:T[O]DO|F[I]XME|X[X]X)\b(?!\(#\d+\))/)
    .filter(({ path }) => /\.(?:ts|tsx|cjs|mjs|sql|sh|ya?ml)$|^\.ci\//.test(path))
    .map(({ at, match }) => `${at}: ${match} without an issue number; write ${match}(#123)`);
}

function migrationsGoForward(files: Files): string[] {
  const migrations = [...files].filter(([path]) => path.startsWith("server/migrations/")).toSorted(byPath);
  return migrations.flatMap(([path, text], index) => {
    const number = String(index + 1).padStart(4, "0");
    return [
      ...(/^\d{4}_[a-z0-9_]+\.sql$/.test(basename(path)) ? [] : [`${path}: is not named like 0007_expire_holds.sql`]),
      ...(basename(path).startsWith(number) ? [] : [`${path}: its number should be ${number}`]),
      ...(/^-- \S/.test(text) ? [] : [`${path}: does not open with a comment that says why`]),
      ...(/^\s*--\s*down migration/im.test(text) ? [`${path}: has a way down; migrations only go forward`] : []),
    ];
  });
}

function fileNamesSayWhatTheyHold(files: Files): string[] {
  return [...files.keys()]
    .filter((path) => /(?:^|\/)(?:utils?|helpers?|common|types|misc|index)(?:\.test)?\.tsx?$/.test(path))
    .map((path) => `${path}: a file is named after what it exports`);
}

/** docs/decisions/dependencies.md has one row for each dependency of each package.json, and no row for anything else. */
function everyDependencyIsExplained(files: Files): string[] {
  const page = "docs/decisions/dependencies.md";
  const rows = new Set([...(files.get(page) ?? "").matchAll(/^\| `([^`]+)` \|/gm)].map((match) => match[1] ?? ""));
  const declared = dependencies(files);
  const names = new Set(declared.map(({ name }) => name));
  return [
    ...declared.filter(({ name }) => !rows.has(name)).map(({ path, name }) => `${path}: ${name} has no row in ${page}`),
    ...[...rows].filter((name) => !names.has(name)).map((name) => `${page}: ${name} is in no package.json`),
  ];
}

function versionsAreExact(files: Files): string[] {
  return dependencies(files)
    .filter(({ version }) => !/^\d+\.\d+\.\d+(?:-[\w.]+)?$/.test(version))
    .map(({ path, name, version }) => `${path}: ${name} is ${version}; write one exact version`);
}

function dependencies(files: Files): { path: string; name: string; version: string }[] {
  const manifests = [...files].filter(([path]) => /^(?:[a-z]+\/)?package\.json$/.test(path));
  return manifests.flatMap(([path, text]) => {
    const manifest = JSON.parse(text) as Record<string, Record<string, string> | undefined>;
    const kinds = ["dependencies", "devDependencies", "optionalDependencies", "peerDependencies"];
    return kinds
      .flatMap((kind) => Object.entries(manifest[kind] ?? {}))
      .filter(([name]) => !name.startsWith("@pennyblack/"))
      .map(([name, version]) => ({ path, name, version }));
  });
}

function matchingLines(files: Files, pattern: RegExp): { path: string; at: string; match: string }[] {
  return [...files].flatMap(([path, text]) =>
    text.split("\n").flatMap((line, index) => {
      const match = pattern.exec(line)?.[0];
      return match === undefined ? [] : [{ path, at: `${path}:${index + 1}`, match }];
    }),
  );
}

function byPath([left]: [string, string], [right]: [string, string]): number {
  return left < right ? -1 : 1;
}

/** Every file that is tracked or would be, as text. A file that holds a zero byte is not text, and is empty here. */
function repositoryFiles(): Files {
  // The owner of a checkout in CI is often someone else; reading a list of names is safe all the same.
  const list = ["-c", "safe.directory=*", "ls-files", "-z", "--cached", "--others", "--exclude-standard"];
  const paths = execFileSync("git", list, { encoding: "utf8", maxBuffer: 1 << 26 })
    .split("\0")
    .filter(Boolean);
  // Git still lists a file that was deleted but not yet committed, and names links as well.
  const present = paths.filter((path) => lstatSync(path, { throwIfNoEntry: false })?.isFile());
  const texts = present.map((path): [string, string] => [path, readFileSync(path, "utf8")]);
  return new Map(texts.map(([path, text]) => [path, text.includes("\0") ? "" : text]));
}

if (import.meta.main) {
  const files = repositoryFiles();
  const faults = files.size === 0 ? ["git listed no files"] : findFaults(files);
  for (const fault of faults) console.error(fault);
  console.log(`${files.size} files, ${faults.length} faults in the text`);
  process.exitCode = faults.length === 0 ? 0 : 1;
}
