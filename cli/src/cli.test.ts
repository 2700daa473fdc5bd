import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { dirname, join } from "node:path";
import { text } from "node:stream/consumers";
import { after, test } from "node:test";
import { seedKeyLimits } from "../../server/test/support/data/seed-wallet.ts";
import { installPacked } from "../../server/test/support/docs/packed-packages.ts";
import { readCodeBlocks } from "../../server/test/support/docs/read-code-blocks.ts";
import { createTestDatabase } from "../../server/test/support/services/database.ts";
import { createTestKey, createTestWallet, startTestServer } from "../../server/test/support/services/server.ts";
import { startHostileUpstream } from "../../server/test/support/upstreams/hostile-upstream.ts";

// Runs the packed CLI in its own process against the real server.

const db = await createTestDatabase();
const upstream = await startHostileUpstream();
const server = await startTestServer(db, { PENNYBLACK_SEARXNG_URL: upstream.url });
const installed = installPacked();
const wallet = await createTestWallet(db, "0.20");
const stub = await startStub();
const program = installed.bin("pennyblack");
const env = {
  PATH: `${dirname(process.execPath)}:/usr/bin:/bin`,
  HOME: installed.folder,
  PENNYBLACK_URL: server.url,
  PENNYBLACK_API_KEY: wallet.live,
  PENNYBLACK_MANAGEMENT_KEY: wallet.management,
};

after(async () => {
  installed.remove();
  stub.close();
  await server.close();
  await upstream.close();
  await db.drop();
});

/** Serves canned responses for usage, keys and top-ups, and closes the connection on every search. */
async function startStub() {
  const times = { expires_at: null, revoked_at: null, last_used_at: null, created_at: "2026-11-14T00:00:00Z" };
  const settings = { scopes: ["search"], allowed_ips: null, budget: null, ...times };
  const key = {
    id: "k-1",
    mode: "live",
    name: "batch",
    start: "pb_live_ab",
    state: "active",
    created_by: null,
    ...settings,
  };
  const usage = { start: "2026-11-14T00:00:00Z", mode: "live", searches: 12, charged: "0.12" };
  const answers: Record<string, unknown> = {
    "GET /v1/usage?by=day": { usage: [usage], next_cursor: null },
    "GET /v1/keys": { keys: [key], next_cursor: null },
    "GET /v1/keys/k-1": key,
    "PATCH /v1/keys/k-1": key,
    "GET /v1/wallet/alerts": { email: null, low_balance: null },
    "PUT /v1/wallet/alerts": { email: null, low_balance: "5.00" },
    "GET /v1/webhooks": { endpoints: [] },
    "POST /v1/webhooks": { id: "w-1", secret: "whsec_made" },
    "POST /v1/keys": { ...key, key: "pb_live_made" },
    "POST /v1/keys/k-1/rotate": { ...key, id: "k-2", key: "pb_live_rotated" },
    "DELETE /v1/keys/k-1": { ...key, state: "revoked" },
    "POST /v1/wallet/top-ups": { id: "t-1", status: "pending", amount: "20.00", checkout_url: "https://pay.example/1" },
  };
  const calls: string[] = [];
  const listener = createServer((request, response) => {
    const route = `${request.method} ${request.url}`;
    text(request).then(
      (body) => {
        calls.push(`${route} ${body}`.trim());
        if (route === "POST /v1/search") response.destroy();
        else response.end(JSON.stringify(answers[route] ?? {}));
      },
      () => response.destroy(),
    );
  }).listen(0, "127.0.0.1");
  await once(listener, "listening");
  const url = `http://127.0.0.1:${(listener.address() as AddressInfo).port}`;
  return { url, calls, close: () => listener.close() };
}

async function run(args: string[], options: { env?: Record<string, string>; input?: string; command?: string } = {}) {
  const child = spawn(options.command ?? program, args, { cwd: installed.folder, env: { ...env, ...options.env } });
  child.stdin.end(options.input ?? "");
  const [out, err] = await Promise.all([text(child.stdout), text(child.stderr), once(child, "close")]);
  return { code: child.exitCode, out, err };
}

