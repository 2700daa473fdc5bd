import assert from "node:assert/strict";
import { test } from "node:test";
import { makeQueries } from "./make-queries.ts";

function queriesOf(...pages: { url: string; title: string; headings?: string[] }[]): string[] {
  const named = pages.map(({ headings = [], ...page }) => ({ ...page, headings }));
  return makeQueries(named).map(({ query, form, relevant }) => `${form}: ${query} -> ${relevant[0].split("/").at(-1)}`);
}

const postgresql = "https://www.postgresql.org/docs/15/";

test("makes queries from titles and headings, without numbers, books and sections", () => {
  assert.deepEqual(
    queriesOf(
      {
        url: `${postgresql}a`,
        title: "13.3. Explicit Locking",
        headings: ["13.3. Explicit Locking", "13.3.5. Advisory Locks"],
      },
      {
        url: "https://docs.python.org/3.11/b",
        title: "os — Operating system interfaces — Python 3.11.2 documentation",
      },
      { url: "https://manpages.debian.org/c", title: "strtoul(3): strtoul, strtoull - convert a string" },
    ).toSorted(),
    [
      "heading: advisory locks -> a",
      "subject: linux convert a string -> c",
      "subject: postgresql explicit locking -> a",
      "subject: python operating system interfaces -> b",
      "title: convert a string -> c",
      "title: explicit locking -> a",
      "title: operating system interfaces -> b",
    ],
  );
});

test("a name of two pages names neither, and a translated page is left out", () => {
  const shared = { title: "Sharing locks", headings: ["See also this"] };
  assert.deepEqual(
    queriesOf(
      { url: `${postgresql}a`, ...shared },
      { url: `${postgresql}b`, ...shared },
      { url: `${postgresql}c`, title: "Visão geral", headings: ["locks everywhere"] },
    ),
    [],
  );
});

test("takes at most sixteen pages per site and form, each once, regardless of the order of the pages", () => {
  const pages = Array.from({ length: 40 }, (_, index) => ({
    url: `${postgresql}${index}`,
    title: `page ${index}`,
    headings: [`first of ${index}`, `second of ${index}`],
  }));
  const queries = makeQueries(pages);
  assert.equal(queries.length, 48);
  assert.equal(new Set(queries.filter(({ form }) => form === "heading").map(({ relevant }) => relevant[0])).size, 16);
  assert.deepEqual(makeQueries(pages.toReversed()), queries);
});
