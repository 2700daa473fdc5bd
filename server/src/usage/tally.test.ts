import assert from "node:assert/strict";
import { randomUUIDv7 } from "node:crypto";
import { after, beforeEach, test } from "node:test";
import { createTestDatabase } from "../../test/support/services/database.ts";
import type { Queryable } from "../db/pool.ts";
import { firstIdOf } from "../lib/first-id-of.ts";
import type { UpstreamAnswer } from "../providers/provider.ts";
import { readAbandonedCalls, readMargin, readWalletDays, readWalletMargin } from "./read-margin.ts";
import { readUpstreamHours } from "./read-upstream-hours.ts";
import { dropOldRequests, rollUpUsage } from "./roll-up.ts";
import { createTally } from "./tally.ts";
import { createUnheldQueue, type UnheldQueue, type UnheldRequest } from "./unheld-requests.ts";

const db = await createTestDatabase();
after(() => db.drop());
beforeEach(() =>
  db.owner.query(
    "truncate pb.unheld_requests, pb.incomplete_hours, pb.usage_hours, pb.usage_days, pb.upstream_days, pb.upstream_hours, pb.upstream_wallet_days, pb.abandoned_calls",
  ),
);

const intervalMs = 3_600_000;
const caller = { walletId: randomUUIDv7(), keyId: randomUUIDv7(), mode: "live" as const };

/** A refusal at this time. */
function refusal(outcome: string, at = Date.now(), of: Partial<UnheldRequest> = {}): UnheldRequest {
  const id = firstIdOf(new Date(at)).slice(0, 14) + randomUUIDv7().slice(14);
  return { ...caller, id, outcome, transport: "http", ...of };
}

