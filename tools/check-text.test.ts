// Tests each rule with a violation it must report and a similar valid case it must not.

import assert from "node:assert/strict";
import test from "node:test";
import { findViolations } from "./check-text.ts";

// Assembled at runtime, so that the rules do not match this file.
const todo = ["TO", "DO"].join("");
const home = ["", "home", "me"].join("/");

const api = (fields: string) => `{ "paths": { "/v1/search": { "summary": "Search", "properties": { ${fields} } } } }`;
const checksum = "b7976feb1040";

const moneyTables = ["wallets", "transfers", "budgets", "budget_windows"];
const reportTables = ["abandoned_calls", "upstream_days", "upstream_wallet_days", "usage_days", "usage_hours"];
const schema = [
  ...[...moneyTables, ...reportTables].map((table) => `CREATE TABLE pb.${table} (\n    amount_micros bigint\n);\n`),
  "CREATE VIEW pb.receivables AS\n SELECT wallets.owed_micros\n   FROM pb.wallets;\n",
  "CREATE TABLE pb.keys (\n    id uuid\n);\n",
].join("\n");

const paragraph =
  "If an upstream fails, the server queries the next one within the same deadline, and the caller pays only once for\n[the search](errors.md).";

const validFiles = new Map([
  ["server/sql/schema.sql", schema],
  ["server/src/usage/read-margin.ts", "from pb.usage_days join pb.keys"],
  ["openapi.json", api('"title": { "type": "string", "description": "Different description, same shape." }')],
  ["CHANGELOG.md", `<!-- API checksum: ${checksum} -->`],
  ["server/src/wallet/hold.ts", "select 1 from pb.wallets"],
  ["server/src/config/config.ts", "read(process.env)"],
  ["server/src/app.ts", `get("https://example.com/home/page"); // ${todo}(#12): say less`],
  ["server/migrations/0001_tables.sql", "-- Tables, because money needs rows.\ncreate table a ();"],
  [
    "package.json",
    '{ "scripts": { "dev": "node dev.ts" }, "dependencies": { "pg": "8.23.1", "@pennyblack/sdk": "*" } }',
  ],
  ["console/package.json", '{ "version": "0.1.0", "devDependencies": { "@pennyblack/sdk": "0.0.0" } }'],
  [
    "package-lock.json",
    '{ "packages": { "console": { "version": "0.1.0", "devDependencies": { "@pennyblack/sdk": "0.0.0" } }, "node_modules/a": { "resolved": "server" } } }',
  ],
  ["docs/decisions/dependencies.md", "| `pg` | server | talks to PostgreSQL |"],
  ["docs/generated.md", `<!-- Generated from config.ts. -->\n\n${paragraph}`],
  ["docs/owner.md", `# Owner\n\n${paragraph} A second sentence.\n\n\`\`\`text\n${paragraph}\n\`\`\`\n`],
  ["docs/errors.md", "# Errors\n\n## What to do?\n\n[a](#what-to-do) [b](https://example.com/x) `[c](no)`\n"],
  ["docs/index.md", "---\nhero:\n    link: /errors\n---\n[a](errors.md#errors)\n```md\n[no](no/page)\n```\n"],
  ["README.md", "[a](docs/errors.md) [b](docs/decisions) [c](server/src/app.ts) `npm run dev`"],
]);

test("valid files that resemble violations pass", () => {
  assert.deepEqual(findViolations(validFiles), []);
});

