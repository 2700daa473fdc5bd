// Each rule is shown a fault it must find and a neighbour it must leave alone.

import assert from "node:assert/strict";
import test from "node:test";
import { findFaults } from "./check-text.ts";

// Put together here, so that the rules do not find them in this file.
const todo = ["TO", "DO"].join("");
const home = ["", "home", "me"].join("/");

const api = (fields: string) => `{ "paths": { "/v1/search": { "summary": "Search", "properties": { ${fields} } } } }`;
const sum = "b7976feb1040";

const lookalikes = new Map([
  ["openapi.json", api('"title": { "type": "string", "description": "Other words, the same shape." }')],
  ["CHANGELOG.md", `<!-- The API's sum: ${sum} -->`],
  ["server/src/wallet/hold.ts", "select 1 from pb.wallets"],
  ["server/src/config.ts", "read(process.env)"],
  ["server/src/app.ts", `get("https://example.com/home/page"); // ${todo}(#12): say less`],
  ["server/migrations/0001_tables.sql", "-- Tables, because money needs rows.\ncreate table a ();"],
  ["package.json", '{ "dependencies": { "pg": "8.23.1", "@pennyblack/sdk": "*" } }'],
  ["package-lock.json", '{ "packages": { "node_modules/a": { "resolved": "server" } } }'],
  ["docs/decisions/dependencies.md", "| `pg` | server | talks to PostgreSQL |"],
  ["docs/errors.md", "# Errors\n\n## What to do?\n\n[a](#what-to-do) [b](https://example.com/x) `[c](no)`\n"],
  ["docs/index.md", "---\nhero:\n    link: /errors\n---\n[a](errors.md#errors)\n```md\n[no](no.md)\n```\n"],
  ["README.md", "[a](docs/errors.md) [b](docs/decisions) [c](server/src/app.ts)"],
]);

test("files that only look wrong are left alone", () => {
  assert.deepEqual(findFaults(lookalikes), []);
});

const faults: [guarantee: string, path: string, text: string, expected: RegExp][] = [
  [
    "a changed API is in the changelog",
    "openapi.json",
    api('"title": { "type": "string" }, "url": { "type": "string" }'),
    /CHANGELOG\.md: the API has changed/,
  ],
  [
    "a link leads to a file",
    "README.md",
    "\n[a](docs/gone.md)",
    /README\.md:2: the link to docs\/gone\.md leads nowhere/,
  ],
  ["a link leads to a heading", "README.md", "[a](docs/errors.md#gone)", /names no heading/],
  ["a link in front matter leads to a page", "docs/new.md", "---\na:\n  link: /gone\n---\n", /gone\.md leads nowhere/],
  ["a page of the site stays on the site", "docs/new.md", "[a](../server/src/app.ts)", /leads out of the docs site/],
  [
    "a money table is named only in wallet/",
    "server/src/usage/usage.ts",
    "from pb.searches",
    /usage\.ts:1: names the money/,
  ],
  ["a quoted money table is found too", "server/src/keys/keys.ts", '"pb"."key_budgets"', /names the money table/],
  ["a partition of a money table is found too", "server/src/jobs/drop.ts", "pb.transfers_p7", /names the money table/],
  [
    "the environment is read only in config.ts",
    "server/src/db/pool.ts",
    "process.env.URL",
    /pool\.ts:1: reads the env/,
  ],
  ["the environment is not taken apart elsewhere", "server/src/app.ts", "const { env } = process;", /reads the env/],
  ["the environment is not imported elsewhere", "server/src/app.ts", 'from "node:process"', /reads the env/],
  ["no path of one machine is written down", "docs/guide.md", `run ${home}/run`, /path of one machine/],
  ["a file URL is a path too", "server/src/app.ts", `"file://${home}"`, /path of one machine/],
  [
    "the lock file names no package host",
    "package-lock.json",
    '{ "resolved": "https://npm.example/a.tgz" }',
    /package host/,
  ],
  [
    "the lock file is complete on every platform",
    "package-lock.json",
    '{ "packages": { "node_modules/a": { "optionalDependencies": { "a-linux-x64": "1.0.0" } } } }',
    /lacks a-linux-x64/,
  ],
  ["an open end has an issue number", "server/src/app.ts", `// ${todo}: later`, /without an issue number/],
  ["a migration says why", "server/migrations/0002_more.sql", "create table b ();", /open with a comment/],
  ["a migration has no way down", "server/migrations/0002_more.sql", "-- Why.\n-- Down Migration\n", /has a way down/],
  ["migrations are numbered without a gap", "server/migrations/0003_more.sql", "-- Why.\n", /should be 0002/],
  ["migrations are named alike", "server/migrations/0002-More.sql", "-- Why.\n", /is not named like/],
  ["a file is named after what it exports", "server/src/http/utils.ts", "", /named after what it exports/],
  ["a dependency has a row", "cli/package.json", '{ "dependencies": { "left": "1.0.0" } }', /left has no row/],
  ["a row has a dependency", "docs/decisions/dependencies.md", "| `pg` | a |\n| `gone` | b |", /gone is in no package/],
  ["a version is exact", "package.json", '{ "dependencies": { "pg": "^8.23.1" } }', /write one exact version/],
];

for (const [guarantee, path, text, expected] of faults) {
  test(guarantee, () => {
    const found = findFaults(new Map([...lookalikes, [path, text]]));
    assert.equal(found.length, 1, found.join("\n"));
    assert.match(found[0] ?? "", expected);
  });
}
