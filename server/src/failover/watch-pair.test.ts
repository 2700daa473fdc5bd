import assert from "node:assert/strict";
import { mock, test } from "node:test";
import type { Host, View } from "./look-at-host.ts";
import { createWatch, type News, type Watch } from "./watch-pair.ts";

// The watcher's decisions, over hosts that say what they are told to.

type Primary = Extract<View, { role: "primary" }>;

const down: View = { role: "down", why: "connection refused" };
const replica: View = { role: "replica", isStreaming: true };

function primary(changes: Partial<Primary> = {}): Primary {
  return { role: "primary", timeline: 1, isWaiting: true, replica: { hasFlushed: 100n, lagBytes: 0n }, ...changes };
}

function setUp({ deadAfterMs = 0, aloneAfterMs = 0 } = {}) {
  const views: [View, View] = [primary(), replica];
  const ran: string[] = [];
  const news: News[] = [];
  const failing = new Set<string>();
  const hosts = [0, 1].map(
    (index): Host => ({
      name: `db${index + 1}`,
      look: async () => views[index] ?? down,
      async run(statement) {
        ran.push(`db${index + 1}: ${statement}`);
        if (failing.has(statement)) throw new Error("the connection was lost");
        return [{ lsn: "100" }];
      },
      close: async () => undefined,
    }),
  );
  const watch = createWatch({ hosts, deadAfterMs, aloneAfterMs, onNews: (each) => news.push(each) });
  return { views, ran, failing, watch, told: () => news.map(({ what }) => what) };
}

async function step(watch: Watch, times = 1): Promise<void> {
  for (let time = 0; time < times; time += 1) await watch.step();
}

test("a replica is covered when commits are known to wait for it and it has what was acknowledged before", async () => {
  const { views, ran, watch, told } = setUp();
  views[0] = primary({ isWaiting: false });
  await step(watch);
  assert.match(ran[0] ?? "", /db1: alter system set synchronous_standby_names = 'pennyblack_replica'/);
  views[0] = primary({ replica: { hasFlushed: 99n, lagBytes: 1n } });
  await step(watch, 3);
  assert.ok(ran.includes("db1: checkpoint"), "the checkpointer has read its settings");
  assert.equal(watch.isCovered(), false, "it lacks a byte");
  views[0] = primary();
  await step(watch);
  assert.equal(watch.isCovered(), true);
  assert.deepEqual(told(), ["armed", "covered"]);
});

test("a replica far behind is not waited for", async () => {
  const { views, ran, watch } = setUp();
  views[0] = primary({ isWaiting: false, replica: { hasFlushed: 0n, lagBytes: 1n << 30n } });
  await step(watch, 3);
  assert.deepEqual(ran, []);
});

test("when the primary is away long enough a covered replica is promoted, and waits for nobody", async () => {
  const { views, ran, watch, told } = setUp();
  await step(watch, 3);
  ran.length = 0;
  views[0] = down;
  await step(watch);
  assert.deepEqual(ran, [
    "db2: alter system set synchronous_standby_names = ''",
    "db2: select pg_reload_conf()",
    "db2: select pg_promote(true, 30)",
  ]);
  assert.deepEqual(told(), ["covered", "primary is away", "promoting", "promoted"]);
  assert.equal(watch.isCovered(), false);
});

test("a primary that is back in time is left alone", async () => {
  const { views, ran, watch } = setUp({ deadAfterMs: 60_000 });
  await step(watch, 3);
  ran.length = 0;
  views[0] = down;
  await step(watch);
  views[0] = primary();
  await step(watch);
  assert.deepEqual(ran, []);
  assert.equal(watch.isCovered(), true);
});

const whyNot: [string, (views: [View, View]) => View | undefined][] = [
  ["nobody has seen the primary wait for", () => undefined],
  ["the primary went on without", () => primary({ replica: undefined })],
  ["someone told the primary not to wait for", () => primary({ isWaiting: false, replica: undefined })],
];
for (const [reason, meanwhile] of whyNot)
  test(`a replica that ${reason} is never promoted`, async () => {
    const { views, ran, watch, told } = setUp();
    const seen = meanwhile(views);
    if (seen) {
      await step(watch, 3);
      assert.equal(watch.isCovered(), true);
      views[0] = seen;
      await step(watch);
    }
    views[0] = down;
    await step(watch, 5);
    assert.ok(!ran.some((statement) => statement.includes("pg_promote")));
    assert.equal(told().at(-1), "not promoted");
  });

test("a primary whose replica is gone for long is told to go on alone", async () => {
  const { views, ran, watch, told } = setUp();
  await step(watch, 3);
  views[0] = primary({ replica: undefined });
  await step(watch);
  assert.ok(ran.includes("db1: alter system set synchronous_standby_names = ''"));
  assert.equal(told().at(-1), "disarmed");
});

test("a replica counts as uncovered as soon as the primary may go on alone, whether or not that is known", async () => {
  const { views, ran, failing, watch, told } = setUp();
  await step(watch, 3);
  views[0] = primary({ replica: undefined });
  // It may have been heard before the connection was lost.
  failing.add("select pg_reload_conf()");
  await assert.rejects(watch.step());
  assert.equal(watch.isCovered(), false);
  views[0] = down;
  await step(watch, 3);
  assert.ok(!ran.some((statement) => statement.includes("pg_promote")));
  assert.equal(told().at(-1), "not promoted");
});

test("a promotion that failed is tried again", async () => {
  const { views, ran, failing, watch } = setUp();
  await step(watch, 3);
  views[0] = down;
  failing.add("select pg_promote(true, 30)");
  await assert.rejects(watch.step());
  failing.clear();
  await step(watch);
  assert.equal(ran.filter((statement) => statement.includes("pg_promote")).length, 2);
});

test("short absences of the primary, or of its replica, are not added up", async (context) => {
  let now = 0;
  mock.method(performance, "now", () => now);
  context.after(() => mock.restoreAll());
  for (const absent of [down, primary({ replica: undefined })]) {
    const { views, ran, watch } = setUp({ deadAfterMs: 1_000, aloneAfterMs: 1_000 });
    await step(watch, 3);
    ran.length = 0;
    for (const [at, view] of [
      [0, absent],
      [900, primary()],
      [1_500, absent],
      [2_400, absent],
    ] as const) {
      now = at;
      views[0] = view;
      await step(watch);
    }
    assert.deepEqual(ran, []);
    now = 2_500;
    await step(watch);
    assert.ok(ran.length > 0, "a long one counts");
  }
});

test("of two primaries the later one counts, and the other is told of", async () => {
  const { views, watch, ran, told } = setUp();
  views[1] = primary({ timeline: 2, isWaiting: false, replica: undefined });
  await step(watch, 3);
  assert.deepEqual(told(), ["two primaries"]);
  assert.deepEqual(ran, []);
});
