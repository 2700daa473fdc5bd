import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { existsSync } from "node:fs";
import { join } from "node:path";
import { after, test } from "node:test";
import { until } from "../../server/test/until.ts";
import { baseName, imageName, storageFolder } from "./build-image.ts";
import { openContainers } from "./containers.ts";
import { type ImageWorld, isHealthy, startImageWorld } from "./image-world.ts";
import { readSbom } from "./read-sbom.ts";
import { startBalancer } from "./start-balancer.ts";

// The image that `npm run image:build` made, run as an operator would. In CI it is never skipped: there it has been built, or
// these tests fail.

const mostMegabytes = 250;
/** For a machine that is busy with other tests. */
const patienceMs = 60_000;
const obstacle =
  existsSync(join(storageFolder, "storage")) && spawnSync("podman", ["--version"]).status === 0
    ? false
    : "there is no image: npm run image:build, as root";
const skip = process.env["CI"] === "true" ? false : obstacle;

const undo: (() => Promise<void>)[] = [];
/** Every step, whatever becomes of the others: a database that is left behind stays for ever. */
const leave = async (): Promise<void> => {
  const faults: unknown[] = [];
  for (const step of undo.splice(0).toReversed()) await step().catch((fault: unknown) => faults.push(fault));
  if (faults.length > 0) throw new AggregateError(faults, "not everything was put away");
};
after(leave);
const containers = openContainers(storageFolder);
const { podman } = containers;
// Only where it is looked at: a skipped test needs no container.
const world = skip === false ? await start() : ({} as ImageWorld);

test(`the image is at most ${mostMegabytes} MB larger than its base`, { skip }, async () => {
  const sizes = [baseName, imageName].map((name) => podman("image", "inspect", "--format", "{{.Size}}", name));
  const [base = 0, image = 0] = (await Promise.all(sizes)).map((bytes) => Math.round(Number(bytes) / 1e6));
  console.log(`the image has ${image} MB, its base ${base} MB`);
  assert.ok(image > base, "it holds nothing");
  assert.ok(image - base <= mostMegabytes, `${image - base} MB`);
});

test("servers and worker run as user 1000 with no capability, and can write nowhere that lasts", { skip }, async () => {
  for (const { name } of [...world.servers, world.worker]) await assertConfined(name);
});

test("the image holds the console of owners, the one of operators, and the docs", { skip }, async () => {
  const [{ url, opsUrl }] = world.servers;
  const consoles = await Promise.all([`${url}/console/`, `${opsUrl}/console/`].map(readPage));
  for (const { address, text } of consoles) {
    const script = /src="(\/console\/assets\/[^"]+\.js)"/.exec(text)?.[1];
    assert.ok(script, `${address} has no script`);
    assert.match((await readPage(new URL(script, address).href)).type, /javascript/);
  }
  assert.notEqual(consoles[0]?.text, consoles[1]?.text, "owners and operators see the same");
  assert.match((await readPage(`${url}/docs/`)).text, /Pennyblack/);
  assert.match((await readPage(`${url}/docs/quickstart.md`)).text, /^# /);
});

test("a search through it costs a cent, and a stop under load fails no request", { skip }, async () => {
  const { servers, wallet, runAdmin } = world;
  const { status, charge, body } = await search(servers[0].url, wallet.liveKey);
  assert.deepEqual([status, charge], [200, "0.01;currency=usd"]);
  assert.ok(body.n);
  const answers = await stopUnderLoad();
  console.log(`one of two servers stopped under load: ${answers} requests, none failed`);
  await podman("stop", "--time", "20", "worker");
  assert.equal(await podman("inspect", "--format", "{{.State.ExitCode}}", "worker"), "0", "the worker was killed");

  const left = await ask(`${servers[1].url}/v1/wallet`, { authorization: `Bearer ${wallet.managementKey}` });
  assert.deepEqual([left.body.balance, left.body.held], [(50 - (answers + 1) / 100).toFixed(2), "0.00"]);
  assert.match(await runAdmin("reconcile"), /Clean at/);
});

test("its list of contents has packages of npm and of Debian, and Node", { skip }, async () => {
  const sbom = await readSbom(podman, imageName);
  for (const purl of ["pkg:npm/fastify@", "pkg:deb/debian/libc6@", "pkg:generic/node@24."]) {
    assert.ok(sbom.includes(purl), purl);
  }
});

/** What fails here ends the file before it has begun, and Node then calls no "after". */
async function start(): Promise<ImageWorld> {
  return startImageWorld(containers, (step) => undo.push(step)).catch(async (error: unknown) => {
    await leave();
    throw error;
  });
}

async function assertConfined(name: string): Promise<void> {
  const script = `
    const { readFileSync, writeFileSync } = require("node:fs");
    const isWritten = (path) => { try { writeFileSync(path, ""); return true; } catch { return false; } };
    const status = readFileSync("/proc/1/status", "utf8");
    console.log(JSON.stringify({
      user: process.getuid(),
      capabilities: /CapEff:\\s*0+\\n/.test(status) ? "none" : "some",
      written: ["/app/x", "/etc/x", "/tmp/x", "/var/tmp/x", "/run/x"].filter(isWritten),
    }));`;
  const seen: unknown = JSON.parse(await podman("exec", name, "node", "-e", script));
  // podman's --read-only lays memory over /tmp, /var/tmp and /run; a server that uses none of it needs none of it.
  assert.deepEqual(seen, { user: 1000, capabilities: "none", written: ["/tmp/x", "/var/tmp/x"] }, name);
}

async function readPage(address: string): Promise<{ address: string; type: string; text: string }> {
  const reply = await fetch(address);
  assert.equal(reply.status, 200, address);
  return { address, type: reply.headers.get("content-type") ?? "", text: await reply.text() };
}

/** How many requests were answered, each of them with 200, while one server was told to stop and ended. */
async function stopUnderLoad(): Promise<number> {
  const balancer = startBalancer(world.servers);
  const statuses: (number | string)[] = [];
  const enough = new AbortController();
  const load = Array.from({ length: 16 }, async () => {
    while (!enough.signal.aborted) {
      const answer = search(balancer.choose(), world.wallet.liveKey).then(({ status }): number | string => status);
      statuses.push(await answer.catch((error: unknown) => String(error)));
    }
  });
  try {
    await until("the load is steady", () => statuses.length > 100, patienceMs);
    await podman("stop", "--time", "20", "one");
    const atStop = statuses.length;
    await until("the other one serves alone", () => statuses.length > atStop + 100, patienceMs);
  } finally {
    enough.abort();
    await Promise.all(load);
    balancer.stop();
  }
  assert.deepEqual([...new Set(statuses)], [200]);
  assert.equal(await podman("inspect", "--format", "{{.State.ExitCode}}", "one"), "0", "it was killed");
  assert.equal(await isHealthy(podman, "two"), true);
  return statuses.length;
}

interface Answer {
  n?: number;
  balance?: string;
  held?: string;
}

async function search(url: string, key: string) {
  return ask(`${url}/v1/search`, { "x-api-key": key, "content-type": "application/json" }, '{"query":"cats"}');
}

async function ask(url: string, headers: Record<string, string>, body?: string) {
  const reply = await fetch(url, { headers, ...(body && { method: "POST", body }) });
  const text = await reply.text();
  return { status: reply.status, charge: reply.headers.get("wallet-charge"), body: JSON.parse(text) as Answer };
}
