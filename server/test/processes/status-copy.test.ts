import assert from "node:assert/strict";
import { mkdtemp, readdir, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { before, test } from "node:test";
import { pathToFileURL } from "node:url";
import { Check } from "typebox/value";
import { encodeStatus, startStatusCopy } from "../../src/status/status-copy.ts";
import { statusSchema } from "../../src/status/status-schema.ts";
import { summarizeStatus } from "../../src/status/summarize-status.ts";
import { noBrowser, openBrowser, openPage } from "../console/browser.ts";
import { createFixture } from "../fixture.ts";
import { until } from "../support/assertions/until.ts";
import { closeAfter } from "../support/close-after.ts";
import { startWorker } from "./worker-fixture.ts";

// The copy of the status page that a worker writes for another host, and what a reader sees after the installation is gone.

const folder = await mkdtemp(join(tmpdir(), "pennyblack-status-"));
closeAfter({ close: () => rm(folder, { recursive: true, force: true }) });
const { db, server } = await createFixture();
const read = (name: string): Promise<string> => readFile(join(folder, name), "utf8");

before(async () => {
  const worker = await startWorker(db, {
    PENNYBLACK_STATUS_COPY: folder,
    PENNYBLACK_PUBLIC_URL: "https://search.test",
  });
  await until("the copy is written", async () => (await readdir(folder)).includes("index.html"));
  worker.process.kill("SIGKILL");
  await server.close();
});

test("a worker writes the page and its JSON, and leaves no unfinished file", async () => {
  assert.ok(Check(statusSchema, JSON.parse(await read("status.json"))));
  assert.match(await read("index.html"), /<h1>Status of search\.test<\/h1>/);
  assert.deepEqual((await readdir(folder)).toSorted(), ["index.html", "status.json"]);
});

test("after the server and the worker were killed, the copy states that it is out of date", {
  skip: noBrowser,
}, async () => {
  const browser = closeAfter(await openBrowser([]));
  const { page, errors } = await openPage(browser);
  const written = new Date(JSON.parse(await read("status.json")).written_at).getTime();
  const url = pathToFileURL(join(folder, "index.html")).href;
  await page.clock.install({ time: written + 4 * 60_000 });
  await page.goto(url);
  const warning = page.getByText("Out of date.");
  const lastState = page.getByText("Last known state:");
  assert.match(await page.locator("main").innerText(), /Last updated .*4 minutes ago\. /);
  assert.deepEqual([await warning.isVisible(), await lastState.isVisible()], [false, false]);
  await page.clock.runFor(70_000);
  assert.match(await page.locator("main").innerText(), /The last update was 5 minutes ago/);
  assert.deepEqual([await warning.isVisible(), await lastState.isVisible()], [true, true]);
  assert.deepEqual(errors, []);

  const { page: plain } = await openPage(browser, { javaScriptEnabled: false });
  await plain.goto(url);
  assert.match(await plain.locator("main").innerText(), /more than 5 minutes ago, this page is out of date/);
});

test("readers never see a part of a file, and an attempt that fails is reported", async () => {
  const own = await mkdtemp(join(folder, "own-"));
  const counts = {
    now: "2030-01-31T12:00:00.000Z",
    counted_before: "2030-01-31T11:57:00.000Z",
    server_seen_at: null,
    outcomes: [],
    latencies: [],
    incidents: [],
  };
  const page = encodeStatus(summarizeStatus(counts), "https://search.test");
  const attempts: unknown[] = [];
  const options = {
    readPage: async () => page,
    onAttempt: (error: unknown) => void attempts.push(error),
    intervalMs: 1,
  };
  const copies = [startStatusCopy({ folder: own, ...options }), startStatusCopy({ folder: own, ...options })];
  const failing = startStatusCopy({ folder: join(own, "missing"), ...options, intervalMs: 60_000 });
  await until(
    "both files exist",
    async () => (await readdir(own)).filter((name) => !name.startsWith(".")).length === 2,
  );
  for (let time = 0; time < 300; time += 1) {
    assert.equal((await readFile(join(own, "index.html"))).length, page.html.length);
  }
  await Promise.all([...copies, failing].map((copy) => copy.close()));
  const faults = attempts.filter((error) => error !== undefined);
  assert.deepEqual(
    faults.map((error) => (error as NodeJS.ErrnoException).code),
    ["ENOENT"],
  );
  assert.deepEqual((await readdir(own)).toSorted(), ["index.html", "status.json"]);
});
