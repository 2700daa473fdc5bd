import assert from "node:assert/strict";
import { cpSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, test } from "node:test";
import { createFixture } from "../fixture.ts";
import { until } from "../support/assertions/until.ts";
import { testEnvironment } from "../support/services/server.ts";
import { failServerProcess, startServerProcess } from "../support/services/server-process.ts";

// Ranking: the published rules, the reason for each result's rank, and reloading.

const ownLenses = new URL("../../lenses", import.meta.url).pathname;
const folder = mkdtempSync(join(tmpdir(), "pennyblack-lenses-"));
cpSync(ownLenses, folder, { recursive: true });
writeFileSync(
  join(folder, "story.registry"),
  `! name: story
! title: A list
! source: https://lists.example/
! licence: CC0
! attribution: Someone
! retrieved: 2026-11-16
! count: 1
$cap=D,why=listed
listed.example
`,
);

const { db, upstream, server, createWallet } = await createFixture({ PENNYBLACK_LENSES: folder });
const wallet = await createWallet("1.00");

after(() => rmSync(folder, { recursive: true }));

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

test("an authority ranks above a shop that the upstream preferred, and Rank-Lens names the rules", async () => {
  const reply = await searchFor("gov");
  assert.equal(reply.body.results[0].source, "gov.uk");
  assert.match(reply.headers.get("rank-lens") ?? "", /^gov@\d{4}-\d\d-\d\d\.\d+$/);
  assert.match((await searchFor()).headers.get("rank-lens") ?? "", /^base@/);
  assert.equal(reply.headers.get("rank-explain"), null, "reasons only on request");
});

test("Rank-Explain returns a reason for each result on request", async () => {
  const reply = await searchFor("gov", { "rank-explain": "1" });
  const members = (reply.headers.get("rank-explain") ?? "").split(", ");
  assert.equal(members.length, reply.body.n);
  assert.match(members[0] ?? "", /^1;from=2;tier=A;why=[\w-]+;score=\d\.\d{3}/);
  assert.equal((await searchFor("gov", { "rank-explain": "yes" })).headers.get("rank-explain"), null);
});

test("a registry lowers a listed site with a link to the list, unless the caller ranks without registries", async () => {
  await upstream.behave("status_200", {
    headers: { "content-type": "application/json" },
    body: JSON.stringify({ results: [...pages, { ...pages[0], url: "https://listed.example/", title: "Listed" }] }),
  });
  const explain = { "rank-explain": "1" };
  const body = { query: "renew passport" };
  const reply = await server.search(wallet.live, body, explain);
  const list = /from=4;tier=D;why=listed;list=story;source="https:\/\/lists\.example\/";score/;
  assert.match(reply.headers.get("rank-explain") ?? "", list);
  const plain = await server.search(wallet.live, body, { ...explain, "rank-registries": "0" });
  assert.match(plain.headers.get("rank-explain") ?? "", /from=4;tier=N;why=unlisted;score/);
  assert.match(plain.headers.get("rank-lens") ?? "", /^base@.+;registries=0$/);
  assert.equal((await server.search(wallet.live, body, { "rank-registries": "some" })).status, 400);
});

test("the tier of a page can be inspected, with the rule or the list behind it", async () => {
  const inspect = (url: string, lens = "gov") =>
    server.request(`/v1/lenses/${lens}/inspect?${new URLSearchParams({ url }).toString()}`);
  const { body: rule } = await inspect("https://www.gov.uk/renew?a=b");
  assert.deepEqual(
    [rule.host, rule.tier, rule.rule, rule.registry],
    ["gov.uk", "A", "$tier=A,suffix=gov.*,why=government", null],
  );
  const { body: listed } = await inspect("listed.example");
  assert.deepEqual([listed.tier, listed.rule, listed.registry.source], ["D", null, "https://lists.example/"]);
  assert.match(listed.objection_url, /\/docs\/ranking#objections$/);
  assert.deepEqual([(await inspect("example.org")).body.reason, (await inspect("no url")).status], ["unlisted", 400]);
  assert.equal((await inspect("example.org", "none")).status, 404);
});

test("a page with a long URL or an impossible host is not inspected", async () => {
  const inspect = (url: string) => server.request(`/v1/lenses/base/inspect?${new URLSearchParams({ url }).toString()}`);
  assert.equal((await inspect(`https://example.org/${"a".repeat(2_028)}`)).status, 200);
  for (const url of [
    `https://example.org/${"a".repeat(2_029)}`,
    `${"a.".repeat(127)}com`,
    `${"a".repeat(64)}.com`,
    `http:///${"a.".repeat(127)}com`,
  ]) {
    const { status, body } = await inspect(url);
    assert.equal(status, 400, url.slice(0, 40));
    assert.match(body.detail, /The query parameter `url` must be a URL of at most 2,048 characters or a domain/);
  }
});

test("the reasons for twenty results fit into a 4 kB header", async () => {
  await upstream.behave("ok", { hits: 100 });
  const reply = await server.search(wallet.live, { query: "cats", n: 20 }, { "rank-explain": "1" });
  assert.equal(reply.body.n, 20);
  assert.ok((reply.headers.get("rank-explain") ?? "").length <= 4_096);
});

test("the rules are public", async () => {
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
  assert.equal((await server.request("/v1/lenses/unknown")).status, 404);
  assert.equal((await server.request("/v1/lenses/..%2f..%2fpackage.json")).status, 404);
});

test("a reload applies edits, and keeps the previous version and reports it when an edit is invalid", async () => {
  const file = join(folder, "gov.lens");
  const text = readFileSync(file, "utf8");
  const edited = text.replace(/! version: .*/, "! version: 2031-01-01.7");
  writeFileSync(file, `${edited}\n$tier=A,site=shop.example,why=our-shop\n$cap=E,site=gov.uk,why=test,override\n`);
  assert.doesNotMatch((await searchFor("gov")).headers.get("rank-lens") ?? "", /2031/);
  server.app.reload();
  const moved = await searchFor("gov");
  assert.equal(moved.headers.get("rank-lens"), "gov@2031-01-01.7");
  assert.equal(moved.body.results[0].source, "shop.example");

  writeFileSync(file, `${edited}\n$tier=Z,site=shop.example\n`);
  server.app.reload();
  assert.equal((await searchFor("gov")).headers.get("rank-lens"), "gov@2031-01-01.7");
  assert.match(await server.readMetrics(), /^pennyblack_reload_faults [1-9]/m);
  assert.match(server.logged(), /reload failed, keeping previous lenses and upstreams/);

  writeFileSync(file, text);
  server.app.reload();
  assert.equal((await searchFor("gov")).body.results[0].source, "gov.uk");
  assert.match(await server.readMetrics(), /^pennyblack_reload_faults 0/m);
});

test("SIGHUP reloads the lenses, and a server with an invalid lens does not start and reports the line", async () => {
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
