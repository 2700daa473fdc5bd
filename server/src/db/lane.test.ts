import assert from "node:assert/strict";
import { type TestContext, test } from "node:test";
import { setImmediate } from "node:timers/promises";
import { stopClock } from "../../test/support/fake-clock.ts";
import { createLane, type Lane, LaneFull } from "./lane.ts";
import { createLimiter } from "./limiter.ts";
import { busy, NeverSent, OutcomeUnknown, type Send, type SendOptions } from "./settle-batch.ts";

interface Item {
  id: number;
  owner: string;
}

/** A database that responds when the test calls `answer` or `fail`. */
function createSlowDatabase(): {
  send: (items: readonly Item[]) => Promise<string[]>;
  batches: number[][];
  inFlight: () => number;
  answer: () => Promise<void>;
  fail: (error: Error) => Promise<void>;
} {
  const batches: number[][] = [];
  const open: { items: readonly Item[]; resolve: (results: string[]) => void; reject: (error: Error) => void }[] = [];
  return {
    batches,
    inFlight: () => open.length,
    send: (items) => {
      batches.push(items.map((item) => item.id));
      return new Promise((resolve, reject) => {
        open.push({ items, resolve, reject });
      });
    },
    async answer() {
      const call = open.shift();
      assert.ok(call, "nothing was sent");
      call.resolve(call.items.map((item) => `done ${item.id}`));
      await turn();
    },
    async fail(error) {
      const call = open.shift();
      assert.ok(call, "nothing was sent");
      call.reject(error);
      await turn();
    },
  };
}

/** Runs all pending callbacks, including what a lane sends at the end of the turn. */
async function turn(): Promise<void> {
  await setImmediate();
  await setImmediate();
}

/** Submits the others while the first is in flight. */
async function submitAfterFirst(lane: Lane<Item, string>, [first, ...others]: Item[]): Promise<Promise<string>[]> {
  const results = first ? [lane.submit(first)] : [];
  await turn();
  return [...results, ...others.map((item) => lane.submit(item))];
}

function failTest(error: unknown): void {
  assert.ifError(error);
}

function postgresError(code: string): Error {
  return Object.assign(new Error(`SQLSTATE ${code}`), { severity: "ERROR", code });
}

function createTestLane(
  send: Send<Item, string>,
  limits: { timeoutMs?: number; maxWaiting?: number; maxPerBatch?: number } = {},
): Lane<Item, string> {
  return createLane({ timeoutMs: 10_000, ...limits, send, ownerOf: (item) => item.owner });
}

const items = (from: number, to: number, owner = "a wallet"): Item[] =>
  Array.from({ length: to - from + 1 }, (_, index) => ({ id: from + index, owner }));

test("an idle lane sends all items of one event loop turn in one batch, without further delay", async () => {
  const database = createSlowDatabase();
  const lane = createTestLane(database.send);
  lane.submit({ id: 1, owner: "a wallet" }).catch(failTest);
  await Promise.resolve();
  lane.submit({ id: 2, owner: "another wallet" }).catch(failTest);
  await setImmediate();
  assert.deepEqual(database.batches, [[1, 2]]);
});

test("one statement is in flight, and items that arrive meanwhile are sent in the next", async () => {
  const database = createSlowDatabase();
  const lane = createTestLane(database.send);
  const results = await submitAfterFirst(lane, items(1, 6));
  await turn();
  assert.equal(database.inFlight(), 1);
  assert.equal(lane.waiting(), 5);
  await database.answer();
  assert.equal(database.inFlight(), 1);
  await database.answer();
  assert.deepEqual(database.batches, [[1], [2, 3, 4, 5, 6]]);
  assert.deepEqual(await Promise.all(results), ["done 1", "done 2", "done 3", "done 4", "done 5", "done 6"]);
});

test("a batch never exceeds its maximum size, and items of a wallet keep their order", async () => {
  const database = createSlowDatabase();
  const lane = createTestLane(database.send, { maxPerBatch: 4 });
  const results = await submitAfterFirst(lane, items(1, 10));
  for (let sent = 0; sent < 4; sent += 1) await database.answer();
  assert.deepEqual(database.batches, [[1], [2, 3, 4, 5], [6, 7, 8, 9], [10]]);
  await Promise.all(results);
});

test("a full lane rejects an item without sending it", async () => {
  const database = createSlowDatabase();
  const lane = createTestLane(database.send, { maxWaiting: 4 });
  const results = await submitAfterFirst(
    lane,
    items(0, 4).map((item) => ({ ...item, owner: `wallet ${item.id % 3}` })),
  );
  assert.equal(lane.waiting(), 4);
  await assert.rejects(lane.submit({ id: 99, owner: "another wallet" }), LaneFull);
  await database.answer();
  await database.answer();
  await Promise.all(results);
  assert.ok(!database.batches.flat().includes(99));
});

