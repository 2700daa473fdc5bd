import assert from "node:assert/strict";
import { after, type TestContext, test } from "node:test";
import { until } from "../../support/assertions/until.ts";
import { backEndsOf } from "../../support/services/private-postgres.ts";
import { watchBalances } from "../watch-balances.ts";
import { openCrashFixture } from "./crash-fixture.ts";
import { type Load, startLoad } from "./load.ts";

// kill -9 of PostgreSQL under load. One back end that dies takes all others with it: the postmaster cannot know what it
// left in the shared memory, so it starts anew from the log. A postmaster that dies is started again by the test.

const fixture = await openCrashFixture();
const { postgres, upstream, journal } = fixture;
const servers = await Promise.all([fixture.startServer(), fixture.startServer()]);

after(() => fixture.close());

/** Load on both servers while something is killed several times, and the audit of it all. */
async function killUnderLoad(t: TestContext, times: number, kill: () => Promise<void>): Promise<void> {
  const wallets = await Promise.all(["0.20", "20.00", "20.00"].map((balance) => fixture.createWallet(balance)));
  upstream.longestMs = 30;
  const watch = watchBalances(fixture.db.superuserUrl);
  const load = startLoad({ journal, serverUrls: servers.map((server) => server.url), wallets, clients: 10 });
  const recoveries: string[] = [];
  for (let time = 0; time < times; time += 1) {
    await steady(load);
    const served = load.timeToServe();
    const killedAt = performance.now();
    await kill();
    await postgres.restart();
    const databaseMs = performance.now() - killedAt;
    recoveries.push(`${Math.round(await served)} (the database itself ${Math.round(databaseMs)})`);
  }
  await steady(load);
  await fixture.finish(servers[0]?.url ?? "", await load.stop());
  const { faults, snapshots } = await watch.stop();
  assert.deepEqual(faults, []);
  const counts = await fixture.assertBooksBalance();
  t.diagnostic(`kill to the next 200: ${recoveries.join(", ")} ms; ${snapshots} snapshots; ${JSON.stringify(counts)}`);
  for (const server of servers) assert.equal(server.process.exitCode, null, "the servers live on");
}

async function steady(load: Load): Promise<void> {
  const answered = load.answered();
  await until("searches are answered", () => load.answered() >= answered + 40);
}

test("kill -9 of back ends under load: no 200 unpaid, no error charged, nothing twice, and servers recover", async (t) => {
  await killUnderLoad(t, 3, async () => {
    const [busiest] = await backEndsOf(postgres.superuserUrl, "pennyblack ledger");
    assert.ok(busiest);
    process.kill(busiest, "SIGKILL");
    await until("the postmaster has noticed", () =>
      postgres.log().includes(`(PID ${busiest}) was terminated by signal 9`),
    );
  });
  assert.match(postgres.log(), /all server processes terminated; reinitializing/);
});

test("kill -9 of the postmaster under load, and a restart: the same", async (t) => {
  await killUnderLoad(t, 2, postgres.killPostmaster);
});
