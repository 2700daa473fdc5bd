import { readFileSync } from "node:fs";
import { parseArgs } from "node:util";
import { Type } from "typebox";
import { Check } from "typebox/value";
import { UsageError } from "../admin/command.ts";
import { formatTable } from "../admin/format-table.ts";
import { readConfig } from "../config.ts";
import { comparePage, explainPage, type Placed, type SavedPage } from "./compare-pages.ts";
import { readLenses } from "./lenses.ts";

// npm run lens -- lint | explain | diff. Exit 0: done. 1: a lens has a fault. 2: it was written wrongly.

const usage = `npm run lens -- <command>

  lint [FOLDER]
      Every fault with its file and line. Without a folder, the lenses that the server would use.
  explain PAGES.json [--category NAME] [--query WORDS]
      Where each result of saved pages stands, and why.
  diff FOLDER PAGES.json
      What the lenses in FOLDER, an edited copy, would move on saved pages.

PAGES.json is a page, or a list of pages, in the upstream's order:
  {"query": "...", "category": "gov", "results": [{"url": "...", "title": "...", "snippet": "..."}]}`;

const options = {
  category: { type: "string" },
  query: { type: "string" },
  help: { type: "boolean", short: "h", default: false },
} as const;

function run(words: string[]): number {
  try {
    const { values, positionals } = readArguments(words);
    const [command, first, second, ...rest] = positionals;
    if (values.help || command === undefined) return print(usage);
    if (command === "lint" && second === undefined) return lint(first ?? ownFolder());
    if (command === "explain" && first !== undefined && second === undefined) return explain(first, values);
    if (command === "diff" && first !== undefined && second !== undefined && rest.length === 0)
      return diff(first, second);
    throw new UsageError("That is not a command.");
  } catch (error) {
    if (error instanceof UsageError) return complain(`${error.message}\n\n${usage}`, 2);
    if (error instanceof Faulty) return complain(error.message, 1);
    throw error;
  }
}

class Faulty extends Error {}

function readArguments(args: string[]) {
  try {
    return parseArgs({ args, options, allowPositionals: true, strict: true });
  } catch (error) {
    throw new UsageError(error instanceof Error ? (error.message.split(". ")[0] ?? "") : String(error));
  }
}

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
  for (const page of readPages(file)) {
    const asked = { ...page, query: query ?? page.query, category: category ?? page.category };
    print(`\n${asked.query}${asked.category === undefined ? "" : ` (${asked.category})`}\n`);
    print(formatTable(explainPage(asked, lenses).map(toRow), ["", "from", "tier", "why", "score", "moved", "url"]));
  }
  return 0;
}

function toRow({ place, upstreamRank, tier, why, score, isNavigational, move, url }: Placed): string[] {
  const moved = [isNavigational ? "navigational" : "", move ?? ""].filter(Boolean).join(" ");
  return [String(place), String(upstreamRank), tier, why, score.toFixed(3), moved, url];
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
      `${was.place} -> ${is.place}`,
      was.tier === is.tier ? is.tier : `${was.tier} -> ${is.tier}`,
      was.why === is.why ? is.why : `${was.why} -> ${is.why}`,
      url,
    ]);
    print(formatTable(rows, ["place", "tier", "why", "url"]));
  }
  return print(`\n${moved} of ${pages.length} pages change.`);
}

function lensesOf(folder: string) {
  const read = readLenses(folder);
  if (!read.ok) throw new Faulty(`${read.faults.join("\n")}\n${read.faults.length} fault(s) in ${folder}`);
  return read;
}

function ownFolder(): string {
  return readConfig(["lenses"]).lenses;
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

function print(text: string): number {
  process.stdout.write(`${text}\n`);
  return 0;
}

function complain(text: string, exitCode: number): number {
  process.stderr.write(`${text}\n`);
  return exitCode;
}

process.exitCode = run(process.argv.slice(2));
