import assert from "node:assert/strict";
import { cpSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { createServer } from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { fileURLToPath } from "node:url";
import { createFixture } from "../fixture.ts";
import { until } from "../support/assertions/until.ts";
import { closeAfter } from "../support/close-after.ts";
import { listen } from "../support/services/listen.ts";
import { startServerProcess } from "../support/services/server-process.ts";

// The keys of upstreams change while a server runs.

const { db, createWallet } = await createFixture();
const folder = mkdtempSync(join(tmpdir(), "pennyblack-reload-"));
closeAfter({ close: async () => rmSync(folder, { recursive: true }) });
const file = join(folder, "upstreams.env");
const lenses = join(folder, "lenses");
cpSync(fileURLToPath(new URL("../../lenses", import.meta.url)), lenses, { recursive: true });

/** Accepts some keys, and remembers those that were sent. */
const upstream = { accepted: ["old"], sent: new Set<string>() };
const hit = { _source: { title: "A result", url: "https://example.org/" }, highlight: { body: ["Text"] } };
const { url } = closeAfter(
  await listen(
    createServer((request, response) => {
      const key = request.headers.authorization?.replace("ApiKey ", "") ?? "";
      upstream.sent.add(key);
      const isAccepted = upstream.accepted.includes(key);
      request.resume().once("end", () => {
        response.writeHead(isAccepted ? 200 : 401, { "content-type": "application/json" });
        response.end(JSON.stringify(isAccepted ? { hits: { hits: [hit] } } : { error: "unauthorized" }));
      });
    }),
  ),
);

function writeSettings(key: string, more = ""): void {
  writeFileSync(file, `PENNYBLACK_OPENSEARCH_URL=${url}/index\nPENNYBLACK_OPENSEARCH_KEY=${key}\n${more}`);
}

writeSettings("old");
const server = await startServerProcess(db, {
  PENNYBLACK_SEARXNG_URL: "",
  PENNYBLACK_UPSTREAM_FILE: file,
  PENNYBLACK_LENSES: lenses,
});
closeAfter({ close: async () => void server.process.kill() });
const { live } = await createWallet("10.00");

async function search(): Promise<number> {
  const { status } = await fetch(`${server.url}/v1/search`, {
    method: "POST",
    headers: { authorization: `Bearer ${live}`, "content-type": "application/json" },
    body: '{"query":"cats"}',
  });
  return status;
}

async function readFaults(): Promise<number> {
  const metrics = await (await fetch(`${server.opsUrl}/metrics`)).text();
  return Number(/^pennyblack_reload_faults (\d+)/m.exec(metrics)?.[1]);
}

test("SIGHUP replaces the key of an upstream, and no search fails", async (t) => {
  const callers = Array.from({ length: 4 }, (): number[] => []);
  const stopping = new AbortController();
  const load = Promise.all(
    callers.map(async (statuses) => {
      while (!stopping.signal.aborted) statuses.push(await search());
    }),
  );
  /** Each caller has started and finished another search. */
  const untilAllSearched = async (): Promise<void> => {
    const before = callers.map(({ length }) => length);
    await until("each caller has searched again", async () =>
      callers.every(({ length }, index) => length >= (before[index] ?? 0) + 2),
    );
  };
  await untilAllSearched();
  upstream.accepted = ["old", "new"];
  writeSettings("new");
  server.process.kill("SIGHUP");
  await until("the new key is in use", async () => upstream.sent.has("new"));
  // Searches that started before may still use the old key.
  await untilAllSearched();
  upstream.accepted = ["new"];
  await untilAllSearched();
  stopping.abort();
  await load;
  const failed = callers.flat().filter((status) => status !== 200);
  t.diagnostic(`${callers.flat().length} searches, ${failed.length} failed`);
  assert.deepEqual(failed, []);
});

test("a reload with a fault changes neither upstreams nor lenses, and is reported", async () => {
  const lens = join(lenses, "unknown.lens");
  const faults: Record<string, () => void> = {
    "a key that cannot be sent": () => writeSettings("schl\u00fcssel"),
    "a setting that is not one of an upstream": () => writeSettings("third", "PENNYBLACK_SECRET=x\n"),
    "a lens with a fault": () => {
      writeSettings("third");
      writeFileSync(lens, "$tier=Z\n");
    },
  };
  for (const [name, make] of Object.entries(faults)) {
    make();
    server.process.kill("SIGHUP");
    await until(`${name} is reported`, async () => (await readFaults()) > 0);
    assert.equal(await search(), 200, name);
    assert.ok(!upstream.sent.has("third"), name);
    rmSync(lens, { force: true });
    writeSettings("new");
    server.process.kill("SIGHUP");
    await until("the reload without faults is reported", async () => (await readFaults()) === 0);
  }
  await until("the fault is logged", async () =>
    server.output().includes("PENNYBLACK_UPSTREAM_FILE: PENNYBLACK_SECRET is not a setting of an upstream"),
  );
});
