import assert from "node:assert/strict";
import { cpSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, test } from "node:test";
import { until } from "../support/assertions/until.ts";
import { createTestDatabase } from "../support/services/database.ts";
import { createTestWallet, startTestServer, testEnvironment } from "../support/services/server.ts";
import { failServerProcess, startServerProcess } from "../support/services/server-process.ts";
import { startHostileUpstream } from "../support/upstreams/hostile-upstream.ts";

// Every ranking has a published reason: which rules, why each result stands where it does, and the rules themselves.

const ownLenses = new URL("../../lenses", import.meta.url).pathname;
const folder = mkdtempSync(join(tmpdir(), "pennyblack-lenses-"));
cpSync(ownLenses, folder, { recursive: true });

const db = await createTestDatabase();
const upstream = await startHostileUpstream();
const server = await startTestServer(db, { PENNYBLACK_SEARXNG_URL: upstream.url, PENNYBLACK_LENSES: folder });
const wallet = await createTestWallet(db, "1.00");

after(async () => {
  await server.close();
  await upstream.close();
  await db.drop();
  rmSync(folder, { recursive: true });
});

const pages = [
  { url: "https://shop.example/passports", title: "Passports fast", content: "We fill in the form for you." },
  { url: "https://www.gov.uk/apply-renew-passport", title: "Renew a passport", content: "Apply online." },
  { url: "https://blog.example/passport", title: "How I renewed", content: "A story." },
];

async function searchFor(category?: string, headers: Record<string, string> = {}) {
  await upstream.behave("status_200", {
    headers: { "content-type": "application/json" },
    body: JSON.stringify({ results: pages }),
  });
  return server.search(wallet.live, { query: "renew passport", ...(category && { category }) }, headers);
}

test("an authority stands before a shop that the upstream preferred, and the answer names the rules", async () => {
  const reply = await searchFor("gov");
  assert.equal(reply.body.results[0].source, "gov.uk");
  assert.match(reply.headers.get("rank-lens") ?? "", /^gov@\d{4}-\d\d-\d\d\.\d+$/);
  assert.match((await searchFor()).headers.get("rank-lens") ?? "", /^base@/);
  assert.equal(reply.headers.get("rank-explain"), null, "reasons only on request");
});

test("on request, each result has its reason", async () => {
  const reply = await searchFor("gov", { "rank-explain": "1" });
  const members = (reply.headers.get("rank-explain") ?? "").split(", ");
  assert.equal(members.length, reply.body.n);
  assert.match(members[0] ?? "", /^1;from=2;tier=A;why=[\w-]+;score=\d\.\d{3}/);
  assert.equal((await searchFor("gov", { "rank-explain": "yes" })).headers.get("rank-explain"), null);
});

test("the reasons of a long page fit into a header of 4 kB", async () => {
  await upstream.behave("ok", { hits: 100 });
  const reply = await server.search(wallet.live, { query: "cats", n: 20 }, { "rank-explain": "1" });
  assert.equal(reply.body.n, 20);
  assert.ok((reply.headers.get("rank-explain") ?? "").length <= 4_096);
});

test("anyone can read the rules", async () => {
  const { status, body } = await server.request("/v1/lenses");
  assert.equal(status, 200);
  assert.deepEqual(body.lenses.map(({ name }: { name: string }) => name).toSorted(), [
    "base",
    "business",
    "gov",
    "programming",
    "research",
  ]);
  for (const { name, rules } of body.lenses) {
    const lens = await server.request(`/v1/lenses/${name}`);
    assert.equal(lens.text, readFileSync(join(ownLenses, `${name}.lens`), "utf8"));
    assert.match(lens.headers.get("content-type") ?? "", /^text\/plain/);
    assert.ok(rules > 0);
  }
  assert.equal((await server.request("/v1/lenses/nobody")).status, 404);
  assert.equal((await server.request("/v1/lenses/..%2f..%2fpackage.json")).status, 404);
});

test("an edit is used when it is read, and a broken one changes nothing and is told", async () => {
  const file = join(folder, "gov.lens");
  const text = readFileSync(file, "utf8");
  const edited = text.replace(/! version: .*/, "! version: 2031-01-01.7");
  writeFileSync(file, `${edited}\n$tier=A,site=shop.example,why=our-shop\n$cap=E,site=gov.uk,why=test,override\n`);
  assert.doesNotMatch((await searchFor("gov")).headers.get("rank-lens") ?? "", /2031/);
  server.app.reloadLenses();
  const moved = await searchFor("gov");
  assert.equal(moved.headers.get("rank-lens"), "gov@2031-01-01.7");
  assert.equal(moved.body.results[0].source, "shop.example");

  writeFileSync(file, `${edited}\n$tier=Z,site=shop.example\n`);
  server.app.reloadLenses();
  assert.equal((await searchFor("gov")).headers.get("rank-lens"), "gov@2031-01-01.7");
  assert.match(await server.readMetrics(), /^pennyblack_lens_faults [1-9]/m);
  assert.match(server.logged(), /lens reload failed, keeping previous version/);

  writeFileSync(file, text);
  server.app.reloadLenses();
  assert.equal((await searchFor("gov")).body.results[0].source, "gov.uk");
  assert.match(await server.readMetrics(), /^pennyblack_lens_faults 0/m);
});

test("SIGHUP reads the lenses anew; a server whose lenses are broken does not start, and says where", async () => {
  const file = join(folder, "gov.lens");
  const text = readFileSync(file, "utf8");
  const process = await startServerProcess(db, { PENNYBLACK_LENSES: folder });
  const versions = async () => {
    const { lenses } = (await (await fetch(`${process.url}/v1/lenses`)).json()) as { lenses: { version: string }[] };
    return lenses.map(({ version }) => version);
  };
  writeFileSync(file, text.replace(/! version: .*/, "! version: 2032-02-02.2"));
  assert.ok(!(await versions()).includes("2032-02-02.2"));
  process.process.kill("SIGHUP");
  await until("the edit is in use", async () => (await versions()).includes("2032-02-02.2"));
  process.process.kill("SIGTERM");
  assert.equal(await process.ended, 0);

  writeFileSync(file, `${text}\n$tier=Z,site=shop.example,why=x\n`);
  const { exitCode, output } = await failServerProcess({ ...testEnvironment(db), PENNYBLACK_LENSES: folder });
  assert.equal(exitCode, 1);
  assert.match(output, /gov\.lens:\d+: /);
  writeFileSync(file, text);
});
