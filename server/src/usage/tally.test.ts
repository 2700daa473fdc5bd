import assert from "node:assert/strict";
import { randomUUIDv7 } from "node:crypto";
import { after, beforeEach, test } from "node:test";
import { createTestDatabase } from "../../test/database.ts";
import type { Queryable } from "../db/pool.ts";
import type { UpstreamAnswer } from "../providers/provider.ts";
import { readMargin } from "./read-margin.ts";
import { readUpstreamHours } from "./read-upstream-hours.ts";
import { createTally } from "./tally.ts";

const db = await createTestDatabase();
after(() => db.drop());
beforeEach(() => db.owner.query("truncate pb.usage_hours, pb.usage_days, pb.upstream_days, pb.upstream_hours"));

const everyMs = 3_600_000;
const caller = { walletId: randomUUIDv7(), keyId: randomUUIDv7(), mode: "live" as const };

function quietLog() {
  const lines: string[] = [];
  const note = (_fields: unknown, line?: string): void => void lines.push(line ?? "");
  return { lines, log: { warn: note, error: note } };
}

async function counted(): Promise<string[]> {
  const { rows } = await db.owner.query<{ line: string }>(
    `select concat_ws(' ', to_char(hour at time zone 'utc', 'MM-DD HH24'), mode, outcome, was_held, searches, charged_micros) as line
     from pb.usage_hours
     union all select concat_ws(' ', day, mode, outcome, was_held, searches, charged_micros) from pb.usage_days
     order by line`,
  );
  return rows.map(({ line }) => line);
}

test("refusals are written by hour and day in UTC, and add up over batches and servers", async () => {
  let now = Date.parse("2026-01-31T23:59:59.999Z");
  const tallies = [1, 2].map(() => createTally({ db: db.ledger, ...quietLog(), everyMs, now: () => now }));
  for (const tally of tallies) {
    tally.noteUnheld(caller, "rate_limited");
    tally.noteUnheld(caller, "rate_limited");
  }
  await Promise.all(tallies.map((tally) => tally.write()));
  now += 1;
  for (const tally of tallies) tally.noteUnheld(caller, "rate_limited");
  await Promise.all(tallies.map((tally) => tally.close()));
  assert.deepEqual(await counted(), [
    "01-31 23 live rate_limited f 4 0",
    "02-01 00 live rate_limited f 2 0",
    "2026-01-31 live rate_limited f 4 0",
    "2026-02-01 live rate_limited f 2 0",
  ]);
});

test("a batch whose answer was lost is sent again and counts once; one that never arrived is not lost", async () => {
  const { lines, log } = quietLog();
  let mood: "lost" | "away" | "well" = "lost";
  const query = async (text: string, values: unknown[]) => {
    if (mood !== "away") await db.ledger.query(text, values);
    if (mood !== "well") throw new Error("the connection broke");
  };
  const tally = createTally({ db: { query } as unknown as Queryable, log, everyMs });
  const write = async (next: typeof mood): Promise<void> => {
    mood = next;
    tally.noteUnheld(caller, "key_budget_spent");
    await tally.write();
  };
  await write("lost");
  await write("lost");
  await write("away");
  await write("well");
  await tally.close();
  const { rows } = await db.owner.query("select searches from pb.usage_days");
  assert.deepEqual(rows, [{ searches: 4n }]);
  assert.equal(lines.length, 3);
});

test("what the database refuses for good does not stand in the way of what follows", async () => {
  const { lines, log } = quietLog();
  const tally = createTally({ db: db.ledger, log, everyMs });
  tally.noteUnheld({ ...caller, keyId: "not an id" }, "rate_limited");
  await tally.write();
  assert.match(lines.join(), /it is lost/);
  tally.noteUnheld(caller, "rate_limited");
  await tally.close();
  assert.equal((await counted()).length, 2);
});

test("memory is bounded, and what was not counted is said", async () => {
  const { lines, log } = quietLog();
  const tally = createTally({ db: db.ledger, log, everyMs, mostRows: 2 });
  for (const outcome of ["a", "b", "c", "a", "d"]) tally.noteUnheld(caller, outcome);
  await tally.close();
  const { rows } = await db.owner.query("select outcome, searches from pb.usage_days order by outcome");
  assert.deepEqual(rows, [
    { outcome: "a", searches: 2n },
    { outcome: "b", searches: 1n },
  ]);
  assert.match(lines.join(), /too many kinds/);
});

