import assert from "node:assert/strict";
import { after, type TestContext, test } from "node:test";
import { until } from "../../support/assertions/until.ts";
import { backEndsOf } from "../../support/services/private-postgres.ts";
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
    const [busiest] = await backEndsOf(postgres.superuserUrl, "pennyblack ledger");
    assert.ok(busiest);
    process.kill(busiest, "SIGKILL");
    await until("the postmaster has noticed", () =>
      postgres.log().includes(`(PID ${busiest}) was terminated by signal 9`),
    );
  });
  assert.match(postgres.log(), /all server processes terminated; reinitializing/);
});

test("the same holds after kill -9 of the postmaster and a restart", async (t) => {
  await killUnderLoad(t, 2, postgres.killPostmaster);
});