const cases: [name: string, path: string, text: string, expected: RegExp][] = [
  [
    "a banned phrase",
    "docs/reference.md",
    `${["No", "body"].join("")} is charged.`,
    /docs\/reference\.md:1: .*name who/,
  ],
  [
    "an API change requires a changelog entry",
    "openapi.json",
    api('"title": { "type": "string" }, "url": { "type": "string" }'),
    /CHANGELOG\.md: the API has changed/,
  ],
  [
    "a link to a missing file is reported",
    "README.md",
    "\n[a](docs/gone.md)",
    /README\.md:2: link to docs\/gone\.md: file not found/,
  ],
  ["a link to a missing heading is reported", "README.md", "[a](docs/errors.md#gone)", /heading not found/],
  [
    "a script that does not exist is reported",
    "README.md",
    "Run `npm run deb`.",
    /README\.md: package\.json has no script deb/,
  ],
  [
    "a sentence of another page is reported, with other line breaks and links",
    "docs/new.md",
    `- ${paragraph.replaceAll("\n", " ").replace("[the search](errors.md)", "the search")}\n`,
    /docs\/owner\.md: repeats a text of docs\/new\.md: "If an upstream fails/,
  ],
  ["front matter links are checked", "docs/new.md", "---\na:\n  link: /gone\n---\n", /gone\.md: file not found/],
  ["docs pages link only within the site", "docs/new.md", "[a](../server/src/app.ts)", /not part of the docs site/],
  [
    "money tables are used only in wallet/",
    "server/src/usage/usage.ts",
    "from pb.budget_windows",
    /usage\.ts:1: uses the money/,
  ],
  [
    "evidence/ writes no money tables",
    "server/src/evidence/merkle.ts",
    "delete from pb.transfers",
    /uses the money table delete from pb\.transfers/,
  ],
  ["views of money tables are detected", "server/src/keys/keys.ts", "from pb.receivables", /uses the money table/],
  ["money tables without amounts are detected", "server/src/keys/keys.ts", "from pb.refunds", /uses the money table/],
  [
    "an exception that the schema does not have is reported",
    "server/sql/schema.sql",
    schema.replace("pb.usage_days", "pb.usage_weeks"),
    /has no amounts in usage_days/,
  ],
  ["quoted money tables are detected", "server/src/keys/keys.ts", '"pb"."budgets"', /uses the money table/],
  ["partitions of money tables are detected", "server/src/jobs/drop.ts", "pb.transfers_p7", /uses the money table/],
  [
    "the environment is read only in config.ts",
    "server/src/db/pool.ts",
    "process.env.URL",
    /pool\.ts:1: reads the env/,
  ],
  ["destructuring process.env is detected", "server/src/app.ts", "const { env } = process;", /reads the env/],
  ["importing node:process is detected", "server/src/app.ts", 'from "node:process"', /reads the env/],
  ["absolute paths are reported", "docs/guide.md", `run ${home}/run`, /absolute path/],
  ["file URLs are reported", "server/src/app.ts", `"file://${home}"`, /absolute path/],
  [
    "the lock file contains no registry host",
    "package-lock.json",
    '{ "resolved": "https://npm.example/a.tgz" }',
    /registry host/,
  ],
  [
    "the lock file is complete for every platform",
    "package-lock.json",
    '{ "packages": { "node_modules/a": { "optionalDependencies": { "a-linux-x64": "1.0.0" } } } }',
    /a-linux-x64 is missing/,
  ],
  [
    "lock files of tools are complete too",
    "tools/on-demand/checkers/package-lock.json",
    '{ "packages": { "node_modules/a": { "optionalDependencies": { "a-linux-x64": "1.0.0" } } } }',
    /checkers\/package-lock\.json: a-linux-x64 is missing/,
  ],
  [
    "the lock file has the dependencies of every package.json",
    "package-lock.json",
    '{ "packages": { "console": { "version": "0.1.0", "devDependencies": { "@pennyblack/sdk": "0.1.0" } } } }',
    /differs from console\/package\.json \(devDependencies\)/,
  ],
  ["a to-do requires an issue number", "server/src/app.ts", `// ${todo}: later`, /without an issue number/],
  [
    "a migration starts with a comment",
    "server/migrations/0002_more.sql",
    "create table b ();",
    /start with a comment/,
  ],
  ["down migrations are rejected", "server/migrations/0002_more.sql", "-- Why.\n-- Down Migration\n", /down migration/],
  ["migrations are numbered without gaps", "server/migrations/0003_more.sql", "-- Why.\n", /should be 0002/],
  ["migration names follow the pattern", "server/migrations/0002-More.sql", "-- Why.\n", /not named like/],
  ["generic file names are rejected", "server/src/http/utils.ts", "", /name the file after its exports/],
  ["a dependency must be documented", "cli/package.json", '{ "dependencies": { "left": "1.0.0" } }', /left has no row/],
  [
    "a dependency of a tool must be documented",
    "tools/on-demand/checkers/package.json",
    '{ "dependencies": { "left": "1.0.0" } }',
    /left has no row/,
  ],
  ["a documented dependency must exist", "docs/decisions/dependencies.md", "| `pg` | a |\n| `x` | b |", /x is in no/],
  [
    "versions must be exact",
    "package.json",
    '{ "scripts": { "dev": "" }, "dependencies": { "pg": "^8.23.1" } }',
    /use an exact version/,
  ],
  [
    "versions behind another name must be exact",
    "package.json",
    '{ "scripts": { "dev": "" }, "dependencies": { "pg": "npm:@scope/pg@^8.23.1" } }',
    /use an exact version/,
  ],
];

for (const [name, path, text, expected] of cases) {
  test(name, () => {
    const violations = findViolations(new Map([...validFiles, [path, text]]));
    assert.equal(violations.length, 1, violations.join("\n"));
    assert.match(violations[0] ?? "", expected);
  });
}
