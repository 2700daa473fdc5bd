import assert from "node:assert/strict";
import { randomBytes } from "node:crypto";
import { createPool } from "../../server/src/db/pool.ts";
import { withRole } from "../../server/src/db/roles.ts";
import { choosePort } from "../../server/src/dev/choose-port.ts";
import { superuserUrl } from "../../server/test/database.ts";
import { startHostileUpstream } from "../../server/test/hostile-upstream.ts";
import { until } from "../../server/test/until.ts";
import { baseName, imageName } from "./build-image.ts";
import type { Containers, Run } from "./containers.ts";
import { startBalancer } from "./start-balancer.ts";

// The image as an operator runs it: migrations, two servers and a worker, none of them root, none with a file system it can
// write to. They share the machine's network, and with it the PostgreSQL of the tests.

const mostMegabytes = 250;
const confined = "--network=host --read-only --cap-drop=ALL --security-opt=no-new-privileges";

export async function testImage({ podman }: Containers, say: (line: string) => void): Promise<void> {
  const sizes = [baseName, imageName].map((name) => podman("image", "inspect", "--format", "{{.Size}}", name));
  const [base = 0, image = 0] = (await Promise.all(sizes)).map((bytes) => Math.round(Number(bytes) / 1e6));
  say(`the image has ${image} MB, its base ${base} MB: ${image - base} MB over the base, ${mostMegabytes} allowed`);
  assert.ok(image - base <= mostMegabytes);

  const upstream = await startHostileUpstream();
  await upstream.behave("slow_headers", { everyMs: 30 });
  const database = `pb_image_${randomBytes(4).toString("hex")}`;
  const settings = makeSettings(database, upstream.url);
  const runJob = (...words: string[]): Promise<string> =>
    podman(...runWords(settings), "--rm", imageName, "server/src/admin/main.ts", ...words);
  try {
    say((await runJob("database", "setup")).split("\n").at(-1) ?? "");
    const made = await runJob("wallet", "create", "--name", "image", "--balance", "50.00", "--json");
    const wallet = JSON.parse(made) as { liveKey: string; managementKey: string };
    const servers = [await startService(podman, settings, "one"), await startService(podman, settings, "two")];
    const worker = await startService(podman, settings, "worker", "server/src/jobs/main.ts");
    say("two servers and a worker are healthy");
    for (const { name } of [...servers, worker]) await assertConfined(podman, name);
    say("each runs as user 1000 with no capability, and can write nowhere");

    await assertPaidSearch(servers[0]?.url ?? "", wallet.liveKey);
    say("a search through it costs 0.01");
    const answers = await stopUnderLoad({ podman, servers, key: wallet.liveKey });
    say(`one of two servers stopped under load: ${answers} requests, none failed`);
    await podman("stop", "--time", "20", "worker");
    assert.equal(await podman("inspect", "--format", "{{.State.ExitCode}}", "worker"), "0");

    const { body } = await ask(`${servers[1]?.url}/v1/wallet`, { authorization: `Bearer ${wallet.managementKey}` });
    assert.deepEqual([body.balance, body.held], [(50 - (answers + 1) / 100).toFixed(2), "0.00"]);
    assert.match(await runJob("reconcile"), /Clean at/);
    say(`${answers + 1} searches are paid, and the books are right`);
  } finally {
    await podman("rm", "--force", "--all", "--time", "0");
    await upstream.close();
    await dropDatabase(database);
  }
}

function makeSettings(database: string, upstreamUrl: string): Record<string, string> {
  const at = new URL(superuserUrl);
  at.pathname = `/${database}`;
  return {
    PENNYBLACK_ADMIN_DATABASE_URL: superuserUrl,
    PENNYBLACK_DIRECT_DATABASE_URL: withRole(at.href, "owner"),
    DATABASE_URL: withRole(at.href, "ledger"),
    PENNYBLACK_TENANT_DATABASE_URL: withRole(at.href, "tenant"),
    PENNYBLACK_SECRET: randomBytes(32).toString("base64"),
    PENNYBLACK_KEY_PEPPERS: `1:${randomBytes(32).toString("base64")}`,
    PENNYBLACK_SEARXNG_URL: upstreamUrl,
    PENNYBLACK_DRAIN_MS: "2000",
    PENNYBLACK_OPS_HOST: "127.0.0.1",
    HOST: "127.0.0.1",
  };
}

function runWords(settings: Record<string, string>): string[] {
  const variables = Object.entries(settings).flatMap(([name, value]) => ["--env", `${name}=${value}`]);
  return ["run", ...confined.split(" "), ...variables];
}

interface Service {
  name: string;
  url: string;
  opsUrl: string;
}

/** Started, and healthy by the image's own health check. */
async function startService(
  podman: Run,
  settings: Record<string, string>,
  name: string,
  ...command: string[]
): Promise<Service> {
  const [port, opsPort] = [await choosePort({ host: "127.0.0.1" }), await choosePort({ host: "127.0.0.1" })];
  const listeners = { PORT: String(port), PENNYBLACK_OPS_PORT: String(opsPort) };
  await podman(...runWords({ ...settings, ...listeners }), "--detach", "--name", name, imageName, ...command);
  await until(`${name} is healthy`, async () => {
    if ((await podman("inspect", "--format", "{{.State.Running}}", name)) !== "true") {
      throw new Error(`${name} ended:\n${await podman("logs", name)}`);
    }
    return isHealthy(podman, name);
  });
  return { name, url: `http://127.0.0.1:${port}`, opsUrl: `http://127.0.0.1:${opsPort}` };
}

async function isHealthy(podman: Run, name: string): Promise<boolean> {
  return podman("healthcheck", "run", name).then(
    () => true,
    () => false,
  );
}

async function assertConfined(podman: Run, name: string): Promise<void> {
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

async function assertPaidSearch(url: string, key: string): Promise<void> {
  const { status, charge, body } = await search(url, key);
  assert.deepEqual([status, charge], [200, "0.01;currency=usd"]);
  assert.ok(body.n);
}

/** How many requests were answered, each of them with 200, while one server was told to stop and ended. */
async function stopUnderLoad(parts: { podman: Run; servers: Service[]; key: string }): Promise<number> {
  const { podman, servers, key } = parts;
  const balancer = startBalancer(servers);
  const statuses: (number | string)[] = [];
  const enough = new AbortController();
  const load = Array.from({ length: 16 }, async () => {
    while (!enough.signal.aborted) {
      const answer = search(balancer.choose(), key).then(({ status }): number | string => status);
      statuses.push(await answer.catch((error: unknown) => String(error)));
    }
  });
  await until("the load is steady", () => statuses.length > 100);
  await podman("stop", "--time", "20", "one");
  const atStop = statuses.length;
  await until("the other one serves alone", () => statuses.length > atStop + 100);
  enough.abort();
  await Promise.all(load);
  balancer.stop();
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

async function dropDatabase(name: string): Promise<void> {
  const pool = createPool({ url: superuserUrl, name: "image", connections: 1, onIdleError: () => {} });
  await pool.query(`drop database if exists ${name} with (force)`);
  await pool.end();
}
