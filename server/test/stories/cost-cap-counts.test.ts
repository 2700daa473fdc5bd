import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import { after, test } from "node:test";
import { Redis } from "ioredis";
import type { CostCap } from "../../src/lib/cost-cap.ts";
import { createCostCaps, type UpstreamCost } from "../../src/limits/cost-caps.ts";
import { until } from "../support/assertions/until.ts";

// Cost caps with a real Redis. cost-caps.test.ts has servers.

const redis = new Redis(process.env["PENNYBLACK_TEST_REDIS_URL"] ?? "redis://127.0.0.1:6379");
after(() => redis.disconnect());

const noon = Date.parse("2030-01-30T12:00:00Z");
const perDay: CostCap = { amount: 1_000_000n, period: "day" };

function installation() {
  const database = randomUUID();
  let nowMs = noon;
  const counted: { costs: UpstreamCost[] } = { costs: [] };
  const levels: string[] = [];
  /** With its own Redis. Undefined: without Redis. */
  function startServer({ cap = perDay, store }: { cap?: CostCap; store?: Redis | undefined } = {}) {
    const caps = createCostCaps({
      redis: store,
      database,
      readCosts: async () => counted.costs,
      onLevel: (level, { provider, spent, period }) => void levels.push(`${level} ${provider} ${spent} ${period}`),
      now: () => nowMs,
      intervalMs: 3_600_000,
    });
    caps.setCaps([{ name: "brave", cap }, { name: "exa" }]);
    return caps;
  }
  const count = (dayMicros: bigint, day = "2030-01-30"): void => {
    counted.costs = [{ provider: "brave", day, dayMicros, monthMicros: dayMicros }];
  };
  return { startServer, count, counted, levels, pass: (ms: number) => void (nowMs += ms), database };
}

/** A connection that fails instead of answering, after the command or without sending it. */
function breakable(): { store: Redis; fail: (mode: "never" | "before" | "after") => void; lost: () => number } {
  const store = redis.duplicate();
  after(() => store.disconnect());
  let mode = "never";
  let lost = 0;
  const proxy = new Proxy(store, {
    get(target, name) {
      const value: unknown = Reflect.get(target, name);
      if (typeof value !== "function") return value;
      const method = value.bind(target) as (...values: unknown[]) => unknown;
      if (name !== "pbAddCost") return method;
      return async (...values: unknown[]) => {
        if (mode === "before") throw new Error("not sent");
        const result = await method(...values);
        if (mode !== "after") return result;
        lost += 1;
        throw new Error("reply lost");
      };
    },
  });
  return { store: proxy, fail: (next) => void (mode = next), lost: () => lost };
}

const spentOf = (caps: ReturnType<typeof createCostCaps>): string | undefined => caps.report("brave")?.spent;

test("a cap counts what all servers spent, and each learns it with its next call or refresh", async () => {
  const { startServer } = installation();
  const [first, second] = [startServer({ store: redis }), startServer({ store: redis })];
  first.recordCost("brave", 700_000n);
  first.recordCost("exa", 9_000_000n);
  assert.equal(spentOf(first), "0.70", "its own calls count immediately");
  await until("the first has reported", () => first.report("brave")?.is_shared === true);
  second.recordCost("brave", 300_000n);
  await until("the second has read the sum", () => second.reachedFor("brave") !== undefined);
  assert.equal(first.reachedFor("brave"), undefined);
  await first.refresh();
  assert.equal(first.reachedFor("brave"), 12 * 3_600);
  assert.deepEqual(first.report("brave"), {
    period: "day",
    amount: "1.00",
    spent: "1.00",
    ratio: 1,
    resets_at: "2030-01-31T00:00:00.000Z",
    is_shared: true,
  });
  assert.deepEqual([first.reachedFor("exa"), first.report("exa")], [undefined, undefined], "it has no cap");
});