test("a wallet that fills its half of the lane does not block others", async () => {
  const database = createSlowDatabase();
  const lane = createTestLane(database.send, { maxWaiting: 2_000 });
  const submitted = await submitAfterFirst(lane, items(0, 2_999, "the hot wallet"));
  const outcomes = await Promise.race([Promise.allSettled(submitted), turn().then(() => [])]);
  assert.deepEqual(outcomes, []);
  assert.equal(lane.waiting(), 1_000);
  const other = lane.submit({ id: 5_000, owner: "a quiet wallet" });
  await database.answer();
  assert.ok(database.batches[1]?.includes(5_000), "the quiet wallet is in the next batch");
  await database.answer();
  assert.equal(await other, "done 5000");
});

test("owners are served round-robin: a queue of one thousand does not delay others beyond the next batch", async () => {
  const database = createSlowDatabase();
  const lane = createTestLane(database.send, { maxPerBatch: 10 });
  for (const result of await submitAfterFirst(lane, items(0, 999, "the hot wallet"))) result.catch(failTest);
  for (const id of [2_001, 2_002, 2_003]) lane.submit({ id, owner: `wallet ${id}` }).catch(failTest);
  await database.answer();
  assert.deepEqual(
    database.batches[1]?.filter((id) => id > 2_000),
    [2_001, 2_002, 2_003],
  );
});

test("sends the same ids again until the outcome is known", async () => {
  const calls: { ids: number[]; isResend: boolean }[] = [];
  const lane = createTestLane((batch, { isResend }) => {
    calls.push({ ids: batch.map((item) => item.id), isResend });
    if (calls.length < 4) return Promise.reject(Object.assign(new Error("broken pipe"), { code: "EPIPE" }));
    return Promise.resolve(batch.map((item) => `done ${item.id}`));
  });
  assert.equal(await lane.submit({ id: 7, owner: "a wallet" }), "done 7");
  assert.deepEqual(
    calls,
    [false, true, true, true].map((isResend) => ({ ids: [7], isResend })),
  );
});

test("rejects with OutcomeUnknown if the outcome is not known by the deadline", async (t) => {
  const pass = stopClock(t);
  let sent = 0;
  const lane = createTestLane(
    () => {
      sent += 1;
      return Promise.reject(Object.assign(new Error("broken pipe"), { code: "EPIPE" }));
    },
    { timeoutMs: 120 },
  );
  const rejected = assert.rejects(lane.submit({ id: 1, owner: "a wallet" }), OutcomeUnknown);
  await pass(200);
  await rejected;
  assert.ok(sent >= 2, "it was sent again before the deadline");
});

test("rejects with NeverSent if the deadline passes while the item waits", async (t) => {
  const pass = stopClock(t);
  const database = createSlowDatabase();
  const lane = createTestLane(database.send, { timeoutMs: 60 });
  const first = assert.rejects(lane.submit({ id: 1, owner: "a wallet" }), OutcomeUnknown);
  await turn();
  const second = assert.rejects(lane.submit({ id: 2, owner: "a wallet" }), NeverSent);
  // The connection breaks on every attempt until both deadlines have passed.
  while (lane.waiting() > 0) {
    if (database.inFlight() > 0) await database.fail(new Error("connection lost"));
    else await pass(25);
  }
  await Promise.all([first, second]);
  assert.ok(!database.batches.flat().includes(2));
});

test("only the faulty item of a batch fails", async () => {
  const calls: number[][] = [];
  const lane = createTestLane((batch) => {
    calls.push(batch.map((item) => item.id));
    if (batch.some((item) => item.id === 3)) return Promise.reject(postgresError("23514"));
    return Promise.resolve(batch.map((item) => `done ${item.id}`));
  });
  const outcomes = await Promise.allSettled(await submitAfterFirst(lane, items(1, 5)));
  assert.deepEqual(
    outcomes.map((outcome) => (outcome.status === "fulfilled" ? outcome.value : "failed")),
    ["done 1", "done 2", "failed", "done 4", "done 5"],
  );
  assert.deepEqual(calls, [[1], [2, 3, 4, 5], [2], [3], [4], [5]]);
});

test("a final error after an unknown outcome leaves the outcome unknown", async () => {
  const failures = [new Error("connection lost at COMMIT"), postgresError("42501")];
  const lane = createTestLane(() => Promise.reject(failures.shift() ?? new Error("sent a third time")));
  await assert.rejects(lane.submit({ id: 1, owner: "a wallet" }), OutcomeUnknown);
  assert.equal(failures.length, 0);
});

