import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import { after, type TestContext, test } from "node:test";
import { setTimeout as wait } from "node:timers/promises";
import { until } from "../../support/assertions/until.ts";
import type { Question, Seen } from "../journal.ts";
import { watchBalances } from "../watch-balances.ts";
import { type CrashServer, openCrashFixture } from "./crash-fixture.ts";
import { startLoad } from "./load.ts";
import { spoken } from "./spoken.ts";

// The wire between server and database breaks before and after COMMIT: cut, so that both ends know at once, or
// swallowing all that is said, so that neither does and the server has to give up waiting.

const fixture = await openCrashFixture();
const { upstream, journal } = fixture;
const [server, other] = await Promise.all([fixture.startServer(), fixture.startServer()]);

after(() => fixture.close());

type Verb = keyof typeof spoken;
type When = "before" | "after";

/** Resolves when the search has got as far as the upstream. */
async function sendPatiently(to: CrashServer, question: Question): Promise<Promise<Seen>[]> {
  upstream.keepWaiting(question.query);
  const seen = journal.search(to.url, question);
  await until("the upstream is asked", () => upstream.isWaiting(question.query));
  return [seen];
}

/** One search that will hold, capture or release over the wire as it then is. */
async function prepare(to: CrashServer, verb: Verb): Promise<{ question: Question; go: () => Promise<Seen> }> {
  const question = { wallet: await fixture.createWallet(), query: randomUUID(), idempotencyKey: randomUUID() };
  if (verb === "hold") return { question, go: () => journal.search(to.url, question) };
  const [seen] = await sendPatiently(to, question);
  assert.ok(seen);
  const go = (): Promise<Seen> => {
    upstream.answer(question.query, verb === "capture" ? 200 : 503);
    return seen;
  };
  return { question, go };
}

function statusOf(seen: Seen): string {
  return seen.kind === "answered" ? `${seen.status} ${seen.code ?? "paid"}` : seen.kind;
}

for (const verb of ["hold", "capture", "release"] as const)
  for (const when of ["before", "after"] as const)
    test(`a ${verb} whose connection is cut ${when} COMMIT is sent again and done once`, {
      timeout: 20_000,
    }, async () => {
      const { question, go } = await prepare(server, verb);
      const cut = when === "before" ? server.wire.cutRequest(spoken[verb]) : server.wire.cutAnswer(spoken[verb]);
      const seen = await go();
      await cut;
      assert.equal(statusOf(seen), verb === "release" ? "503 upstream_error" : "200 paid");
      assert.equal(await fixture.chargesOf(question.wallet), verb === "release" ? 0 : 1);
      await fixture.assertBooksBalance();
    });

// A server waits some seconds for a silent database. The three verbs have lanes of their own, so one silence serves all.
test("when the database falls silent, nothing is guessed", { concurrency: true, timeout: 30_000 }, async (t) => {
  const silences: [When, CrashServer][] = [
    ["before", server],
    ["after", other],
  ];
  await Promise.all(silences.map(([when, to]) => fallSilent(t, when, to)));
  await fixture.assertBooksBalance();
});

async function fallSilent(t: TestContext, when: When, to: CrashServer): Promise<void> {
  const trials = await Promise.all((["capture", "release", "hold"] as const).map((verb) => prepare(to, verb)));
  const silence = Object.values(spoken).map((words) =>
    when === "before" ? to.wire.swallowRequest(words) : to.wire.swallowAnswer(words),
  );
  const running = trials.map((trial) => trial.go());
  await Promise.all(silence);
  const [captured, released, held] = await Promise.all(running);
  assert.ok(captured?.kind === "answered" && released?.kind === "answered" && held?.kind === "answered");
  await t.test(`a capture, silence ${when} COMMIT: it is sent again, 200, charged once`, async () => {
    assert.equal(statusOf(captured), "200 paid");
  });
  await t.test(`a release, silence ${when} COMMIT: it is sent again, the upstream's failure is answered`, async () => {
    assert.equal(statusOf(released), "503 upstream_error");
  });
  await t.test(`a hold, silence ${when} COMMIT: it is sent again or given up with 503, and is paid once`, async () => {
    assert.match(statusOf(held), /^(200 paid|503 ledger_unavailable)$/);
    const unanswered = trials.filter((_, index) => [captured, released, held][index]?.status !== 200);
    await fixture.finish(
      other.url,
      unanswered.map((trial) => trial.question),
    );
    for (const { question } of trials) assert.equal(await fixture.chargesOf(question.wallet), 1);
  });
}

test("under load, whatever the wire does: a 200 is paid once, an error never, and no reader sees a wallet below zero", async (t) => {
  const wallets = await Promise.all(["0.15", "10.00", "10.00"].map((balance) => fixture.createWallet(balance)));
  upstream.longestMs = 30;
  const watch = watchBalances(fixture.db.superuserUrl);
  const load = startLoad({ journal, serverUrls: [server.url, other.url], wallets, clients: 10 });
  for (let round = 0; round < 8; round += 1) {
    const answered = load.answered();
    const breaks = Object.values(spoken)
      .slice(0, 2)
      .flatMap((words) => [server.wire.cutRequest(words), other.wire.cutAnswer(words)]);
    await Promise.all(breaks);
    if (round % 2 === 0) server.wire.cut();
    await until("it goes on", () => load.answered() > answered + 10);
  }
  for (const { wire } of [server, other]) {
    wire.pause();
    // As long as a network may well be gone; nothing happens meanwhile that could be waited for.
    await wait(500);
    wire.resume();
    wire.blackhole(true);
    await wait(500);
    wire.blackhole(false);
    wire.cut();
  }
  await load.timeToServe();
  await fixture.finish(server.url, await load.stop());
  const { faults, snapshots } = await watch.stop();
  assert.deepEqual(faults, []);
  const counts = await fixture.assertBooksBalance();
  t.diagnostic(`${JSON.stringify(counts)}, ${snapshots} snapshots, ${server.wire.cuts + other.wire.cuts} cuts`);
  assert.ok(snapshots > 20 && counts.charged > 100);
});