function quietLog() {
  const lines: string[] = [];
  const capture = (_fields: unknown, line?: string): void => void lines.push(line ?? "");
  return { lines, log: { warn: capture, error: capture } };
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

async function countStored(where = "true"): Promise<number> {
  const { rows } = await db.owner.query(`select count(*)::int as requests from pb.unheld_requests where ${where}`);
  return rows[0].requests;
}

async function countRequests(): Promise<number> {
  const { rows } = await db.owner.query("select sum(searches)::int as requests from pb.usage_days");
  return rows[0].requests;
}

test("stores and counts refusals per UTC hour and day, across batches and servers", async () => {
  const [late, early] = [Date.parse("2026-01-31T23:59:59.999Z"), Date.parse("2026-02-01T00:00:00Z")];
  await db.owner.query("select pb.make_partitions('2026-01-31', '2026-02-01')");
  const tallies = [1, 2].map(() => createTally({ db: db.ledger, ...quietLog(), intervalMs }));
  for (const tally of tallies)
    for (const at of [late, late, early]) tally.recordUnheld(refusal("rate_limited", at, { run: "nightly" }));
  await Promise.all(tallies.map((tally) => tally.close()));
  assert.deepEqual(await counted(), [
    "01-31 23 live rate_limited f 4 0",
    "02-01 00 live rate_limited f 2 0",
    "2026-01-31 live rate_limited f 4 0",
    "2026-02-01 live rate_limited f 2 0",
  ]);
  assert.equal(await countStored("run = 'nightly' and transport = 'http'"), 6);
});

test("beyond 20 per key and minute and 100 per wallet, refusals are counted and not stored", async () => {
  let now = 0;
  const tally = createTally({ db: db.ledger, ...quietLog(), intervalMs, now: () => now });
  const refuse = (count: number, of?: Partial<UnheldRequest>): void => {
    for (let done = 0; done < count; done += 1) tally.recordUnheld(refusal("rate_limited", Date.now(), of));
  };
  refuse(21);
  for (let key = 0; key < 5; key += 1) refuse(20, { keyId: randomUUIDv7() });
  refuse(1, { walletId: randomUUIDv7(), keyId: randomUUIDv7() });
  await tally.write();
  assert.deepEqual([await countStored(), await countRequests()], [101, 122]);
  now += 60_000;
  refuse(1);
  await tally.close();
  assert.deepEqual([await countStored(), await countRequests()], [102, 123]);
});

test("at most 5,000 refusals per wallet and day and 500 per second are stored, shared by the servers", async () => {
  let now = 0;
  const stored = (servers: number) => createUnheldQueue({ servers, now: () => now });
  const [alone, half] = [stored(1), stored(2)];
  const accepted = (queue: UnheldQueue, of: () => Partial<UnheldRequest>): number => {
    let count = 0;
    for (let done = 0; done < 600; done += 1) if (queue.add(refusal("rate_limited", 0, of()))) count += 1;
    queue.take();
    return count;
  };
  const others = () => ({ walletId: randomUUIDv7(), keyId: randomUUIDv7() });
  assert.deepEqual([accepted(alone, others), accepted(half, others)], [500, 500]);
  now += 1_000;
  assert.deepEqual([accepted(alone, () => ({})), accepted(half, () => ({}))], [20, 10]);
  let [ofDay, ofHalf] = [20, 10];
  for (let minute = 1; minute < 100; minute += 1) {
    now = minute * 60_000;
    const keys = () => ({ keyId: randomUUIDv7() });
    ofDay += accepted(alone, keys);
    ofHalf += accepted(half, keys);
  }
  assert.deepEqual([ofDay, ofHalf], [5_000, 2_500]);
});

test("a queue of 5,000 refusals drops, and counts what it drops", async () => {
  let now = 0;
  let isAvailable = false;
  const query = async (text: string, values: unknown[]) => {
    if (!isAvailable) throw new Error("the connection broke");
    return db.ledger.query(text, values);
  };
  const tally = createTally({ db: { query } as unknown as Queryable, ...quietLog(), intervalMs, now: () => now });
  for (let done = 0; done < 5_500; done += 1) {
    if (done % 500 === 0) now += 1_000;
    tally.recordUnheld(refusal("rate_limited", Date.now(), { walletId: randomUUIDv7(), keyId: randomUUIDv7() }));
  }
  isAvailable = true;
  await tally.close();
  assert.equal(await countRequests(), 5_500);
  // The first one is taken from the queue immediately.
  assert.equal(await countStored(), 5_001);
});

test("a batch is resent until it is acknowledged, and counts once", async () => {
  const { lines, log } = quietLog();
  let database: "reply lost" | "unreachable" | "available" = "available";
  const query = async (text: string, values: unknown[]) => {
    if (database !== "unreachable") await db.ledger.query(text, values);
    if (database !== "available") throw new Error("the connection broke");
  };
  const tally = createTally({ db: { query } as unknown as Queryable, log, intervalMs });
  const write = async (next: typeof database): Promise<void> => {
    database = next;
    // 20 are stored, one is counted.
    for (let done = 0; done < 21; done += 1) tally.recordUnheld(refusal("key_budget_spent"));
    await tally.write();
  };
  await write("reply lost");
  await write("reply lost");
  await write("unreachable");
  await write("available");
  await tally.close();
  assert.deepEqual([await countStored(), await countRequests()], [20, 84]);
  assert.ok(lines.length > 0);
});

test("hours are incomplete in which a server counted too many different refusals, or was killed", async () => {
  const tally = createTally({ db: db.ledger, ...quietLog(), intervalMs, maxRows: 1 });
  const isComplete = async (since: string, until: string): Promise<boolean | undefined> =>
    (await db.tenant.query<{ ok: boolean }>("select pb.are_requests_complete($1, $2) as ok", [since, until])).rows[0]
      ?.ok;
  // Not stored, because their keys have used up their limits.
  const at = Date.parse("2026-01-31T12:34:56Z");
  for (const keyId of [randomUUIDv7(), randomUUIDv7()])
    for (let done = 0; done < 21; done += 1) tally.recordUnheld(refusal("rate_limited", at, { keyId }));
  await tally.close();
  assert.equal(await isComplete("2026-01-31T12:59Z", "2026-01-31T13:00Z"), false);
  assert.equal(await isComplete("2026-01-31T13:00Z", "2026-01-31T14:00Z"), true);
  assert.equal(await isComplete("2026-01-31T11:00Z", "2026-01-31T12:00Z"), true);

  const killed = randomUUIDv7();
  const report = "insert into pb.process_reports values ($1, 'server', '{}', $2, $2)";
  await db.owner.query(report, [killed, "2026-01-31T15:59:55Z"]);
  await db.owner.query(report, [randomUUIDv7(), "2026-01-31T18:00:00Z"]);
  await db.owner.query("insert into pb.tally_writers values ($1, 0, now())", [killed]);
  await rollUpUsage(db.owner, new AbortController().signal);
  for (const [hour, expected] of [
    [15, false],
    [16, false],
    [17, true],
    [18, true],
  ] as const)
    assert.equal(await isComplete(`2026-01-31T${hour}:10Z`, `2026-01-31T${hour}:20Z`), expected, `hour ${hour}`);
});

test("refusals of the last seven days are listed, and older days are dropped", async () => {
  const { rows } = await db.owner.query<{ since: Date }>("select pb.requests_listed_since() as since");
  const since = rows[0]?.since.getTime() ?? assert.fail();
  await dropOldRequests(db.worker);
  await db.owner.query("select pb.make_partitions(pb.utc_day(now()) - 9, pb.utc_day(now()))");
  const tally = createTally({ db: db.ledger, ...quietLog(), intervalMs });
  for (const at of [since - 86_400_000, since - 1, since, Date.now()]) tally.recordUnheld(refusal("rate_limited", at));
  await tally.close();
  assert.equal(await countStored(), 4);
  assert.equal(await dropOldRequests(db.worker), 2);
  assert.equal(await countStored(), 2);
  assert.equal(await dropOldRequests(db.worker), 0);
  assert.equal(await countRequests(), 4, "counts are kept");
});

test("logs the costs that cannot be written at shutdown", async () => {
  const logged: unknown[] = [];
  const log = { warn: () => undefined, error: (fields: unknown) => void logged.push(fields) };
  const query = async () => assert.fail("the connection broke");
  const tally = createTally({ db: { query }, log, intervalMs });
  tally.recordSent({ walletId: caller.walletId, provider: "brave", cost: 5_001n });
  await tally.close();
  assert.match(JSON.stringify(logged), /brave.*5001/);
});

test("a batch that the database rejects is dropped, and later batches are written", async () => {
  const { lines, log } = quietLog();
  const tally = createTally({ db: db.ledger, log, intervalMs });
  tally.recordUnheld(refusal("rate_limited", Date.now(), { keyId: "not an id" }));
  await tally.write();
  assert.match(lines.join(), /only counted/);
  await tally.write();
  assert.match(lines.join(), /dropped/);
  tally.recordUnheld(refusal("rate_limited"));
  await tally.close();
  assert.equal((await counted()).length, 2);
});

test("bounds its memory and logs how many requests were not counted", async () => {
  const { lines, log } = quietLog();
  const tally = createTally({ db: db.ledger, log, intervalMs, maxRows: 2 });
  for (let done = 0; done < 20; done += 1) tally.recordUnheld(refusal("stored"));
  for (const outcome of ["a", "b", "c", "a", "d"]) tally.recordUnheld(refusal(outcome));
  await tally.close();
  const { rows } = await db.owner.query("select outcome, searches from pb.usage_days order by outcome");
  assert.deepEqual(rows, [
    { outcome: "a", searches: 2n },
    { outcome: "b", searches: 1n },
    { outcome: "stored", searches: 20n },
  ]);
  assert.match(lines.join(), /tally full/);
});

const sent = (provider: string, cost: bigint, walletId: string = caller.walletId) => ({ walletId, provider, cost });

test("the margin of an upstream is its revenue minus the cost of its calls, per day", async () => {
  let now = Date.parse("2026-01-31T23:59:59Z");
  const tally = createTally({ db: db.ledger, ...quietLog(), intervalMs, now: () => now });
  const ok: UpstreamAnswer = { ok: true, provider: "brave", hits: [], tookMs: 1 };
  tally.recordPaid(tally.recordSent(sent("brave", 5_000n)));
  tally.recordCall(ok, false);
  tally.recordCharge("brave", 10_000n);
  tally.recordSent(sent("brave", 5_000n));
  tally.recordCall({ ok: false, provider: "brave", reason: "timeout", tookMs: 1 }, false);
  await tally.write();
  // Not sent, so it costs nothing.
  tally.recordCall({ ok: false, provider: "brave", reason: "unreachable", tookMs: 1 }, false);
  now += 2_000;
  tally.recordSent(sent("brave", 5_000n));
  tally.recordCall(ok, false);
  tally.recordPaid(tally.recordSent(sent("exa", 7_000n)));
  tally.recordCall({ ...ok, provider: "exa" }, false);
  tally.recordCharge("exa", 10_000n);
  await tally.close();
  const { rows } = await readMargin(db.owner, { from: "2026-01-31", to: "2026-02-01" });
  const row = { day: "2026-02-01", failures: {}, calls: 1 };
  assert.deepEqual(rows, [
    { ...row, provider: "brave", cost: 5_000n, paidCost: 0n, revenue: 0n, unpaidCalls: 1, abandonedCalls: 0 },
    { ...row, provider: "exa", cost: 7_000n, paidCost: 7_000n, revenue: 10_000n, unpaidCalls: 0, abandonedCalls: 0 },
    {
      day: "2026-01-31",
      provider: "brave",
      calls: 3,
      failures: { timeout: 1, unreachable: 1 },
      cost: 10_000n,
      paidCost: 5_000n,
      revenue: 10_000n,
      unpaidCalls: 1,
      abandonedCalls: 0,
    },
  ]);
  assert.deepEqual((await readMargin(db.owner, { from: "2026-02-02", to: "2026-03-01" })).rows, []);
});

test("the cost of a wallet is counted on the day its calls were sent, paid and unpaid apart", async () => {
  let now = Date.parse("2026-01-31T23:59:59Z");
  const tally = createTally({ db: db.ledger, ...quietLog(), intervalMs, now: () => now });
  const other = randomUUIDv7();
  const [paid, abandoned] = [1, 2].map(() => tally.recordSent(sent("brave", 5_001n)));
  tally.recordSent(sent("brave", 1n, other));
  await tally.write();
  now += 2_000;
  assert.ok(paid && abandoned);
  tally.recordPaid(paid);
  tally.recordAbandoned(abandoned);
  await tally.close();
  const read = (day: string, limit = 10) =>
    readWalletMargin(db.operator, { from: day, to: day, order: "unpaid", limit });
  const ownFigures = { calls: 2, cost: 10_002n, paidCost: 5_001n, unpaidCalls: 1, abandonedCalls: 1, revenue: 0n };
  const own = { walletId: caller.walletId, ...ownFigures };
  const others = { walletId: other, calls: 1, cost: 1n, paidCost: 0n, unpaidCalls: 1, abandonedCalls: 0, revenue: 0n };
  assert.deepEqual(await read("2026-01-31"), [own, others], "the highest unpaid cost first");
  assert.deepEqual(await read("2026-01-31", 1), [own]);
  assert.deepEqual(await read("2026-02-01"), []);
  // The ledger has a charge of the same day, in usage.
  const charge = "values ($1, '2026-01-31', $2, 'live', '', 'ok', true, 1, 10000)";
  await db.owner.query(`insert into pb.usage_days ${charge}`, [caller.walletId, caller.keyId]);
  const days = await readWalletDays(db.operator, {
    from: "2026-01-01",
    to: "2026-02-01",
    walletIds: [caller.walletId],
  });
  const { walletId: _, ...rest } = others;
  assert.deepEqual(days, [
    { day: "2026-01-31", ...own, revenue: 10_000n },
    { day: "2026-01-31", walletId: null, ...rest },
  ]);
});

test("lists the wallets that abandoned more calls than they paid for in the last hour", async () => {
  const tally = createTally({ db: db.ledger, ...quietLog(), intervalMs });
  const wallets = { abusive: randomUUIDv7(), paying: randomUUIDv7(), rare: randomUUIDv7(), past: randomUUIDv7() };
  const record = (walletId: string, abandoned: number, paid: number): void => {
    for (let count = 0; count < abandoned; count += 1)
      tally.recordAbandoned(tally.recordSent(sent("exa", 7_001n, walletId)));
    for (let count = 0; count < paid; count += 1) tally.recordPaid(tally.recordSent(sent("exa", 7_001n, walletId)));
  };
  record(wallets.abusive, 21, 20);
  record(wallets.paying, 21, 21);
  record(wallets.rare, 19, 0);
  await tally.write();
  await db.owner.query("insert into pb.abandoned_calls values (now() - interval '61 minutes', $1, 99, 99, 0)", [
    wallets.past,
  ]);
  await db.owner.query("insert into pb.abandoned_calls values (now() - interval '2 days', $1, 99, 99, 0)", [
    wallets.past,
  ]);
  assert.deepEqual(await readAbandonedCalls(db.operator), [{ walletId: wallets.abusive, calls: 21, cost: 147_021n }]);
  record(wallets.rare, 1, 0);
  await tally.close();
  const listed = await readAbandonedCalls(db.operator);
  assert.deepEqual(listed.map(({ walletId }) => walletId).toSorted(), [wallets.abusive, wallets.rare].toSorted());
  await rollUpUsage(db.owner, new AbortController().signal);
  const { rows } = await db.owner.query("select from pb.abandoned_calls where since < now() - interval '1 day'");
  assert.deepEqual(rows, [], "calls older than a day are deleted");
});

test("costs beyond the row limit are still counted for the upstream", async () => {
  const { lines, log } = quietLog();
  const tally = createTally({ db: db.ledger, log, intervalMs, maxRows: 1, now: () => Date.parse("2026-01-31T12:00Z") });
  for (let count = 0; count < 3; count += 1) tally.recordPaid(tally.recordSent(sent("exa", 7_000n, randomUUIDv7())));
  await tally.close();
  const day = { from: "2026-01-31", to: "2026-01-31" };
  const [row] = (await readMargin(db.owner, day)).rows;
  assert.deepEqual([row?.cost, row?.paidCost], [21_000n, 21_000n]);
  assert.equal((await readWalletMargin(db.owner, { ...day, order: "cost", limit: 10 })).length, 1);
  assert.match(lines.join(), /tally full/);
});

test("counts calls per hour and latency bucket", async () => {
  const hour = Math.floor(Date.now() / 3_600_000) * 3_600_000;
  const now = new Date(hour + 1_800_000);
  const day = now.toISOString().slice(0, 10);
  await db.owner.query("insert into pb.upstream_hours values ($1, 'brave', 'ok', 50, 1, true)", [
    new Date(hour - 8 * 86_400_000),
  ]);
  const tally = createTally({ db: db.ledger, ...quietLog(), intervalMs, now: () => now.getTime() });
  const call = (tookMs: number): UpstreamAnswer => ({ ok: true, provider: "brave", hits: [], tookMs });
  for (let count = 0; count < 19; count += 1) tally.recordSent(sent("brave", 5_000n));
  for (let count = 0; count < 18; count += 1) tally.recordCall(call(60), false);
  tally.recordCall(call(401), false);
  tally.recordCharge("brave", 10_000n);
  await tally.write();
  tally.recordCall({ ok: false, provider: "brave", reason: "timeout", tookMs: 12_000 }, true);
  tally.recordCall({ ok: false, provider: "brave", reason: "aborted", tookMs: 2 }, false);
  await tally.close();

  const [margin] = (await readMargin(db.owner, { from: day, to: day })).rows;
  assert.deepEqual([margin?.calls, margin?.cost, margin?.revenue], [21, 95_000n, 10_000n]);
  const { hours, ...total } = (await readUpstreamHours(db.operator, now)).get("brave") ?? {};
  assert.deepEqual(total, { calls: 20, failures: 1, p95_ms: 500 });
  assert.equal(hours?.length, 24);
  const start = (ms: number): string => new Date(ms).toISOString();
  assert.deepEqual(hours?.at(-1), { start: start(hour), calls: 20, failures: 1, p95_ms: 500, open: true });
  const none = { calls: 0, failures: 0, p95_ms: null, open: false };
  assert.deepEqual(hours?.[0], { start: start(hour - 23 * 3_600_000), ...none });
  await rollUpUsage(db.owner, new AbortController().signal);
  const { rows } = await db.owner.query("select hour from pb.upstream_hours where hour < now() - interval '7 days'");
  assert.deepEqual(rows, [], "hours older than a week are deleted");
});