test("an error is final or rolled back only if PostgreSQL sent it: EPIPE is not a SQLSTATE", async (t) => {
  const pass = stopClock(t);
  const final = ["22003", "23505", "42501", "P0001"].map(postgresError);
  const rolledBack = ["40001", "40P01", "55P03", "57014"].map(postgresError);
  const unknown = [
    ...["57P01", "08006", "53300", "XX000"].map(postgresError),
    ...rolledBack.map((error) => Object.assign(new Error("ends the connection"), error, { severity: "FATAL" })),
    ...["EPIPE", "22003", "23505", "P0001", "55P03"].map((code) => Object.assign(new Error("socket error"), { code })),
    new Error("Query read timeout"),
  ];
  const rejections = async (errors: Error[]): Promise<unknown[]> => {
    const outcomes = errors.map((error) =>
      createTestLane(() => Promise.reject(error), { timeoutMs: 20 })
        .submit({ id: 1, owner: "a wallet" })
        .catch((reason: unknown) => reason),
    );
    await pass(100);
    return Promise.all(outcomes);
  };
  assert.deepEqual(await rejections(final), final);
  for (const reason of await rejections(rolledBack)) assert.ok(reason instanceof NeverSent);
  for (const reason of await rejections(unknown)) assert.ok(reason instanceof OutcomeUnknown);
});

interface Sent extends SendOptions {
  ids: number[];
}

/** A database with locked owners: returns `busy` for them, or fails with a lock timeout. */
function createLockingDatabase(locked: Set<string>): { send: Send<Item, string>; sent: Sent[] } {
  const sent: Sent[] = [];
  return {
    sent,
    async send(batch, options) {
      sent.push({ ids: batch.map(({ id }) => id), ...options });
      await turn();
      if (options.lockWait !== "none" && batch.some(({ owner }) => locked.has(owner))) throw postgresError("55P03");
      return batch.map(({ id, owner }) => (locked.has(owner) ? busy : `done ${id}`));
    },
  };
}

function createLedgerLane(send: Send<Item, string>, timeoutMs = 10_000): Lane<Item, string> {
  const limiters = { locked: createLimiter(4), hot: createLimiter(4) };
  return createLane({ timeoutMs, send, ownerOf: (item) => item.owner, limiters });
}

async function until(condition: () => boolean): Promise<void> {
  while (!condition()) await turn();
}

test("a locked owner moves to its own lane, and the others of its batch are not delayed", async () => {
  const locked = new Set(["locked"]);
  const { send, sent } = createLockingDatabase(locked);
  const lane = createLedgerLane(send);
  const first = lane.submit({ id: 1, owner: "locked" });
  assert.equal(await lane.submit({ id: 2, owner: "free" }), "done 2");
  assert.deepEqual(
    sent.slice(0, 2).map(({ ids, lockWait }) => ({ ids, lockWait })),
    [
      { ids: [1, 2], lockWait: "short" },
      { ids: [1, 2], lockWait: "none" },
    ],
  );
  // The owner's later items follow the first, and the shared lane no longer contains the owner.
  const second = lane.submit({ id: 3, owner: "locked" });
  assert.equal(await lane.submit({ id: 4, owner: "free" }), "done 4");
  await until(() => sent.some(({ ids }) => ids.includes(3)));
  locked.clear();
  assert.deepEqual(await Promise.all([first, second]), ["done 1", "done 3"]);
  const later = sent.slice(2);
  assert.ok(later.every(({ ids, lockWait }) => (ids.includes(4) ? lockWait === "short" : lockWait === "long")));
  assert.deepEqual(later.at(-1)?.ids, [1, 3], "in the order in which they were submitted");
});

test("items of an owner keep their order when it moves to its own lane and back", async () => {
  const locked = new Set<string>();
  const { send } = createLockingDatabase(locked);
  const lane = createLedgerLane(send);
  const settled: string[] = [];
  const results: Promise<unknown>[] = [];
  for (let id = 1; id <= 60; id += 1) {
    if (id % 20 === 10) locked.add("locked");
    if (id % 20 === 0) locked.clear();
    results.push(lane.submit({ id, owner: "locked" }).then((result) => settled.push(result)));
    await turn();
  }
  await Promise.all(results);
  assert.deepEqual(
    settled,
    Array.from({ length: 60 }, (_, index) => `done ${index + 1}`),
  );
});

test("a lock timeout is not an unknown outcome: at the deadline the item is not committed", async (t) => {
  const pass = stopClock(t);
  const { send, sent } = createLockingDatabase(new Set(["locked"]));
  const rejected = assert.rejects(createLedgerLane(send, 1_500).submit({ id: 1, owner: "locked" }), NeverSent);
  await pass(3_000);
  await rejected;
  assert.ok(sent.length > 2, "it was sent again until the deadline");
  assert.ok(sent.every(({ isResend }) => !isResend));
});

