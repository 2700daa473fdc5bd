import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { readFileSync, writeFileSync } from "node:fs";
import { basename } from "node:path";
import { buildIndex } from "../../server/src/dev/searx/build-index.ts";
import { startSearx } from "../../server/src/dev/searx/start-searx.ts";
import { collectHits } from "../../server/src/providers/collect-hits.ts";
import type { Provider } from "../../server/src/providers/provider.ts";
import { searxng } from "../../server/src/providers/searxng.ts";
import { explainRanking, type Reason } from "../../server/src/ranking/explain-ranking.ts";
import { cleanResults } from "../../server/src/search/clean-results.ts";
import { buildLensesOrThrow, readLensFiles } from "../read-lenses.ts";
import { makeQueries, type NamedPage } from "./make-queries.ts";
import { maskText } from "./mask-text.ts";

// `npm run eval:record` writes the files in eval/relevance that are not written by hand. It needs the packages of
// `npm run dev -- --with-searx`. eval/relevance/README.md describes the files.

const folder = new URL("../relevance/", import.meta.url);
const candidates = 20;
const lenses = buildLensesOrThrow(readLensFiles());

interface ShownPage {
  url: string;
  title: string;
  snippet: string;
}

const knownItems = makeQueries(listNames());
writeLines("known-item.jsonl", knownItems);
const handWritten = JSON.parse(readFileSync(new URL("hand-written.json", folder), "utf8")) as { query: string }[];
const index = await buildIndex({ onProgress: (line) => console.error(line) });
const searx = await startSearx({ index });
try {
  await record([...knownItems, ...handWritten].map(({ query }) => query));
} finally {
  await searx.stop();
}

function listNames(): NamedPage[] {
  const script = new URL("list-names.py", import.meta.url).pathname;
  const lines = execFileSync("/usr/bin/python3", [script], { encoding: "utf8", maxBuffer: 100 * 1_024 * 1_024 });
  return lines
    .trim()
    .split("\n")
    .map((line) => JSON.parse(line) as NamedPage);
}

/** One JSON value per line, so that a change of one query changes one line. */
function writeLines(file: string, values: readonly unknown[]): void {
  writeFileSync(new URL(file, folder), values.map((value) => `${JSON.stringify(value)}\n`).join(""));
}

async function record(queries: readonly string[]): Promise<void> {
  const provider = searxng.create({ url: searx.url, key: "", fields: { title: "", url: "", snippet: "" } });
  const numbers = new Map<string, number>();
  const pages: [url: string, title: string][] = [];
  const recorded: object[] = [];
  for (const query of queries) {
    const found = cleanResults(await findHits(provider, query)).slice(0, candidates);
    const masked = found.map(({ url, title, snippet }) => ({ url, title, snippet: maskText(snippet, query) }));
    assertSameOrder(query, found, masked);
    for (const { url, title } of masked) {
      if (!numbers.has(url)) numbers.set(url, pages.push([url, title]) - 1);
    }
    recorded.push({ query, results: masked.map(({ url, snippet }) => [numbers.get(url), snippet]) });
  }
  writeLines("pages.jsonl", pages);
  writeLines("results.jsonl", recorded);
  console.log(`${queries.length} queries with results from ${pages.length} pages of ${basename(index)}.`);
}

/**
 * Fails if a lens ranks the masked results differently. Copies are left out: which of the texts that are nearly the same are
 * found depends on the hashes of their words, and masking changes them.
 */
function assertSameOrder(query: string, original: readonly ShownPage[], masked: readonly ShownPage[]): void {
  for (const lens of lenses.values()) {
    const explained = [original, masked].map((results) => explainRanking({ results, query, lens, n: candidates }));
    const isCopy = ({ guards }: Reason): boolean => guards.includes("copy");
    const copies = new Set(
      explained
        .flat()
        .filter(isCopy)
        .map(({ upstreamRank }) => upstreamRank),
    );
    const [before, after] = explained.map((reasons) =>
      reasons.map(({ upstreamRank }) => upstreamRank).filter((upstreamRank) => !copies.has(upstreamRank)),
    );
    assert.deepEqual(after, before, query);
  }
}

async function findHits(provider: Provider, query: string) {
  const collected = await collectHits({ n: candidates, maxPages: provider.maxPages }, async (page) => {
    const { url, method, body, headers } = provider.request({ query, n: candidates }, page);
    const reply = await fetch(url, { method, headers, ...(body === undefined ? {} : { body }) });
    return provider.response({ status: reply.status, headers: {}, body: await reply.text() });
  });
  if (!collected.ok) throw new Error(`no results for: ${query} (${collected.reason})`);
  return collected.hits;
}