test("the margin of an upstream is what its answers were charged less what its calls cost, day by day", async () => {
  let now = Date.parse("2026-01-31T23:59:59Z");
  const tally = createTally({ db: db.ledger, ...quietLog(), everyMs, now: () => now });
  const ok: UpstreamAnswer = { ok: true, provider: "brave", hits: [], tookMs: 1 };
  tally.noteCall(ok, 5_000n, false);
  tally.noteCharge("brave", 10_000n);
  tally.noteCall({ ok: false, provider: "brave", reason: "timeout", tookMs: 1 }, 0n, false);
  await tally.write();
  tally.noteCall({ ok: false, provider: "brave", reason: "timeout", tookMs: 1 }, 0n, false);
  now += 2_000;
  tally.noteCall(ok, 5_000n, false);
  tally.noteCall({ ...ok, provider: "exa" }, 7_000n, false);
  tally.noteCharge("exa", 10_000n);
  await tally.close();
  const { rows } = await readMargin(db.owner, { from: "2026-01-31", to: "2026-02-01" });
  assert.deepEqual(rows, [
    { day: "2026-02-01", provider: "brave", calls: 1, failures: {}, cost: 5_000n, revenue: 0n },
    { day: "2026-02-01", provider: "exa", calls: 1, failures: {}, cost: 7_000n, revenue: 10_000n },
    { day: "2026-01-31", provider: "brave", calls: 3, failures: { timeout: 2 }, cost: 5_000n, revenue: 10_000n },
  ]);
  assert.deepEqual((await readMargin(db.owner, { from: "2026-02-02", to: "2026-03-01" })).rows, []);
});

test("calls are told by hour with how long they took, and a server of the version before still reports its days", async () => {
  const hour = Math.floor(Date.now() / 3_600_000) * 3_600_000;
  const now = new Date(hour + 1_800_000);
  const day = now.toISOString().slice(0, 10);
  await db.owner.query("insert into pb.upstream_hours values ($1, 'brave', 'ok', 50, 1, true)", [
    new Date(hour - 8 * 86_400_000),
  ]);
  const tally = createTally({ db: db.ledger, ...quietLog(), everyMs, now: () => now.getTime() });
  const call = (tookMs: number): UpstreamAnswer => ({ ok: true, provider: "brave", hits: [], tookMs });
  for (let count = 0; count < 18; count += 1) tally.noteCall(call(60), 5_000n, false);
  tally.noteCall(call(401), 5_000n, false);
  tally.noteCharge("brave", 10_000n);
  await tally.write();
  tally.noteCall({ ok: false, provider: "brave", reason: "timeout", tookMs: 12_000 }, 0n, true);
  tally.noteCall({ ok: false, provider: "brave", reason: "aborted", tookMs: 2 }, 0n, false);
  await tally.close();
  // What pb.write_tally was sent before there were hours.
  const row = { day, provider: "brave", outcome: "ok", calls: 1, cost_micros: "1", revenue_micros: "0" };
  await db.ledger.query("select pb.write_tally($1, 1, '[]', $2)", [randomUUIDv7(), JSON.stringify([row])]);

  const [margin] = (await readMargin(db.owner, { from: day, to: day })).rows;
  assert.deepEqual([margin?.calls, margin?.cost, margin?.revenue], [22, 95_001n, 10_000n]);
  const hours = (await readUpstreamHours(db.operator, now)).get("brave");
  assert.equal(hours?.length, 24);
  const start = (ms: number): string => new Date(ms).toISOString();
  assert.deepEqual(hours?.at(-1), { start: start(hour), calls: 20, failures: 1, p95_ms: 500, open: true });
  const none = { calls: 0, failures: 0, p95_ms: null, open: false };
  assert.deepEqual(hours?.[0], { start: start(hour - 23 * 3_600_000), ...none });
  const { rows } = await db.owner.query("select hour from pb.upstream_hours where hour < now() - interval '7 days'");
  assert.deepEqual(rows, [], "hours are kept for a week");
});
