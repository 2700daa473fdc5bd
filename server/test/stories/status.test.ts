import assert from "node:assert/strict";
import { before, test } from "node:test";
import { Check } from "typebox/value";
import { countStatus } from "../../src/status/status.ts";
import type { Incident, ServiceStatus } from "../../src/status/status-schema.ts";
import { statusSchema } from "../../src/status/status-schema.ts";
import { rollUpUsage } from "../../src/usage/roll-up.ts";
import { until } from "../support/assertions/until.ts";
import { closeAfter } from "../support/close-after.ts";
import { runAdmin } from "../support/services/admin-process.ts";
import { operators, testEnvironment } from "../support/services/server.ts";
import { startReceiver } from "../support/services/webhook-receiver.ts";
import { createWebhookFixture } from "../support/webhook-fixture.ts";

// The public status page: its figures are those of usage, it shows nothing of any tenant, and incidents reach subscribers.

const fixture = await createWebhookFixture({ PENNYBLACK_OPERATORS: operators });
const { db, server, upstream, startServer } = fixture;
const wallets = [await fixture.createWallet("0.09"), await fixture.createWallet("1.00")];
const [first, second] = wallets;
assert.ok(first && second);
// The day of the requests, because midnight can pass before the page is read.
const startedOn = new Date().toISOString().slice(0, 10);

before(async () => {
  // As at the start of a process. The next report of this server follows after five seconds.
  assert.equal(await server.app.checkDatabase(), undefined);
  for (const query of ["cats", "dogs", "cats"]) await server.search(first.live, { query, category: "gov" });
  for (let time = 0; time < 2; time += 1) {
    await server.search(
      second.live,
      { query: "cats" },
      { "idempotency-key": "once", "search-run": "nightly; max=0.50" },
    );
  }
  await upstream.behave("status_503");
  for (let time = 0; time < 2; time += 1) await server.search(first.live, { query: "cats" });
  await upstream.behave("ok");
  await server.search(second.live, "{");
  await server.search(second.test, { query: "test:upstream_503" });
  await until("the server has written its refusals and replays", async () => {
    const { rows } = await db.owner.query<{ unheld: number }>(
      "select coalesce(sum(searches), 0)::int as unheld from pb.usage_days where not was_held",
    );
    return rows[0]?.unheld === 2;
  });
  await setTimes(first.walletId, [40, 1_234, 90]);
  await setTimes(second.walletId, [4_321]);
  await count();
});

/** Replaces the times of charged searches of a wallet. */
async function setTimes(walletId: string, times: readonly number[]): Promise<void> {
  await db.owner.query(
    `update pb.searches s set settled_at = s.held_at + interval '1 ms' * t.ms, auth_ms = 0, hold_ms = 0, upstream_ms = 0
     from unnest($2::integer[]) with ordinality t (ms, nth)
     join (
       select id, row_number() over (order by id) as nth from pb.searches
       where wallet_id = $1 and state = 'captured' and mode = 'live'
     ) n using (nth)
     where s.id = n.id`,
    [walletId, times],
  );
}

async function count(): Promise<void> {
  // As if all holds had expired and the worker had run.
  await db.owner.query("update pb.sweep_watermark set settled_before = clock_timestamp()");
  await rollUpUsage(db.worker, new AbortController().signal);
  await countStatus(db.worker);
}

/** Of a new server, because a server reads the database once a minute. */
async function readStatus(): Promise<{ status: ServiceStatus; text: string; html: string }> {
  const fresh = await startServer();
  const { body, text } = await fresh.request("/status.json");
  const { text: html } = await fresh.request("/status");
  return { status: body, text, html };
}

function findCounted({ days }: ServiceStatus): ServiceStatus["days"][number] | undefined {
  return days.find(({ day }) => day === startedOn);
}

interface Line {
  outcome: string;
  searches: number;
  replays: number;
  refusals: number;
  mode: string;
}

async function readUsage(management: string): Promise<Line[]> {
  const { body } = await server.manage(management, "GET", "/v1/usage?group=outcome");
  return body.usage.filter(({ mode }: Line) => mode === "live");
}

test("availability and response time are those that the owners read in their usage", async () => {
  const usage = (await Promise.all(wallets.map(({ management }) => readUsage(management)))).flat();
  const requests = (outcomes: string[]): number =>
    usage
      .filter(({ outcome }) => outcomes.includes(outcome))
      .reduce((sum, { searches, replays, refusals }) => sum + searches + replays + refusals, 0);
  assert.deepEqual(
    new Set(usage.map(({ outcome }) => outcome)),
    new Set(["ok", "replayed", "upstream_error", "malformed_json"]),
  );
  const [succeeded, failed] = [requests(["ok", "replayed"]), requests(["upstream_error"])];
  assert.deepEqual([succeeded, failed], [5, 2]);

  const pages = await Promise.all(
    wallets.map(({ management }) => server.readPages(management, "/v1/searches?mode=live&outcome=ok&limit=100")),
  );
  const times = pages.flat().map(({ ms }: { ms: number }) => ms);
  assert.equal(times.length, 4);
  const { status } = await readStatus();
  const availability = Math.floor((succeeded / (succeeded + failed)) * 100_000) / 100_000;
  assert.deepEqual(findCounted(status), { day: startedOn, availability, p95_ms: 4_400 });
  assert.equal(Math.max(...times), 4_321);
  assert.deepEqual(
    status.objectives.map(({ name, value, met }) => [name, value, met]),
    [
      ["availability", availability, false],
      ["own_availability", 1, true],
      ["own_latency", 0.5, false],
    ],
  );
  assert.equal(status.days.length, 90);
  const others = status.days.filter(({ day }) => day !== startedOn);
  assert.ok(others.every((day) => day.availability === null && day.p95_ms === null));
});