const withStub = { env: { PENNYBLACK_URL: stub.url } };

test("search prints results to stdout and the charge to stderr", async () => {
  const { code, out, err } = await run(["search", "penny", "black", "-n", "2", "--category", "research"]);
  assert.equal(code, 0, err);
  assert.match(out, /^1\. {2}About https:\/\/example\.org\/page-1\n {4}https:\/\/example\.org\/page-1\n {4}What /);
  assert.equal(out.match(/^\d+\. /gm)?.length, 2);
  assert.match(err, /^\n2 results · 0\.01 USD · .*request [0-9a-f-]{36}\n$/);
  assert.deepEqual(upstream.requests.at(-1)?.query.get("q"), "penny black");
});

test("--json prints one line of JSON, including the charge", async () => {
  const { out, err } = await run(["search", "cats", "-n", "1", "--json"]);
  const { results, meta, n } = JSON.parse(out);
  assert.deepEqual([results.length, n, meta.charge, err], [1, 1, "0.01", ""]);
  assert.equal(JSON.parse((await run(["wallet", "--json"])).out).price, "0.01");
});

test("search prints what its run and the budget of its key have left", async () => {
  const limitsId = await seedKeyLimits(db.owner, wallet.walletId, { total: 50_000n, day: 20_000n });
  const { key } = await createTestKey(db, { walletId: wallet.walletId, limitsId });
  const { err } = await run(["search", "cats", "--run", "r1", "--max", "0.05"], { env: { PENNYBLACK_API_KEY: key } });
  assert.ok(err.includes(" · run r1: 0.01 USD spent, 0.04 USD left · "), err);
  assert.ok(err.includes(" · key budget, total: 0.01 USD spent, 0.04 USD left · "), err);
  assert.ok(err.includes(" · key budget, day: 0.01 USD spent, 0.01 USD left · "), err);
});

test("wallet prints the available balance", async () => {
  const { out } = await run(["wallet"]);
  assert.match(out, /^Available {2}0\.\d\d USD$/m);
});