test("an item whose outcome is unknown stays so, even if it is busy or rolled back when sent again", async (t) => {
  const pass = stopClock(t);
  const { send, sent } = createLockingDatabase(new Set(["locked"]));
  let isCut = false;
  const lane = createLedgerLane(async (batch, options) => {
    const result = send(batch, options);
    if (isCut) return result;
    isCut = true;
    await result.catch(() => undefined);
    throw new Error("connection lost at COMMIT");
  }, 1_500);
  const rejected = assert.rejects(lane.submit({ id: 1, owner: "locked" }), OutcomeUnknown);
  await pass(3_000);
  await rejected;
  assert.deepEqual(
    sent.slice(1).map(({ isResend }) => isResend),
    sent.slice(1).map(() => true),
  );
  assert.ok(
    sent.some(({ lockWait }) => lockWait === "long"),
    "it was sent in its own lane",
  );
});

test("an error that was rolled back does not split the batch", async () => {
  let failures = 2;
  const sizes: number[] = [];
  const lane = createTestLane((batch) => {
    sizes.push(batch.length);
    failures -= 1;
    if (failures >= 0) return Promise.reject(postgresError("40P01"));
    return Promise.resolve(batch.map(({ id }) => `done ${id}`));
  });
  await Promise.all(items(1, 5).map((item) => lane.submit(item)));
  assert.deepEqual(sizes, [5, 5, 5]);
});

test("more locked owners than side lanes stay in the shared lane, and none is lost", async () => {
  const owners = Array.from({ length: 12 }, (_, index) => `locked ${index}`);
  const locked = new Set(owners);
  const { send, sent } = createLockingDatabase(locked);
  const lane = createLedgerLane(send);
  const results = owners.map((owner, id) => lane.submit({ id, owner }));
  assert.equal(await lane.submit({ id: 99, owner: "free" }), "done 99");
  await until(() => sent.filter(({ lockWait }) => lockWait === "long").length >= 4);
  locked.clear();
  assert.equal((await Promise.all(results)).length, 12);
  assert.equal(lane.waiting(), 0);
});

/** Stops the clock. Returns a function that advances it. */
function fakeClock(t: TestContext): (ms: number) => void {
  let now = performance.now();
  t.mock.method(performance, "now", () => now);
  return (ms) => void (now += ms);
}

test("an owner with a large share of the items gets its own lane until it cools down", async (t) => {
  const pass = fakeClock(t);
  const { send, sent } = createLockingDatabase(new Set());
  const lane = createLedgerLane(send);
  const submit = (id: number, owner: string): Promise<string> => lane.submit({ id, owner });
  const lastOf = (id: number): Sent | undefined => sent.findLast(({ ids }) => ids.includes(id));
  for (let id = 0; id < 30; id += 1) await submit(id, id % 2 === 0 ? "hot" : `quiet ${id}`);
  assert.equal(lastOf(28)?.lockWait, "short", "the first window is not over");
  pass(260);
  // The first item ends the window, and the next batch of the shared lane moves the owner.
  await submit(100, "quiet");
  await Promise.all([submit(101, "hot"), submit(102, "quiet")]);
  assert.deepEqual([lastOf(101)?.lockWait, lastOf(102)?.lockWait], ["long", "short"]);
  pass(600);
  await submit(103, "quiet");
  await Promise.all([submit(104, "hot"), submit(105, "quiet")]);
  assert.deepEqual(lastOf(104), lastOf(105), "it is back in the shared lane");
});

test("an owner that becomes hot again does not overtake its items in the shared lane", async (t) => {
  const pass = fakeClock(t);
  const { send, sent } = createLockingDatabase(new Set());
  const gate = { opened: Promise.resolve() };
  const lane = createLedgerLane(async (batch, options) => {
    const results = await send(batch, options);
    await gate.opened;
    return results;
  });
  const submit = (id: number, owner: string): Promise<string> => lane.submit({ id, owner });
  const heatUp = async (from: number): Promise<void> => {
    for (let id = from; id < from + 30; id += 1) await submit(id, id % 2 === 0 ? "hot" : `quiet ${id}`);
  };
  await heatUp(0);
  pass(260);
  await submit(100, "quiet");
  assert.equal(await submit(101, "hot"), "done 101");
  pass(600);
  await submit(102, "quiet");
  await heatUp(200);
  const { promise, resolve: open } = Promise.withResolvers<void>();
  gate.opened = promise;
  const first = submit(300, "hot");
  pass(260);
  const others = [submit(301, "quiet"), submit(302, "hot")];
  await turn();
  assert.ok(!sent.some(({ ids }) => ids.includes(302)), "302 waits for 300");
  open();
  assert.deepEqual(await Promise.all([first, ...others]), ["done 300", "done 301", "done 302"]);
});
