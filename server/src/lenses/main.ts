import { existsSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { Type } from "typebox";
import { Check } from "typebox/value";
import { parseOptions, print, printError, UsageError } from "../admin/command.ts";
import { readConfig } from "../config/config.ts";
import { formatTable } from "../lib/format-table.ts";
import { adapters } from "../providers/providers.ts";
import { comparePage, explainPage, type RankedResult, type SavedPage } from "./compare-pages.ts";
import { readLenses } from "./lenses.ts";
import { diffRegistries, listSources, makeRegistry, parseLists } from "./make-registries.ts";

// npm run lens -- lint | explain | diff | registries. Exit codes: 0 success, 1 a lens has faults, 2 usage error.

const usage = `Usage: npm run lens -- <command>

  lint [FOLDER]
      Check all lenses and list every fault. Default folder: the lenses of the server.
  explain PAGES.json [--category NAME] [--query WORDS]
      Rank saved pages and explain the position of each result.
  diff FOLDER PAGES.json
      Show which results the lenses in FOLDER, an edited copy, would move on saved pages.
  registries FOLDER
      Regenerate the registries from the lists in FOLDER (${listSources.map(({ file }) => file).join(", ")})
      and show every domain that changes. The date of a registry is that of its list.

PAGES.json contains a page, or a list of pages, in the upstream's order:
  {"query": "...", "category": "gov", "results": [{"url": "...", "title": "...", "snippet": "..."}]}`;

const options = {
  category: { type: "string" },
  query: { type: "string" },
  help: { type: "boolean", short: "h", default: false },
} as const;

function run(args: string[]): number {
  try {
    const { values, positionals } = parseOptions({ args, options, allowPositionals: true });
    const [command, first, second, ...rest] = positionals;
    if (values.help || command === undefined) return print(usage);
    if (command === "lint" && second === undefined) return lint(first ?? ownFolder());
    if (command === "explain" && first !== undefined && second === undefined) return explain(first, values);
    if (command === "diff" && first !== undefined && second !== undefined && rest.length === 0)
      return diff(first, second);
    if (command === "registries" && first !== undefined && second === undefined) return writeRegistries(first);
    throw new UsageError("Unknown command.");
  } catch (error) {
    if (error instanceof UsageError) return printError(`${error.message}\n\n${usage}`, 2);
    if (error instanceof InvalidLenses) return printError(error.message, 1);
    throw error;
  }
}

class InvalidLenses extends Error {}

function lint(folder: string): number {
  const { sources } = lensesOf(folder);
  const rows = sources.map(({ name, version, lambda, ruleCount, digest }) => [
    name,
    version,
    String(lambda),
    String(ruleCount),
    digest,
  ]);
  return print(formatTable(rows, ["lens", "version", "lambda", "rules", "digest"]));
}

function explain(file: string, { category, query }: { category?: string; query?: string }): number {
  const { lenses } = lensesOf(ownFolder());
  for (const saved of readPages(file)) {
    const page = { ...saved, query: query ?? saved.query, category: category ?? saved.category };
    print(`\n${page.query}${page.category === undefined ? "" : ` (${page.category})`}\n`);
    print(formatTable(explainPage(page, lenses).map(toRow), ["", "from", "tier", "why", "score", "guards", "url"]));
  }
  return 0;
}

function toRow({ position, upstreamRank, tier, why, score, guards, url }: RankedResult): string[] {
  return [String(position), String(upstreamRank), tier, why, score.toFixed(3), guards.join(" "), url];
}

function diff(folder: string, file: string): number {
  const before = lensesOf(ownFolder());
  const after = lensesOf(folder);
  let moved = 0;
  const pages = readPages(file);
  for (const page of pages) {
    const moves = comparePage(page, before.lenses, after.lenses);
    if (moves.length === 0) continue;
    moved += 1;
    print(`\n${page.query}${page.category === undefined ? "" : ` (${page.category})`}\n`);
    const rows = moves.map(({ url, before: was, after: is }) => [
      `${was.position} -> ${is.position}`,
      was.tier === is.tier ? is.tier : `${was.tier} -> ${is.tier}`,
      was.why === is.why ? is.why : `${was.why} -> ${is.why}`,
      url,
    ]);
    print(formatTable(rows, ["position", "tier", "why", "url"]));
  }
  return print(`\n${moved} of ${pages.length} pages change.`);
}

function writeRegistries(folder: string): number {
  const paths = new Map(listSources.map(({ file }) => [file, join(folder, file)]));
  const missing = [...paths.values()].find((path) => !existsSync(path));
  if (missing !== undefined) throw new UsageError(`File not found: ${missing}`);
  const lists = parseLists(new Map([...paths].map(([file, path]) => [file, readFileSync(path, "utf8")])));
  for (const source of listSources) {
    const path = join(ownFolder(), `${source.name}.registry`);
    const retrieved = statSync(join(folder, source.file)).mtime.toISOString().slice(0, 10);
    const before = existsSync(path) ? readFileSync(path, "utf8") : "";
    const after = makeRegistry(source, lists, retrieved);
    const changes = diffRegistries(before, after);
    for (const change of changes) print(change);
    print(`${source.name}: ${changes.length} domains change`);
    writeFileSync(path, after);
  }
  return lint(ownFolder());
}

function lensesOf(folder: string) {
  const read = readLenses(folder);
  if (!read.ok) throw new InvalidLenses(`${read.faults.join("\n")}\n${read.faults.length} fault(s) in ${folder}`);
  return read;
}

function ownFolder(): string {
  return readConfig(adapters, ["lenses"]).lenses;
}

const pageSchema = Type.Object({
  query: Type.String(),
  category: Type.Optional(Type.String()),
  results: Type.Array(
    Type.Object({ url: Type.String(), title: Type.Optional(Type.String()), snippet: Type.Optional(Type.String()) }),
  ),
});

function readPages(file: string): SavedPage[] {
  let value: unknown;
  try {
    value = JSON.parse(readFileSync(file, "utf8"));
  } catch (error) {
    throw new UsageError(`${file}: ${error instanceof Error ? error.message : String(error)}`);
  }
  const pages: unknown[] = Array.isArray(value) ? value : [value];
  return pages.map((page, index) => {
    if (!Check(pageSchema, page)) throw new UsageError(`${file}: page ${index + 1} has no query or no results`);
    return page;
  });
}

process.exitCode = run(process.argv.slice(2));
