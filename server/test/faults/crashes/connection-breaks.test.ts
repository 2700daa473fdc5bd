import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import { after, type TestContext, test } from "node:test";
import { until } from "../../support/assertions/until.ts";
import { describeOutcome } from "../callers.ts";
import type { Outcome, SearchRequest } from "../send-search.ts";
import { walletStatements } from "../wallet-statements.ts";
import { type CrashServer, openCrashFixture } from "./crash-fixture.ts";
import { searchDuring } from "./load.ts";

// The connection between server and database breaks before and after COMMIT. It is either cut, which both ends notice at
// once, or becomes silent, which the server notices only by a timeout.

const fixture = await openCrashFixture();
const { upstream, journal } = fixture;
const [server, other] = await Promise.all([fixture.startServer(), fixture.startServer()]);

after(() => fixture.close());

type Verb = keyof typeof walletStatements;
type When = "before" | "after";

/** One search that sends its hold, capture or release when `run` is called. */
async function prepare(to: CrashServer, verb: Verb): Promise<{ request: SearchRequest; run: () => Promise<Outcome> }> {
  const request = { wallet: await fixture.createWallet(), query: randomUUID(), idempotencyKey: randomUUID() };
  if (verb === "hold") return { request, run: () => journal.search(to.url, request) };
  const { outcome } = await fixture.searchUntilUpstream(to.url, request);
  const run = (): Promise<Outcome> => {
    upstream.answer(request.query, verb === "capture" ? 200 : 503);
    return outcome;
  };
  return { request, run };
}

for (const verb of ["hold", "capture", "release"] as const)
  for (const when of ["before", "after"] as const)
    test(`a ${verb} whose connection is cut ${when} COMMIT is sent again and takes effect once`, {
      timeout: 120_000,
    }, async () => {
      const { request, run } = await prepare(server, verb);
      const statement = walletStatements[verb];
      const cut = when === "before" ? server.wire.cutRequest(statement) : server.wire.cutAnswer(statement);
      const outcome = await run();
      await cut;
      assert.equal(describeOutcome(outcome), verb === "release" ? "503 upstream_error" : "200 paid");
      assert.equal(await fixture.chargesOf(request.wallet), verb === "release" ? 0 : 1);
      await fixture.assertBooksBalance();
    });

// A server waits some seconds for a silent database. Each of the three statements has its own lane, so they are tested
// at the same time.
test("when the database is silent, no outcome is guessed", { concurrency: true, timeout: 120_000 }, async (t) => {
  const silences: [When, CrashServer][] = [
    ["before", server],
    ["after", other],
  ];
  await Promise.all(silences.map(([when, to]) => testSilence(t, when, to)));
  await fixture.assertBooksBalance();
});

async function testSilence(t: TestContext, when: When, to: CrashServer): Promise<void> {
  const trials = await Promise.all((["capture", "release", "hold"] as const).map((verb) => prepare(to, verb)));
  const silence = Object.values(walletStatements).map((statement) =>
    when === "before" ? to.wire.swallowRequest(statement) : to.wire.swallowAnswer(statement),
  );
  const running = trials.map((trial) => trial.run());
  await Promise.all(silence);
  const outcomes = await Promise.all(running);
  const [captured = "", released = "", held = ""] = outcomes.map(describeOutcome);
  await t.test(`a capture with silence ${when} COMMIT is sent again and charged once: 200`, async () => {
    assert.equal(captured, "200 paid");
  });
  await t.test(
    `a release with silence ${when} COMMIT is sent again, and the upstream's error is returned`,
    async () => {
      assert.equal(released, "503 upstream_error");
    },
  );
  await t.test(
    `a hold with silence ${when} COMMIT is sent again or returns 503, and a retry is charged once`,
    async () => {
      assert.match(held, /^(200 paid|503 ledger_unavailable)$/);
      const unpaid = trials.filter((_, index) => outcomes[index] && describeOutcome(outcomes[index]) !== "200 paid");
      await fixture.finish(
        other.url,
        unpaid.map((trial) => trial.request),
      );
      for (const { request } of trials) assert.equal(await fixture.chargesOf(request.wallet), 1);
    },
  );
}

test("under load with broken connections, a 200 is charged once, an error never, and no reader sees a negative balance", async (t) => {
  const { counts, snapshots } = await searchDuring(fixture, [server, other], async (callers) => {
    for (let round = 0; round < 8; round += 1) {
      const { paid } = callers.counts;
      const { hold, capture } = walletStatements;
      await Promise.all([hold, capture].flatMap((each) => [server.wire.cutRequest(each), other.wire.cutAnswer(each)]));
      if (round % 2 === 0) server.wire.cut();
      await until("searches continue", () => callers.counts.paid > paid + 10);
    }
    // The callers of one server wait meanwhile, and those of the other continue.
    const continued = async (): Promise<void> => {
      const { searches } = callers.counts;
      await until("searches continue on the other server", () => callers.counts.searches > searches + 10);
    };
    for (const { wire } of [server, other]) {
      wire.pause();
      await continued();
      wire.resume();
      wire.blackhole(true);
      await continued();
      wire.blackhole(false);
      wire.cut();
    }
  });
  t.diagnostic(`${JSON.stringify(counts)}, ${snapshots} snapshots, ${server.wire.cuts + other.wire.cuts} cuts`);
  assert.ok(snapshots > 20 && counts.charged > 100);
});
