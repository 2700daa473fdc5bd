import assert from "node:assert/strict";
import { globSync, readFileSync, writeFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { after, test } from "node:test";
import { upstreamVariables } from "../../src/config/config.ts";
import { problemCodes } from "../../src/problems/problems.ts";
import { adapters } from "../../src/providers/providers.ts";
import { installPacked } from "../support/docs/packed-packages.ts";
import { parseCodeBlocks } from "../support/docs/read-code-blocks.ts";
import { type Bench, faultOf } from "../support/docs/run-code-block.ts";
import { createTestDatabase } from "../support/services/database.ts";
import { createTestWallet, startTestServer, testEnvironment } from "../support/services/server.ts";

// Whatever the docs show to be copied is run here, against a real server. A block that cannot run says why, and is counted.

const docs = resolve(import.meta.dirname, "../../../docs");
const pages = globSync("**/*.md", { cwd: docs, exclude: ["decisions/**", ".vitepress/**"] }).toSorted();
/** Their blocks need machines of their own. Each names the test that runs them. */
const pagesRunElsewhere = ["runbooks/failover.md"];
const pagesRunHere = pages.filter((page) => !pagesRunElsewhere.includes(page));

const db = await createTestDatabase();
const server = await startTestServer(db);
const wallet = await createTestWallet(db, "1.00");
const installed = installPacked();
// Without it, curl calls a 402 a success.
writeFileSync(join(installed.folder, ".curlrc"), "fail-with-body\n");

const bench: Bench = {
  folder: installed.folder,
  caller: {
    PENNYBLACK_URL: server.url,
    PENNYBLACK_API_KEY: wallet.test,
    PENNYBLACK_MANAGEMENT_KEY: wallet.management,
  },
  operator: { ...testEnvironment(db), PENNYBLACK_DIRECT_DATABASE_URL: db.ownerUrl },
};

after(async () => {
  installed.remove();
  await server.close();
  await db.drop();
});

for (const page of pagesRunHere) {
  const text = readFileSync(join(docs, page), "utf8");
  const blocks = parseCodeBlocks(text);
  const fences = text.match(/^[ \t>]*(?:`{3}|~{3})/gm) ?? [];
  if (fences.length === 0) continue;
  test(`every code block of docs/${page} does what it says`, async () => {
    assert.equal(fences.length, 2 * blocks.length, "a code block begins with ``` and one word, at the start of a line");
    for (const block of blocks) {
      const fault = await faultOf(block, bench);
      assert.equal(fault, undefined, `docs/${page}:${block.line} ${fault}`);
    }
  });
}

test("the blocks that are not run are few, and each says why", () => {
  const blocks = pagesRunHere.flatMap((page) => parseCodeBlocks(readFileSync(join(docs, page), "utf8")));
  const reasons = blocks.flatMap(({ mark }) => (mark?.kind === "not run" ? [mark.text] : []));
  assert.deepEqual(reasons, [
    "uses your own base URL and key",
    ...Array<string>(4).fill("server/test/processes/backup.test.ts runs it on its own cluster"),
    "runs in the foreground; server/test/stories starts its own servers",
    "runs in the foreground and needs a SearXNG instance",
    "installs packages and runs in the foreground; server/test/processes/dev-with-searx.test.ts starts it",
    'needs Docker; "npm run image -- compose" runs it with podman-compose where images are available',
    "needs a cluster; deploy/helm/chart.test.ts checks what it would create",
    "needs a payment processor; server/test/stories runs it against a Stripe stub",
  ]);
  assert.ok(blocks.filter(({ language }) => /^(?:sh|ts|python)$/.test(language)).length - reasons.length >= 20);
});

test("the page on self-hosting lists every setting, and no other", () => {
  const config = readFileSync(resolve(docs, "../server/src/config/config.ts"), "utf8");
  const read = [...config.matchAll(/\bvariable: "(\w+)"/g)].map(([, name]) => name);
  const rows = readFileSync(join(docs, "self-hosting.md"), "utf8").match(/^\| .*`[A-Z].*\|$/gm) ?? [];
  // A setting stands in the first column, those of a provider in the second.
  const listed = rows.flatMap((row) => [...row.matchAll(/`((?:PENNYBLACK_)?[A-Z_]+)`/g)].map(([, name]) => name));
  const expected = new Set([...read, ...adapters.flatMap(upstreamVariables)]);
  assert.deepEqual(new Set(listed), expected, "edit docs/self-hosting.md to match server/src/config/config.ts");
});

test("every query on the page on test mode asks for something, and every code can be asked for", async () => {
  const rows = readFileSync(join(docs, "test-mode.md"), "utf8").matchAll(/^\| `test:(\w+)`/gm);
  const words = new Set([...rows].map(([, word = ""]) => word).concat(problemCodes));
  for (const word of words) {
    const { status, body } = await server.search(wallet.test, { query: `test:${word}` });
    if (word === "empty") assert.deepEqual([status, body.n], [200, 0]);
    else if (word.startsWith("upstream_5")) assert.deepEqual([status, body.code], [503, "upstream_error"]);
    else assert.equal(body.code, word);
  }
  const { body } = await server.search(wallet.test, { query: "test:nonsense" });
  assert.deepEqual([body.status, body.code], [400, "invalid_request"]);
});

// Elsewhere the built pages may be older than their sources, or not there.
const skip = process.env["CI"] === undefined && "the docs are built in CI, before the tests";
test("every page is served, and beside it its Markdown", { skip }, async () => {
  for (const page of pages) {
    const address = `/docs/${page.replace(/^index\.md$|\.md$/, "")}`;
    const { status, headers } = await server.request(address);
    assert.deepEqual([status, headers.get("content-type")], [200, "text/html; charset=utf-8"], address);
    const twin = await server.request(`/docs/${page}`);
    assert.equal(
      twin.text,
      readFileSync(join(docs, page), "utf8"),
      `is ${page} newer than the last npm run docs:build?`,
    );
  }
  const listed = (await server.request("/llms.txt")).text.matchAll(/search\.test(\/docs\/\S+)/g);
  const statuses = [...listed].map(async ([, address = ""]) => (await server.request(address)).status);
  assert.deepEqual(new Set(await Promise.all(statuses)), new Set([200]));
});
