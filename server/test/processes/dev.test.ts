import assert from "node:assert/strict";
import { existsSync, readFileSync, statSync } from "node:fs";
import { createServer } from "node:http";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { parseEnv } from "node:util";
import { listenOnLoopback } from "../faults/crashes/delayed-upstream.ts";
import { until } from "../support/assertions/until.ts";
import { openBrowser, tokenIn } from "../support/console-fixture.ts";
import { spawnAdmin } from "../support/services/admin-process.ts";
import { createTestDatabase, superuserUrl, type TestDatabase } from "../support/services/database.ts";
import { anyPorts, type DevProcess, failDev, isAlive, startDev } from "../support/services/dev-process.ts";

let upstream: Awaited<ReturnType<typeof listenOnLoopback>>;
let db: TestDatabase;
let adminUrl: string;
const started: DevProcess[] = [];

before(async () => {
  const recorded = readFileSync(new URL("../../src/providers/fixtures/searxng/ok.json", import.meta.url), "utf8");
  const answer = JSON.stringify(JSON.parse(recorded).body);
  upstream = await listenOnLoopback(
    createServer((_request, response) => response.setHeader("content-type", "application/json").end(answer)),
  );
  db = await createTestDatabase();
  adminUrl = Object.assign(new URL(superuserUrl), { pathname: `/${db.name}` }).href;
});

after(async () => {
  for (const dev of started) dev.process.kill("SIGKILL");
  await upstream.close();
  await db.drop();
});

async function start(options: Parameters<typeof startDev>[0]): Promise<DevProcess> {
  const dev = await startDev(options);
  started.push(dev);
  return dev;
}

function search(dev: DevProcess, key: string): Promise<Response> {
  return fetch(`${dev.ready.url}/v1/search`, {
    method: "POST",
    headers: { authorization: `Bearer ${key}`, "content-type": "application/json" },
    body: JSON.stringify({ query: "advisory locks", n: 2 }),
  });
}

function keysOf({ ready }: DevProcess): Record<string, string> {
  const { walletId, liveKey, testKey, managementKey } = ready;
  return { walletId, liveKey, testKey, managementKey };
}

async function balanceOf({ ready }: DevProcess): Promise<string> {
  const answer = await fetch(`${ready.url}/v1/wallet`, { headers: { authorization: `Bearer ${ready.managementKey}` } });
  return ((await answer.json()) as { balance: string }).balance;
}

/** The wallets of the person that a sign-in link belongs to. */
async function walletsOf(dev: DevProcess, link: string): Promise<string[]> {
  assert.ok(link.startsWith(`${dev.ready.url}/console/sign-in#token=`), link);
  const { body } = await openBrowser(dev.ready).send(
    "POST",
    "sign-in/token",
    { token: tokenIn(link) },
    { origin: dev.ready.url },
  );
  return body.wallets.map(({ id }: { id: string }) => id);
}

async function assertNothingIsLeft(dev: DevProcess, pids: number[]): Promise<void> {
  await until("no process is left", async () => !pids.some(isAlive));
  await until("no data is left", async () => dev.leftBehind().length === 0);
}

test("without any setup, searches are answered and paid, admin works, and no process is left behind", async () => {
  const dev = await start({ environment: { PENNYBLACK_SEARXNG_URL: upstream.url } });
  const pids = dev.descendants();
  assert.ok(pids.length >= 4, "a server, a worker, a supervisor and PostgreSQL");
  assert.deepEqual(Object.keys(dev.ready), [
    "url",
    "opsUrl",
    "liveKey",
    "testKey",
    "managementKey",
    "walletId",
    "operatorToken",
    "signInLink",
  ]);
  assert.equal(dev.stdout().split("\n").length, 2, "one line on stdout");
  assert.equal((await search(dev, dev.ready.testKey)).status, 200);
  const paid = await search(dev, dev.ready.liveKey);
  assert.equal(paid.status, 200, await paid.text());
  const wallet = await fetch(`${dev.ready.url}/v1/wallet`, {
    headers: { authorization: `Bearer ${dev.ready.managementKey}` },
  });
  assert.match(await wallet.text(), /"4\.99"/);
  assert.deepEqual(await walletsOf(dev, dev.ready.signInLink), [dev.ready.walletId], "the link signs the owner in");

  assert.equal(statSync(dev.environmentFile).mode & 0o777, 0o600);
  const settings = parseEnv(readFileSync(dev.environmentFile, "utf8")) as Record<string, string>;
  const made = await spawnAdmin(settings, "wallet", "create", "--name", "acme", "--balance", "0.01", "--json");
  const { liveKey } = JSON.parse(made.stdout);
  assert.equal((await search(dev, liveKey)).status, 200);
  assert.equal((await search(dev, liveKey)).status, 402);
  assert.equal((await spawnAdmin(settings, "reconcile")).exitCode, 0);
  const link = await spawnAdmin(settings, "console", "sign-in-link", "--email", "you@pennyblack.test");
  assert.deepEqual(await walletsOf(dev, link.stdout), [dev.ready.walletId], link.stderr);
  const unknown = await spawnAdmin(settings, "console", "sign-in-link", "--email", "unknown@pennyblack.test");
  assert.deepEqual([unknown.exitCode, unknown.stdout], [1, ""]);

  dev.process.kill("SIGTERM");
  assert.equal(await dev.ended, 0, dev.stderr());
  await assertNothingIsLeft(dev, pids);
  assert.ok(!existsSync(dev.environmentFile));
});

