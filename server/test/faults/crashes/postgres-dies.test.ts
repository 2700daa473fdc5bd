import assert from "node:assert/strict";
import { after, type TestContext, test } from "node:test";
import { request } from "undici";
import { until } from "../../support/assertions/until.ts";
import { replaceConstants } from "../../support/replace-constants.ts";
import { backEndsOf } from "../../support/services/private-postgres.ts";
import { sendSignal } from "../../support/services/send-signal.ts";
import type { Callers } from "../callers.ts";
import { openCrashFixture } from "./crash-fixture.ts";
import { searchDuring } from "./load.ts";

// kill -9 of PostgreSQL under load. When one backend is killed, the postmaster terminates all others, because shared
// memory may be corrupt, and recovers from the WAL. A killed postmaster is restarted by the test.

const fixture = await openCrashFixture();
const { postgres } = fixture;
const servers = await Promise.all([fixture.startServer(), fixture.startServer()]);

after(() => fixture.close());

async function killUnderLoad(t: TestContext, times: number, kill: () => Promise<void>): Promise<void> {
  const recoveries: string[] = [];
  const { counts, snapshots } = await searchDuring(fixture, servers, async (callers) => {
    for (let time = 0; time < times; time += 1) {
      await steady(callers);
      const paid = callers.timeToPaid();
      const killedAt = performance.now();
      await kill();
      await postgres.restart();
      const databaseMs = performance.now() - killedAt;
      recoveries.push(`${Math.round(await paid)} (database ${Math.round(databaseMs)})`);
    }
    await steady(callers);
  });
  t.diagnostic(
    `kill to the next paid search: ${recoveries.join(", ")} ms; ${snapshots} snapshots; ${JSON.stringify(counts)}`,
  );
  for (const server of servers) assert.equal(server.process.exitCode, null, "the servers keep running");
}

async function steady(callers: Callers): Promise<void> {
  const { paid } = callers.counts;
  await until("searches are paid", () => callers.counts.paid >= paid + 40);
}

test("after kill -9 of backends under load every 200 was charged once, no error was charged, and servers recover", async (t) => {
  await killUnderLoad(t, 3, async () => {
    const backEnds = await backEndsOf(postgres.superuserUrl, "pennyblack ledger");
    // A server can have closed the connection since.
    const killed = backEnds.find((pid) => sendSignal(pid, "SIGKILL"));
    assert.ok(killed);
    await until("the postmaster has noticed", () =>
      postgres.log().includes(`(PID ${killed}) was terminated by signal 9`),
    );
  });
  assert.match(postgres.log(), /all server processes terminated; reinitializing/);
});

test("the same holds after kill -9 of the postmaster and a restart", async (t) => {
  await killUnderLoad(t, 2, postgres.killPostmaster);
});

test("while PostgreSQL is down a search waits as long as its preference allows and is not charged, and one that starts before the restart succeeds", async () => {
  const wallet = await fixture.createWallet("5.00");
  // Waits longer than a restart takes on a busy machine. lane-outage.test.ts has the limits of the wait.
  const patient = await fixture.startServer(replaceConstants({ databaseOutageMs: 45_000 }));
  let paid = 0;
  const search = async (preference: Record<string, string> = {}, { url } = servers[0]) => {
    const { statusCode, headers, body } = await request(`${url}/v1/search`, {
      method: "POST",
      headers: { authorization: `Bearer ${wallet.live}`, "content-type": "application/json", ...preference },
      body: JSON.stringify({ query: "cats" }),
      // A new connection each time: the server may close an idle one while it is reused.
      reset: true,
    });
    const { code } = (await body.json()) as { code?: string };
    if (statusCode === 200) paid += 1;
    return { status: statusCode, code, retryAfter: headers["retry-after"] };
  };
  assert.equal((await search()).status, 200);

  await postgres.stop();
  const ended: unknown[] = [];
  const searchInOutage = async (name: string, preference?: Record<string, string>): Promise<void> => {
    const { status, code, retryAfter } = await search(preference);
    ended.push([name, status, code, retryAfter]);
  };
  await Promise.all([searchInOutage("patient"), searchInOutage("hurried", { prefer: "wait=4" })]);
  assert.deepEqual(ended, [
    ["hurried", 503, "ledger_unavailable", "2"],
    ["patient", 503, "ledger_unavailable", "2"],
  ]);

  const attempts = patient.wire.connections;
  const searches = Promise.all(Array.from({ length: 20 }, () => search({}, patient)));
  await until("the server has tried to connect", () => patient.wire.connections > attempts + 2);
  await postgres.restart();
  assert.deepEqual(new Set((await searches).map(({ status }) => status)), new Set([200]));
  const { rows } = await fixture.db.owner.query<{ captured: bigint }>(
    "select count(*) as captured from pb.transfers where wallet_id = $1 and kind = 'capture'",
    [wallet.walletId],
  );
  assert.equal(Number(rows[0]?.captured), paid);
  await fixture.assertBooksBalance();
});
