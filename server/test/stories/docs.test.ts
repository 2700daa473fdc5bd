import assert from "node:assert/strict";
import { copyFileSync, globSync, readFileSync, writeFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { after, test } from "node:test";
import { createFixture } from "../fixture.ts";
import { linkVendorClients } from "../support/clients/vendor-clients.ts";
import { installPacked } from "../support/docs/packed-packages.ts";
import { parseCodeBlocks } from "../support/docs/read-code-blocks.ts";
import { type Bench, faultOf, openSamples } from "../support/docs/run-code-block.ts";
import { testEnvironment } from "../support/services/server.ts";

// Runs every code block of the docs against a real server. A block that cannot run states the reason and is listed below.

const docs = resolve(import.meta.dirname, "../../../docs");
const examples = resolve(docs, "../examples");
const pages = globSync("**/*.md", { cwd: docs, exclude: ["decisions/**", ".vitepress/**"] }).toSorted();
/** Their blocks need separate machines, or ids that exist. Each page names the test that runs them. */
const pagesRunElsewhere = ["runbooks/failover.md", "runbooks/two-primaries.md"];
const pagesRunHere = pages.filter((page) => !page.startsWith("reference/") && !pagesRunElsewhere.includes(page));

const { db, server, createWallet } = await createFixture();
const wallet = await createWallet("1.00");
const installed = installPacked();
linkVendorClients(installed.folder);
// The tutorial runs one of them.
for (const example of globSync("*.ts", { cwd: examples, exclude: ["*.test.ts"] })) {
  copyFileSync(join(examples, example), join(installed.folder, example));
}
// Without this, curl exits with 0 for a 402.
writeFileSync(join(installed.folder, ".curlrc"), "fail-with-body\n");

const python = { PYTHONPATH: resolve(docs, "../clients/python/src"), PYTHONDONTWRITEBYTECODE: "1" };
const bench: Bench = {
  folder: installed.folder,
  scripts: openSamples(installed.folder, python),
  caller: {
    ...python,
    PENNYBLACK_URL: server.url,
    PENNYBLACK_API_KEY: wallet.test,
    PENNYBLACK_MANAGEMENT_KEY: wallet.management,
    TAVILY_API_BASE: `${server.url}/compat/tavily`,
    TAVILY_API_KEY: wallet.test,
    PERPLEXITY_BASE_URL: `${server.url}/compat/perplexity`,
    PERPLEXITY_API_KEY: wallet.test,
    EXA_API_BASE: `${server.url}/compat/exa`,
    EXA_API_KEY: wallet.test,
  },
  operator: { ...testEnvironment(db), PENNYBLACK_DIRECT_DATABASE_URL: db.ownerUrl },
};

after(() => {
  bench.scripts.close();
  installed.remove();
});

for (const page of pagesRunHere) {
  const text = readFileSync(join(docs, page), "utf8");
  const blocks = parseCodeBlocks(text);
  const fences = text.match(/^[ \t>]*(?:`{3}|~{3})/gm) ?? [];
  if (fences.length === 0) continue;
  test(`every code block of docs/${page} works as documented`, async () => {
    assert.equal(fences.length, 2 * blocks.length, "a code block starts with ``` and one word at the start of a line");
    for (const block of blocks) {
      const fault = await faultOf(block, bench);
      assert.equal(fault, undefined, `docs/${page}:${block.line} ${fault}`);
    }
  });
}

const skills = globSync("skills/*/SKILL.md", { cwd: resolve(docs, "..") });

for (const skill of skills) {
  test(`every command of ${skill} works as documented, and its front matter follows the format`, async () => {
    const text = readFileSync(resolve(docs, "..", skill), "utf8");
    const { name = "", description = "" } =
      /^---\nname: (?<name>.+)\ndescription: (?<description>.+)\n/.exec(text)?.groups ?? {};
    // https://agentskills.io/specification
    assert.equal(skill, `skills/${name}/SKILL.md`);
    assert.match(name, /^[a-z0-9]+(?:-[a-z0-9]+)*$/);
    assert.ok(description.length > 0 && description.length <= 1_024);
    const blocks = parseCodeBlocks(text);
    assert.ok(blocks.length > 0);
    for (const block of blocks) {
      const fault = await faultOf(block, bench);
      assert.equal(fault, undefined, `${skill}:${block.line} ${fault}`);
    }
  });
}

test("every block that is not run states the reason", () => {
  const blocks = pagesRunHere.flatMap((page) => parseCodeBlocks(readFileSync(join(docs, page), "utf8")));
  const reasons = blocks.flatMap(({ mark }) => (mark?.kind === "not run" ? [mark.text] : []));
  assert.deepEqual(reasons, [
    "runs in the foreground; server/test/stories starts its own servers",
    "runs in the foreground and needs a SearXNG instance",
    "installs packages and runs in the foreground; server/test/processes/dev-with-searx.test.ts starts it",
    'needs Docker; "npm run image -- compose" runs it with podman-compose where images are available',
    "needs Docker and a registry; deploy/image/image.long.test.ts checks the same build made with buildah",
    "needs a cluster; deploy/helm/chart.test.ts checks what it would create",
    ...Array<string>(7).fill("needs systemd and root; deploy/systemd/follow-install.sh runs it in a new Debian"),
    "needs a model",
    "needs Docker",
    "needs systemd and root; deploy/systemd/follow-install.sh runs it in a new Debian",
    "runs in the foreground; server/test/processes/dev.test.ts starts it",
    "uses your own base URL and key",
    "needs a registry; server/test/stories/release.long.test.ts installs the same packages",
    ...Array<string>(2).fill("server/test/processes/backup.long.test.ts runs it on its own cluster"),
    "needs systemd; server/test/processes/backup.long.test.ts runs the same command without it",
    "needs root and systemd; server/test/processes/backup.long.test.ts uses the same files with its own folders",
    "server/test/processes/backup.long.test.ts runs it on its own cluster",
    "needs systemd",
    ...Array<string>(2).fill("server/test/processes/backup.long.test.ts runs it on its own cluster"),
    ...Array<string>(3).fill("server/test/processes/patroni-restore.long.test.ts runs it on its own cluster"),
    ...Array<string>(3).fill("server/test/processes/backup.long.test.ts runs it on its own cluster"),
    "needs Docker; deploy/edge/compose/compose.test.ts checks the files",
    "needs a cluster; deploy/helm/two-cells/two-cells.test.ts checks what it would create",
    "prints the id of the incident, which the next commands need",
    "needs a payment processor; server/test/stories runs it against a Stripe stub",
  ]);
  assert.ok(blocks.filter(({ language }) => /^(?:sh|ts|python)$/.test(language)).length - reasons.length >= 20);
});

test("every test query on the test mode page returns the documented response", async () => {
  const rows = readFileSync(join(docs, "test-mode.md"), "utf8").matchAll(/^\| `test:(\w+)`/gm);
  for (const [, word = ""] of rows) {
    const { status, body } = await server.search(wallet.test, { query: `test:${word}` });
    if (word === "empty") assert.deepEqual([status, body.n], [200, 0]);
    else if (["injection", "long", "unicode"].includes(word)) assert.deepEqual([status, body.n > 0], [200, true], word);
    else if (word.startsWith("upstream_5")) assert.deepEqual([status, body.code], [503, "upstream_error"]);
    else assert.equal(body.code, word);
  }
  const { body } = await server.search(wallet.test, { query: "test:nonsense" });
  assert.deepEqual([body.status, body.code], [400, "invalid_request"]);
});

// Outside CI the built pages may be outdated or missing.
const skip = process.env["CI"] === undefined && "the docs are built in CI, before the tests";
test("every page is served as HTML and as Markdown", { skip }, async () => {
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
