import assert from "node:assert/strict";
import { mock, test } from "node:test";
import type { Host, View } from "./inspect-host.ts";
import { createWatch, type FailoverEvent, type Watch } from "./watch-pair.ts";

// The watcher's decisions, with fake hosts.

type Primary = Extract<View, { role: "primary" }>;

const down: View = { role: "down", why: "connection refused" };
const replica: View = { role: "replica", isStreaming: true };

function primary(changes: Partial<Primary> = {}): Primary {
  return { role: "primary", timeline: 1, isSynchronous: true, replica: { flushedLsn: 100n, lagBytes: 0n }, ...changes };
}

function setUp({ deadAfterMs = 0, aloneAfterMs = 0 } = {}) {
  const views: [View, View] = [primary(), replica];
  const ran: string[] = [];
  const events: FailoverEvent[] = [];
  const failing = new Set<string>();
  const hosts = [0, 1].map(
    (index): Host => ({
      name: `db${index + 1}`,
      inspect: async () => views[index] ?? down,
      async run(statement) {
        ran.push(`db${index + 1}: ${statement}`);
        if (failing.has(statement)) throw new Error("the connection was lost");
        return [{ lsn: "100" }];
      },
      close: async () => undefined,
    }),
  );
  const watch = createWatch({ hosts, deadAfterMs, aloneAfterMs, onEvent: (each) => events.push(each) });
  return { views, ran, failing, watch, reported: () => events.map(({ what }) => what) };
}

async function step(watch: Watch, times = 1): Promise<void> {
  for (let time = 0; time < times; time += 1) await watch.step();
}

test("a replica is in sync once commits wait for it and it has every commit acknowledged before", async () => {
  const { views, ran, watch, reported } = setUp();
  views[0] = primary({ isSynchronous: false });
  await step(watch);
  assert.match(ran[0] ?? "", /db1: alter system set synchronous_standby_names = 'pennyblack_replica'/);
  views[0] = primary({ replica: { flushedLsn: 99n, lagBytes: 1n } });
  await step(watch, 3);
  assert.ok(ran.includes("db1: checkpoint"), "the checkpointer has reloaded its settings");
  assert.equal(watch.isInSync(), false, "one byte behind");
  views[0] = primary();
  await step(watch);
  assert.equal(watch.isInSync(), true);
  assert.deepEqual(reported(), ["synchronous commit on", "replica in sync"]);
});

test("does not turn synchronous commit on while the replica is far behind", async () => {
  const { views, ran, watch } = setUp();
  views[0] = primary({ isSynchronous: false, replica: { flushedLsn: 0n, lagBytes: 1n << 30n } });
  await step(watch, 3);
  assert.deepEqual(ran, []);
});

test("promotes an in-sync replica when the primary is unavailable for too long, with synchronous commit off", async () => {
  const { views, ran, watch, reported } = setUp();
  await step(watch, 3);
  ran.length = 0;
  views[0] = down;
  await step(watch);
  assert.deepEqual(ran, [
    "db2: alter system set synchronous_standby_names = ''",
    "db2: select pg_reload_conf()",
    "db2: select pg_promote(true, 30)",
  ]);
  assert.deepEqual(reported(), ["replica in sync", "primary unavailable", "promoting replica", "replica promoted"]);
  assert.equal(watch.isInSync(), false);
});

test("does nothing when the primary recovers in time", async () => {
  const { views, ran, watch } = setUp({ deadAfterMs: 60_000 });
  await step(watch, 3);
  ran.length = 0;
  views[0] = down;
  await step(watch);
  views[0] = primary();
  await step(watch);
  assert.deepEqual(ran, []);
  assert.equal(watch.isInSync(), true);
});

const whyNot: [string, (views: [View, View]) => View | undefined][] = [
  ["was never in sync", () => undefined],
  ["the primary dropped", () => primary({ replica: undefined })],
  ["was made asynchronous manually", () => primary({ isSynchronous: false, replica: undefined })],
];
for (const [reason, meanwhile] of whyNot)
  test(`never promotes a replica that ${reason}`, async () => {
    const { views, ran, watch, reported } = setUp();
    const seen = meanwhile(views);
    if (seen) {
      await step(watch, 3);
      assert.equal(watch.isInSync(), true);
      views[0] = seen;
      await step(watch);
    }
    views[0] = down;
    await step(watch, 5);
    assert.ok(!ran.some((statement) => statement.includes("pg_promote")));
    assert.equal(reported().at(-1), "promotion refused");
  });

test("turns synchronous commit off when the replica is gone for too long", async () => {
  const { views, ran, watch, reported } = setUp();
  await step(watch, 3);
  views[0] = primary({ replica: undefined });
  await step(watch);
  assert.ok(ran.includes("db1: alter system set synchronous_standby_names = ''"));
  assert.equal(reported().at(-1), "synchronous commit off");
});

test("a replica is out of sync as soon as the primary may commit without it, even if the statement failed", async () => {
  const { views, ran, failing, watch, reported } = setUp();
  await step(watch, 3);
  views[0] = primary({ replica: undefined });
  // The statement may have taken effect before the connection was lost.
  failing.add("select pg_reload_conf()");
  await assert.rejects(watch.step());
  assert.equal(watch.isInSync(), false);
  views[0] = down;
  await step(watch, 3);
  assert.ok(!ran.some((statement) => statement.includes("pg_promote")));
  assert.equal(reported().at(-1), "promotion refused");
});

test("retries a failed promotion", async () => {
  const { views, ran, failing, watch } = setUp();
  await step(watch, 3);
  views[0] = down;
  failing.add("select pg_promote(true, 30)");
  await assert.rejects(watch.step());
  failing.clear();
  await step(watch);
  assert.equal(ran.filter((statement) => statement.includes("pg_promote")).length, 2);
});

test("does not add up short outages of the primary or the replica", async (context) => {
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
    assert.ok(ran.length > 0, "acts on a long outage");
  }
});

test("follows the later of two primaries and reports the other", async () => {
  const { views, watch, ran, reported } = setUp();
  views[1] = primary({ timeline: 2, isSynchronous: false, replica: undefined });
  await step(watch, 3);
  assert.deepEqual(reported(), ["two primaries"]);
  assert.deepEqual(ran, []);
});
