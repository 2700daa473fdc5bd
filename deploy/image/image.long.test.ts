import assert from "node:assert/strict";
import { execFileSync, spawnSync } from "node:child_process";
import { existsSync } from "node:fs";
import { join } from "node:path";
import { after, test } from "node:test";
import { until } from "../../server/test/support/assertions/until.ts";
import { baseName, imageName, root, storageFolder } from "./build-image.ts";
import { openContainers } from "./containers.ts";
import { type ImageFixture, isHealthy, startImageFixture } from "./image-fixture.ts";
import { readSbom } from "./read-sbom.ts";
import { startBalancer } from "./start-balancer.ts";

// Tests the image built by `npm run image:build`. Skipped if there is no image, except in CI.

const maxMegabytes = 210;
/** Generous, because other tests may keep the machine busy. */
const timeoutMs = 60_000;
const missingReason =
  existsSync(join(storageFolder, "storage")) && spawnSync("podman", ["--version"]).status === 0
    ? false
    : "image not built; run npm run image:build as root";
const skip = process.env["CI"] === "true" ? false : missingReason;

const cleanups: (() => Promise<void>)[] = [];
/** Runs every cleanup even if one fails, so that no database is left behind. */
const cleanUp = async (): Promise<void> => {
  const errors: unknown[] = [];
  for (const step of cleanups.splice(0).toReversed()) await step().catch((error: unknown) => errors.push(error));
  if (errors.length > 0) throw new AggregateError(errors, "cleanup failed");
};
after(cleanUp);
const containers = openContainers(storageFolder);
const { podman } = containers;
// Skipped tests do not need containers.
const fixture = skip === false ? await start() : ({} as ImageFixture);

test(`the image is at most ${maxMegabytes} MB`, { skip }, async () => {
  const size = await podman("image", "inspect", "--format", "{{.Size}}", imageName);
  const megabytes = Math.round(Number(size) / 1e6);
  console.log(`image size ${megabytes} MB`);
  assert.ok(megabytes <= maxMegabytes, `${megabytes} MB`);
});

test("the image contains no shell, package manager, compiler or type package", { skip }, async () => {
  const script = `
    const { globSync } = require("node:fs");
    const programs = globSync("/{bin,sbin,usr/bin,usr/sbin,usr/local/bin}/*");
    const packages = globSync("/app/node_modules/**/{typescript,@typescript,@types,npm,undici-types}");
    const libraries = globSync("/usr/local/lib/node_modules/*");
    console.log(JSON.stringify([...programs, ...packages, ...libraries]));`;
  const run = ["run", "--rm", "--network=none", "--read-only", imageName, "-e", script];
  assert.deepEqual(JSON.parse(await podman(...run)), ["/usr/local/bin/node"]);
});

test("the image and its files have the time of a commit, and the image names its base", { skip }, async () => {
  const format = '{{.Created.Unix}} {{index .Labels "org.opencontainers.image.base.name"}}';
  const [created, base] = (await podman("image", "inspect", "--format", format, imageName)).split(" ");
  const commits = execFileSync("git", ["log", "--format=%ct"], { cwd: root, encoding: "utf8" }).split("\n");
  assert.ok(created && (commits.includes(created) || created === process.env["SOURCE_DATE_EPOCH"]), created);
  assert.equal(base, baseName);
  const script = 'console.log(require("node:fs").statSync("/app/server/src/main.ts").mtimeMs / 1000)';
  const run = ["run", "--rm", "--network=none", "--read-only", imageName, "-e", script];
  assert.equal(await podman(...run), created);
});

test("servers and worker run as user 1000 without capabilities or persistent writes", { skip }, async () => {
  for (const { name } of [...fixture.servers, fixture.worker]) await assertSandboxed(name);
});

test("the image serves the console, the operator console and the docs", { skip }, async () => {
  const [{ url, opsUrl }] = fixture.servers;
  const consoles = await Promise.all([`${url}/console/`, `${opsUrl}/console/`].map(readPage));
  for (const { address, text } of consoles) {
    const script = /src="(\/console\/assets\/[^"]+\.js)"/.exec(text)?.[1];
    assert.ok(script, `${address} has no script`);
    assert.match((await readPage(new URL(script, address).href)).type, /javascript/);
  }
  assert.notEqual(consoles[0]?.text, consoles[1]?.text, "both consoles are the same page");
  assert.match((await readPage(`${url}/docs/`)).text, /Pennyblack/);
  assert.match((await readPage(`${url}/docs/quickstart.md`)).text, /^# /);
});