const failures: [code: number, words: string[], message: RegExp, env?: Record<string, string>][] = [
  [1, ["search", "cats", "-n", "21"], /#\/n: must be an integer from 1 to 20/],
  [1, ["wallet"], /does not have the `wallet:read` scope/, { PENNYBLACK_MANAGEMENT_KEY: wallet.live }],
  [2, ["search"], /missing required argument/],
  [2, ["search", "cats", "--category", "sport"], /programming, research, gov, business/],
  [2, ["search", "cats", "--key", wallet.live], /unknown option '--key'/],
  [2, ["search", "cats", "--run", "a"], /--run and --max must be used together/],
  [2, ["search", "cats"], /No API key\. Set PENNYBLACK_API_KEY/, { PENNYBLACK_API_KEY: "" }],
  [2, ["keys", "revoke", "k-1"], /Add --yes/],
  [2, ["frob"], /unknown command/],
  [3, ["search", "test:internal_error"], /Internal error\. You were not charged/, { PENNYBLACK_API_KEY: wallet.test }],
  [4, ["search", "cats"], /You may have been charged\. To find out, repeat the/, { PENNYBLACK_URL: stub.url }],
  [5, ["search", "test:run_budget_spent"], /The run "nightly-report" has spent/, { PENNYBLACK_API_KEY: wallet.test }],
];

for (const [expected, args, message, extraEnv] of failures) {
  test(`exit code ${expected}: ${args.slice(0, 2).join(" ")} ${String(message)}`, async () => {
    const { code, out, err } = await run(args, { env: extraEnv ?? {} });
    assert.equal(code, expected, err);
    assert.match(err, message);
    assert.equal(out, "");
    assert.ok(!err.includes(wallet.live) && !err.includes(wallet.test));
  });
}

test("--json prints errors as JSON", async () => {
  const { code, err } = await run(["search", "cats", "-n", "21", "--json"]);
  const { error } = JSON.parse(err);
  assert.deepEqual([code, error.code, error.charged, error.retryable], [1, "invalid_request", false, false]);
});

test("receipt prints the signed receipt of a search", async () => {
  const { out } = await run(["search", "cats", "--json"], { env: { PENNYBLACK_API_KEY: wallet.test } });
  const { requestId } = JSON.parse(out).meta;
  const receipt = (await run(["receipt", requestId])).out.trim();
  const claims = JSON.parse(Buffer.from(receipt.split(".")[1] ?? "", "base64url").toString());
  assert.deepEqual([claims.id, claims.amount], [requestId, "0.00"]);
  assert.match((await run(["receipt", requestId, "--json"])).out, /^\{"receipt":"\S+"\}\n$/);
});

test("whoami, entries, runs and why describe a search", async () => {
  const { out } = await run(["search", "cats", "--run", "weekly", "--max", "0.05", "--json"]);
  const { requestId } = JSON.parse(out).meta;
  assert.match((await run(["whoami"])).out, /^Mode +live$/m);
  assert.match((await run(["entries", "--request-id", requestId])).out, new RegExp(`search +-0\\.01 +${requestId}\n$`));
  assert.match((await run(["runs"])).out, /^weekly +1 +0\.01 +0\.04 +0\.05 /m);
  const why = (await run(["why", requestId])).out;
  assert.match(why, /^Outcome +Succeeded$/m);
  assert.match(why, /^Charged +0\.01 USD\n +search -0\.01 USD on /m);
  assert.match(why, /^ {4}Rank 1, /m);
});

test("activity prints who changed a key, and exports the lines", async () => {
  await run(["keys", "create", "--name", "audited", "--per-day", "1.00"]);
  await run(["keys", "update", "audited", "--per-day", "2.00"]);
  const { out } = await run(["activity", "--key", "audited", "--act", "key", "--actor", "key", "--from", "2026-01-01"]);
  const [heading, changed, created, ...rest] = out.split("\n");
  assert.match(heading ?? "", /^TIME +BY +CHANGE +VALUES$/);
  assert.match(changed ?? "", /UTC {2}management {2}Changed the key audited {2}budget_day 1\.00 -> 2\.00$/);
  assert.match(created ?? "", /Created the key audited {2}.*budget_day 1\.00/);
  assert.deepEqual(rest, [""]);
  const exported = (await run(["activity", "--key", "audited", "--jsonl"])).out.trimEnd().split("\n");
  assert.deepEqual(
    exported.map((line) => JSON.parse(line).act),
    ["key.create", "key.change"],
  );
  assert.equal((await run(["activity", "--to", "2026-01-02"])).out, "No changes.\n");
});

test("an insufficient balance prints the top-up URL", async () => {
  const empty = await createTestWallet(db, "0.00");
  const { code, err } = await run(["search", "cats"], { env: { PENNYBLACK_API_KEY: empty.live } });
  assert.equal(code, 5);
  assert.match(err, /You were not charged\. Top up at http:\/\/search\.test\/\S+ and retry\.\n/);
});

test("usage prints a chart, keys list a table, keys create only the key", async () => {
  assert.match((await run(["usage"], withStub)).out, /^2026-11-14 {2}█+ {2}12 {2}0\.12 USD\ntotal /);
  assert.match(
    (await run(["keys", "list"], withStub)).out,
    /^ID +KEY .*\nk-1 +pb_live_ab… +live +active +none +never +never +batch\n$/,
  );
  const created = await run(["keys", "create", "--name", "batch", "--per-day", "1.00"], withStub);
  assert.equal(created.out, "pb_live_made\n");
  assert.equal(stub.calls.at(-1), 'POST /v1/keys {"name":"batch","mode":"live","budget":{"day":"1.00"}}');
  const file = join(installed.folder, "new-key");
  const rotated = await run(["keys", "rotate", "k-1", "--grace", "60", "--out", file], withStub);
  assert.deepEqual([rotated.code, rotated.out], [0, ""]);
  assert.deepEqual([readFileSync(file, "utf8"), statSync(file).mode & 0o777], ["pb_live_rotated\n", 0o600]);
  assert.match(stub.calls.at(-1) ?? "", /\{"grace_seconds":60\}$/);
  const again = await run(["keys", "rotate", "k-1", "--out", file], withStub);
  assert.deepEqual([again.out, readFileSync(file, "utf8")], ["pb_live_rotated\n", "pb_live_rotated\n"]);
  assert.match((await run(["keys", "revoke", "k-1", "--yes"], withStub)).out, /^Revoked: batch/);
  assert.equal((await run(["top-up", "20.00"], withStub)).out, "https://pay.example/1\n");
});

test("uses a saved profile and never prints its key", async () => {
  const isolatedEnv = { XDG_CONFIG_HOME: join(installed.folder, "config"), PENNYBLACK_API_KEY: "", PENNYBLACK_URL: "" };
  const saved = await run(["profiles", "save", "--url", server.url], { env: isolatedEnv, input: `${wallet.test}\n` });
  assert.equal(saved.code, 0, saved.err);
  const found = await run(["search", "cats", "-n", "1"], { env: isolatedEnv });
  assert.match(found.out, /made up for a test key/);
  const listed = await run(["profiles", "list"], { env: isolatedEnv });
  assert.match(listed.out, /^default {2}http:\/\/127\.0\.0\.1:\d+ {2}search$/m);
  assert.ok(![saved, found, listed].some(({ out, err }) => (out + err).includes(wallet.test)));
});

const script = ["/usr/bin/script", "/bin/script"].find((path) => existsSync(path));

test("uses color on terminals only, unless NO_COLOR is set", { skip: !script && "script not installed" }, async () => {
  const runOnTerminal = (extraEnv: Record<string, string>) =>
    run(["-qec", `${program} search cats -n 1`, "/dev/null"], {
      command: script ?? "",
      env: { TERM: "xterm", ...extraEnv },
    });
  const escape = "\u001b[";
  assert.ok((await runOnTerminal({})).out.includes(`${escape}1mAbout`));
  assert.ok(!(await runOnTerminal({ NO_COLOR: "1" })).out.includes(escape));
  assert.ok(!(await run(["search", "cats", "-n", "1"], { env: { FORCE_COLOR: "1" } })).out.includes(escape));
});

test("runs with npx", async () => {
  const ran = await run(["-y", "@pennyblack/cli", "--version"], {
    command: "npx",
    env: { npm_config_offline: "true" },
  });
  assert.deepEqual([ran.code, ran.out], [0, `${installed.manifests.cli.version}\n`], ran.err);
});

test("every code block in the README runs", async () => {
  const blocks = readCodeBlocks(new URL("../README.md", import.meta.url), "sh");
  assert.ok(blocks.length >= 3, `${blocks.length} blocks`);
  const management = await createTestKey(db, { walletId: wallet.walletId, mode: "mgmt", name: "readme" });
  const paths = { PATH: `${dirname(program)}:${env.PATH}`, XDG_CONFIG_HOME: join(installed.folder, "readme") };
  writeFileSync(join(installed.folder, "management.key"), management.key, { mode: 0o600 });
  for (const block of blocks) {
    const isManaging = /\b(?:usage|keys|webhooks|top-up)\b/.test(block);
    const blockEnv = { ...paths, ...(isManaging ? { PENNYBLACK_URL: stub.url } : {}) };
    const { code, err } = await run(["-euc", block], { command: "/bin/sh", env: blockEnv });
    assert.equal(code, 0, `${block}\n${err}`);
  }
});