test("a cost that the usage counts report before its server has sent it counts once", async () => {
  const { startServer, count } = installation();
  const late = breakable();
  const [first, second] = [startServer({ store: redis }), startServer({ store: late.store })];
  first.recordCost("brave", 100_000n);
  await until("the first has reported", () => first.report("brave")?.is_shared === true);
  late.fail("before");
  second.recordCost("brave", 200_000n);
  count(300_000n);
  await first.refresh();
  assert.equal(spentOf(first), "0.30");
  late.fail("never");
  await second.refresh();
  assert.deepEqual([spentOf(second), second.report("brave")?.is_shared], ["0.30", true]);
});

test("a cost counts once if the reply of Redis is lost, and not never if it was not sent", async () => {
  const { startServer } = installation();
  const { store, fail, lost } = breakable();
  const [caps, other] = [startServer({ store }), startServer({ store: redis })];
  fail("after");
  caps.recordCost("brave", 100_000n);
  await until("the reply is lost", () => lost() === 1);
  fail("before");
  caps.recordCost("brave", 20_000n);
  await caps.refresh();
  assert.equal(spentOf(caps), "0.12", "it counts what Redis has not acknowledged");
  fail("never");
  await caps.refresh();
  await caps.refresh();
  await other.refresh();
  assert.deepEqual([spentOf(caps), spentOf(other), other.report("brave")?.is_shared], ["0.12", "0.12", true]);
});

test("without Redis the counts of usage apply, and they restore what Redis has lost", async () => {
  const { startServer, count, database } = installation();
  const alone = startServer();
  count(400_000n);
  await alone.refresh();
  assert.deepEqual([spentOf(alone), alone.report("brave")?.is_shared], ["0.40", false]);
  count(1_000_000n);
  await alone.refresh();
  assert.notEqual(alone.reachedFor("brave"), undefined);

  count(600_000n);
  const connected = startServer({ store: redis });
  await connected.refresh();
  assert.equal(spentOf(connected), "0.60", "spent before the cap was set");
  connected.recordCost("brave", 50_000n);
  await connected.refresh();
  await redis.del(`pb:cost:${database}:brave:2030-01-30`);
  await connected.refresh();
  assert.equal(spentOf(connected), "0.65");
});

test("a failed read of the counts changes nothing", async () => {
  const { startServer, count, counted } = installation();
  const caps = startServer();
  count(400_000n);
  await caps.refresh();
  Object.defineProperty(counted, "costs", { get: () => assert.fail("the database is unavailable") });
  await caps.refresh();
  assert.equal(spentOf(caps), "0.40");
});

test("a day and a month end in UTC, and the next one starts at zero", async () => {
  const { startServer, count, pass } = installation();
  const [day, month] = [
    startServer({ store: redis }),
    startServer({ store: redis, cap: { ...perDay, period: "month" } }),
  ];
  for (const caps of [day, month]) caps.recordCost("brave", 2_000_000n);
  assert.deepEqual([day.reachedFor("brave"), month.reachedFor("brave")], [12 * 3_600, 36 * 3_600]);
  pass(12 * 3_600_000);
  // The clock of the database is still in the day before.
  count(2_000_000n, "2030-01-30");
  await day.refresh();
  assert.deepEqual([day.reachedFor("brave"), spentOf(day)], [undefined, "0.00"]);
  assert.equal(month.reachedFor("brave"), 24 * 3_600);
  pass(24 * 3_600_000);
  assert.equal(month.reachedFor("brave"), undefined);
});

test("each level is reported once per period, and a higher cap applies immediately", async () => {
  const { startServer, levels, pass } = installation();
  const caps = startServer();
  for (let call = 0; call < 12; call += 1) caps.recordCost("brave", 100_000n);
  assert.deepEqual(levels, ["warning brave 0.80 2030-01-30", "reached brave 1.00 2030-01-30"]);
  caps.setCaps([{ name: "brave", cap: { ...perDay, amount: 10_000_000n } }]);
  assert.deepEqual([caps.reachedFor("brave"), spentOf(caps)], [undefined, "1.20"]);
  pass(24 * 3_600_000);
  for (let call = 0; call < 8; call += 1) caps.recordCost("brave", 1_000_000n);
  assert.equal(levels.length, 3);
});
