import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import { consolePageRoutes } from "./pages.ts";

// console/src/routes.tsx is the source of the wallet's pages. Everything else that lists them is compared here.

const read = (path: string): string => readFileSync(new URL(`../../../${path}`, import.meta.url), "utf8");
const find = (path: string, pattern: RegExp): string[] =>
  [...read(path).matchAll(pattern)].map(([, value = ""]) => value);

const routes = "console/src/routes.tsx";
const navigation = "console/src/layout/navigation.tsx";
// Pages with a parameter are opened from another page and are not in the navigation.
const paths = find(routes, /getParentRoute: \(\) => wallet,\s+path: "([^"$]+)"/g).map((path) =>
  path.replace(/^\/$/, ""),
);

function assertListed(found: string[], expected: string[], path: string, source: string): void {
  assert.deepEqual(found.toSorted(), expected.toSorted(), `edit ${path} to match ${source}`);
}

test("every page of a wallet has a link and is part of the browser tests", () => {
  assert.ok(paths.length > 7, `found only ${paths.length} pages in ${routes}`);
  assertListed(find(navigation, /to: "\/w\/\$walletId([^"]*)", label/g), paths, navigation, routes);
  const tested = consolePageRoutes.map(({ path }) => path).filter((path) => !path.includes("?"));
  assertListed(tested, paths, "server/test/console/pages.ts", routes);
});

test("docs/console.md describes every page of a wallet", () => {
  const labels = find(navigation, /to: "\/w\/\$walletId[^"]*", label: "([^"]+)"/g);
  const [, table = ""] = /^\| Page \| Contents \|\n\|[-|]+\n((?:\|.*\n)+)/m.exec(read("docs/console.md")) ?? [];
  const rows = [...table.matchAll(/^\| ([^|]+) \|/gm)].map(([, label = ""]) => label);
  assertListed(rows, labels, "docs/console.md", navigation);
});