test("a request that usage counts late is added, and none is counted twice", async () => {
  await count();
  await db.owner.query("update pb.usage_days set searches = searches + 1 where outcome = 'upstream_error'");
  await countStatus(db.worker);
  const { status } = await readStatus();
  assert.equal(findCounted(status)?.availability, 0.625);
  await db.owner.query("update pb.usage_days set searches = searches - 1 where outcome = 'upstream_error'");
  await countStatus(db.worker);
  const again = await readStatus();
  assert.equal(findCounted(again.status)?.availability, 0.71428);
});

test("the page shows no tenant's data and no counts", async () => {
  const { status, text, html } = await readStatus();
  assert.ok(Check(statusSchema, status));
  assert.deepEqual(
    Object.keys(status).toSorted(),
    Object.keys(statusSchema.properties)
      .filter((name) => name !== "cells")
      .toSorted(),
  );
  assert.deepEqual(Object.keys(status.days[0] ?? {}), ["day", "availability", "p95_ms"]);
  for (const { walletId, liveKeyId, live } of wallets) {
    for (const secret of [walletId, liveKeyId, live.slice(0, 12), "gov", "nightly", "cats"]) {
      for (const page of [text, html]) assert.ok(!page.includes(secret), secret);
    }
  }
});

test("the page is one document that allows nothing but its own style and script", async () => {
  const { headers, text } = await server.request("/status");
  assert.equal(headers.get("content-type"), "text/html; charset=utf-8");
  assert.match(headers.get("content-security-policy") ?? "", /^default-src 'none';.*frame-ancestors 'none'$/);
  assert.doesNotMatch(text, /\ssrc=|<link|style="/);
  assert.equal((await server.request("/status.json")).headers.get("content-type"), "application/json; charset=utf-8");
});

const environment = { ...testEnvironment(db), PENNYBLACK_DIRECT_DATABASE_URL: db.ownerUrl };

async function admin(...args: string[]): Promise<string> {
  const { exitCode, stdout, stderr } = await runAdmin(environment, "incident", ...args);
  assert.equal(exitCode, 0, stderr);
  return stdout;
}

test("an incident is shown, recorded, and sent to the wallets subscribed to it", async () => {
  const receiver = closeAfter(await startReceiver());
  await fixture.subscribe(first, `${receiver.url}/first`, ["service.incident"]);
  await fixture.subscribe(second, `${receiver.url}/second`, ["key.created"]);
  const opened = await admin("open", "--title", "Slow <b>provider</b>", "--text", "We are looking into it.", "--json");
  const { incidentId } = JSON.parse(opened);
  assert.equal((await readStatus()).status.state, "degraded");
  await admin("update", "--incident", incidentId, "--text", "It fails now.", "--impact", "outage", "--by", "bob");
  const open = await readStatus();
  assert.equal(open.status.state, "outage");
  assert.ok(open.html.includes("Slow &lt;b&gt;provider&lt;/b&gt;") && !open.html.includes("<b>"));
  assert.match(await admin("list"), /open +outage/);
  await admin("close", "--incident", incidentId, "--text", "Resolved.");
  const closed = await readStatus();
  assert.equal(closed.status.state, "operational");
  const [incident] = closed.status.incidents as [Incident];
  assert.deepEqual(
    incident.updates.map(({ text }) => text),
    ["We are looking into it.", "It fails now.", "Resolved."],
  );
  assert.ok(incident.closed_at !== null);

  const late = await runAdmin(environment, "incident", "update", "--incident", incidentId, "--text", "More.");
  assert.match(late.stderr, /is already closed\. Nothing was changed/);
  const { rows } = await db.owner.query<{ line: string }>(
    "select act || ' ' || (operator = 'bob') || ' ' || (after->>'text') as line from pb.audit_log where subject = $1 order by number",
    [incidentId],
  );
  assert.deepEqual(
    rows.map(({ line }) => line),
    [
      "incident.open false We are looking into it.",
      "incident.update true It fails now.",
      "incident.close false Resolved.",
    ],
  );
  await fixture.send();
  assert.deepEqual(
    receiver.received.map(({ path, event }) => `${path} ${event.type} ${String(event.data["text"])}`).toSorted(),
    [
      "/first service.incident It fails now.",
      "/first service.incident Resolved.",
      "/first service.incident We are looking into it.",
    ],
  );
});