test("a search is charged, and stopping a server under load fails no request", { skip }, async () => {
  const { servers, wallet, runAdmin } = fixture;
  const { status, charge, body } = await search(servers[0].url, wallet.liveKey);
  assert.deepEqual([status, charge], [200, "0.01;currency=usd"]);
  assert.ok(body.n);
  const requests = await stopUnderLoad();
  console.log(`stopped one of two servers under load: ${requests} requests, none failed`);
  await podman("stop", "--time", "20", "worker");
  assert.equal(await podman("inspect", "--format", "{{.State.ExitCode}}", "worker"), "0", "the worker was killed");

  const walletAfter = await request(`${servers[1].url}/v1/wallet`, { authorization: `Bearer ${wallet.managementKey}` });
  assert.deepEqual([walletAfter.body.balance, walletAfter.body.held], [(50 - (requests + 1) / 100).toFixed(2), "0.00"]);
  assert.match(await runAdmin("reconcile"), /Clean at/);
});

test("the SBOM lists npm packages, Debian packages and Node", { skip }, async () => {
  const sbom = await readSbom(podman, imageName);
  for (const purl of ["pkg:npm/fastify@", "pkg:deb/debian/libc6@", "pkg:generic/node@24."]) {
    assert.ok(sbom.includes(purl), purl);
  }
});

/** Cleans up on failure itself, because Node does not call "after" hooks if the file fails to load. */
async function start(): Promise<ImageFixture> {
  return startImageFixture(containers, (step) => cleanups.push(step)).catch(async (error: unknown) => {
    await cleanUp();
    throw error;
  });
}

async function assertSandboxed(name: string): Promise<void> {
  const script = `
    const { readFileSync, writeFileSync } = require("node:fs");
    const canWrite = (path) => { try { writeFileSync(path, ""); return true; } catch { return false; } };
    const status = readFileSync("/proc/1/status", "utf8");
    console.log(JSON.stringify({
      user: process.getuid(),
      capabilities: /CapEff:\\s*0+\\n/.test(status) ? "none" : "some",
      written: ["/app/x", "/etc/x", "/tmp/x", "/var/tmp/x", "/run/x"].filter(canWrite),
    }));`;
  const state: unknown = JSON.parse(await podman("exec", name, "node", "-e", script));
  // podman's --read-only mounts a tmpfs on /tmp and /var/tmp.
  assert.deepEqual(state, { user: 1000, capabilities: "none", written: ["/tmp/x", "/var/tmp/x"] }, name);
}

async function readPage(address: string): Promise<{ address: string; type: string; text: string }> {
  const reply = await fetch(address);
  assert.equal(reply.status, 200, address);
  return { address, type: reply.headers.get("content-type") ?? "", text: await reply.text() };
}

/** Stops one server under load and checks that every request returned 200. Returns the number of requests. */
async function stopUnderLoad(): Promise<number> {
  const balancer = startBalancer(fixture.servers);
  const statuses: (number | string)[] = [];
  const stopLoad = new AbortController();
  const load = Array.from({ length: 16 }, async () => {
    while (!stopLoad.signal.aborted) {
      const answer = search(balancer.choose(), fixture.wallet.liveKey).then(({ status }): number | string => status);
      statuses.push(await answer.catch((error: unknown) => String(error)));
    }
  });
  try {
    await until("the load is running", () => statuses.length > 100, timeoutMs);
    await podman("stop", "--time", "20", "one");
    const atStop = statuses.length;
    await until("the other server takes over", () => statuses.length > atStop + 100, timeoutMs);
  } finally {
    stopLoad.abort();
    await Promise.all(load);
    balancer.stop();
  }
  assert.deepEqual([...new Set(statuses)], [200]);
  assert.equal(await podman("inspect", "--format", "{{.State.ExitCode}}", "one"), "0", "the server was killed");
  assert.equal(await isHealthy(podman, "two"), true);
  return statuses.length;
}

interface ResponseBody {
  n?: number;
  balance?: string;
  held?: string;
}

async function search(url: string, key: string) {
  return request(`${url}/v1/search`, { "x-api-key": key, "content-type": "application/json" }, '{"query":"cats"}');
}

async function request(url: string, headers: Record<string, string>, body?: string) {
  const reply = await fetch(url, { headers, ...(body && { method: "POST", body }) });
  const text = await reply.text();
  return { status: reply.status, charge: reply.headers.get("wallet-charge"), body: JSON.parse(text) as ResponseBody };
}