test("with an existing PostgreSQL, two concurrent runs get separate wallets and settings files, and leave nothing behind", async () => {
  const options = { environment: { DATABASE_URL: adminUrl }, throughNpm: true };
  const first = await start(options);
  const second = await start({ ...options, folder: first.folder });
  const pair = [first, second];
  assert.notEqual(first.ready.walletId, second.ready.walletId);
  const own = join(first.folder, `.pennyblack/dev-${new URL(second.ready.url).port}.env`);
  const ports = [first.environmentFile, own].map((file) => parseEnv(readFileSync(file, "utf8"))["PORT"]);
  assert.deepEqual(
    ports,
    pair.map(({ ready }) => new URL(ready.url).port),
  );
  for (const dev of pair) {
    assert.doesNotMatch(dev.stderr(), /warning/);
    assert.equal((await search(dev, dev.ready.testKey)).status, 200);
    assert.equal((await search(dev, dev.ready.liveKey)).status, 503, "no upstream is configured");
    const lines = dev.stdout().split("\n");
    assert.equal(lines.filter((line) => line.includes("{")).length, 1, "one line of JSON");
  }
  const [ofFirst, ofSecond] = [first.descendants(), second.descendants()];
  // Ctrl-C.
  second.process.kill("SIGINT");
  assert.equal(await second.ended, 0, second.stderr());
  await assertNothingIsLeft(second, ofSecond);
  assert.deepEqual([existsSync(first.environmentFile), existsSync(own)], [true, false], "removes only its own file");
  // Only npm gets the signal.
  first.process.kill("SIGKILL");
  await assertNothingIsLeft(first, ofFirst);
  assert.ok(!existsSync(first.environmentFile));
});

test("a file left by a killed dev server is replaced, and when the server is killed, dev explains it and exits with 1", async () => {
  const environment = { DATABASE_URL: adminUrl };
  const killed = await start({ environment });
  killed.process.kill("SIGKILL");
  await killed.ended;
  assert.ok(existsSync(killed.environmentFile));
  const next = await start({ environment, folder: killed.folder });
  assert.equal(parseEnv(readFileSync(next.environmentFile, "utf8"))["PORT"], new URL(next.ready.url).port);
  const pids = next.descendants();
  const server = pids.find((pid) => readFileSync(`/proc/${pid}/cmdline`, "utf8").includes("/src/main.ts"));
  process.kill(server ?? 0, "SIGKILL");
  assert.equal(await next.ended, 1);
  assert.match(next.stderr(), /The server exited unexpectedly \(SIGKILL\)/);
  await assertNothingIsLeft(next, pids);
});

test("keys and data stay after SIGKILL until --reset, and those of a second dev server in the same folder do not", async () => {
  const dev = await start({});
  const pids = dev.descendants();
  const topUpUrl = parseEnv(readFileSync(dev.environmentFile, "utf8"))["PENNYBLACK_TOP_UP_URL"] ?? "";
  assert.equal((await fetch(topUpUrl, { method: "POST" })).status, 403, "another page cannot add money");
  const added = await fetch(topUpUrl, { method: "POST", headers: { origin: topUpUrl } });
  assert.match(await added.text(), /5\.00 USD were added\. The balance is 10\.00 USD/);
  dev.process.kill("SIGKILL");
  await assertNothingIsLeft(dev, pids);

  const next = await start({ folder: dev.folder });
  assert.deepEqual(keysOf(next), keysOf(dev));
  assert.equal(await balanceOf(next), "10.00");
  const second = await start({ folder: dev.folder });
  assert.notEqual(second.ready.walletId, next.ready.walletId);
  assert.ok(second.leftBehind().length > 0);
  const pidsOfSecond = second.descendants();
  second.process.kill("SIGKILL");
  await assertNothingIsLeft(second, pidsOfSecond);
  next.process.kill("SIGTERM");
  await next.ended;

  const fresh = await start({ folder: dev.folder, args: [...anyPorts, "--reset"] });
  for (const [name, key] of Object.entries(keysOf(fresh))) assert.notEqual(key, keysOf(next)[name], name);
  assert.equal(await balanceOf(fresh), "5.00");
});

test("a configuration error is one sentence with a next step", async () => {
  const taken = new URL(upstream.url).port;
  const nowhere = { DATABASE_URL: "postgres://postgres@127.0.0.1:1/x" };
  const wrong: [Parameters<typeof failDev>[0], number, RegExp][] = [
    [{ args: ["--port", taken] }, 1, /Port \d+ is in use, .* --port or PORT: npm run dev -- --port \d+$/m],
    [
      { environment: { PENNYBLACK_OPS_PORT: taken }, args: ["--port", "0"] },
      1,
      /PENNYBLACK_OPS_PORT: .* --ops-port \d+$/m,
    ],
    [
      { args: ["--port", taken, "--ops-port", taken] },
      1,
      /Ports \d+ and \d+ are in use, .*npm run dev -- --port \d+ --ops-port \d+$/m,
    ],
    [{ args: ["--prot", "1"] }, 2, /--prot.*See: npm run dev -- --help/],
    [{ args: ["--balance", "five"] }, 2, /--balance must be an amount/],
    [{ environment: nowhere }, 1, /Cannot connect to PostgreSQL: .*ECONNREFUSED.*Check DATABASE_URL/],
    [
      { environment: { DATABASE_URL: adminUrl, PENNYBLACK_SEARXNG_URL: "nonsense" } },
      1,
      /PENNYBLACK_SEARXNG_URL must be a URL/,
    ],
    [{ environment: { PENNYBLACK_SEARX_URL: upstream.url } }, 1, /PENNYBLACK_SEARX_URL is not a known setting/],
  ];
  const ended = await Promise.all(wrong.map(([options]) => failDev(options)));
  for (const [index, [, exitCode, message]] of wrong.entries()) {
    const failed = ended[index] ?? assert.fail();
    assert.deepEqual([failed.exitCode, failed.stdout], [exitCode, ""], failed.stderr);
    assert.match(failed.stderr, message);
  }
});
