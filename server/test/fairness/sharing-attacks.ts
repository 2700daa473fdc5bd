import assert from "node:assert/strict";
import { setTimeout as wait } from "node:timers/promises";
import { measureRequests, requestOnce } from "../attack/abuse/paying-caller.ts";
import { launchProcess } from "../attack/fuzz/launch-server.ts";
import { createTestWallet, type TestWallet, testEnvironment } from "../support/services/server.ts";
import { startReceiver } from "../support/services/webhook-receiver.ts";
import type { Attack, Target } from "./fairness-fixture.ts";
import { startTraffic } from "./traffic.ts";

// Attacks on what wallets share besides searches: the database connections of reads, and the deliveries of webhooks.

/** A statement has five seconds. */
const batch = 20_000;

/** Sixteen parallel reads, as many as a wallet can have in flight. The victim reads its balance. */
export const readManyEndUsers: Attack = {
  async openVictim({ url, size, victim }) {
    const read = () => requestOnce(`${url}/v1/wallet`, { headers: { "x-api-key": victim.management } });
    return {
      measure: (forMs) => measureRequests({ forMs, perSecond: size.victimPerSecond }, read),
      close: async () => undefined,
    };
  },
  async start({ db, port, size, attacker }) {
    for (let count = 0; count < size.endUsers; count += batch)
      await db.owner.query(
        `insert into pb.usage_end_users
         select $1, (now() at time zone 'utc')::date - 1, 'test', 'user-' || n, 1, 0
         from generate_series($2::integer + 1, $2::integer + $3::integer) n on conflict do nothing`,
        [attacker.walletId, count, batch],
      );
    await db.owner.query("analyze pb.usage_end_users");
    const path = "/v1/usage?group=end_user";
    const traffic = await startTraffic({ kind: "reads", port, path, key: attacker.management, connections: 16 });
    return () => traffic.stop();
  },
};

const silentWallets = 4;
const endpointsPerWallet = 10;
const eventsPerWallet = 12;

/** One person with four wallets, and ten endpoints each that never respond. The victim waits for its own deliveries. */
export const silentReceivers: Attack = {
  async openVictim(target) {
    const { db, victim } = target;
    const settings = {
      ...testEnvironment(db),
      PENNYBLACK_WORKER_DATABASE_URL: db.workerUrl,
      PENNYBLACK_DIRECT_DATABASE_URL: db.ownerUrl,
      PENNYBLACK_WEBHOOKS_ALLOW_PRIVATE: "true",
      PENNYBLACK_LOG_LEVEL: "error",
    };
    const worker = await launchProcess(new URL("../../src/jobs/main.ts", import.meta.url).pathname, settings);
    const receiver = await startReceiver();
    await subscribe(target, victim, receiver.url);
    const deliver = async (): Promise<200 | string> => {
      const id = await emitEvent(target, victim);
      const endMs = performance.now() + 60_000;
      while (performance.now() < endMs) {
        if (receiver.received.some(({ event }) => event.id === id)) return 200;
        await wait(20);
      }
      return "not delivered within a minute";
    };
    return {
      measure: (forMs) => measureRequests({ forMs, perSecond: 2 }, deliver),
      async close() {
        worker.process.kill("SIGKILL");
        await worker.ended;
        await receiver.close();
      },
    };
  },
  async start(target) {
    const receiver = await startReceiver();
    receiver.answer(() => undefined);
    for (let count = 0; count < silentWallets; count += 1) {
      const wallet = await createTestWallet(target.db, "0.01");
      for (let endpoint = 0; endpoint < endpointsPerWallet; endpoint += 1)
        await subscribe(target, wallet, `${receiver.url}/${endpoint}`);
      for (let event = 0; event < eventsPerWallet; event += 1) await emitEvent(target, wallet);
    }
    await receiver.waitFor(silentWallets);
    return async () => {
      await receiver.close();
      return { received: receiver.received.length };
    };
  },
};

async function subscribe({ url }: Target, { management }: TestWallet, receiverUrl: string): Promise<void> {
  const created = await requestOnce(`${url}/v1/webhooks`, {
    method: "POST",
    headers: { "x-api-key": management, "content-type": "application/json" },
    body: JSON.stringify({ url: receiverUrl, events: ["key.created"] }),
  });
  assert.equal(created, 200);
}

async function emitEvent({ db }: Target, { walletId }: TestWallet): Promise<string> {
  const { rows } = await db.owner.query<{ id: string }>("select pb.emit_event($1, 'key.created', '{}') as id", [
    walletId,
  ]);
  return rows[0]?.id ?? assert.fail();
}
