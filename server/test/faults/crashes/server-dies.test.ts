import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import { after, test } from "node:test";
import { sealNewDataKey } from "../../../src/lib/data-key.ts";
import { until } from "../../support/assertions/until.ts";
import type { WalletLock } from "../../support/data/lock-wallet.ts";
import { type TestWallet, testSecrets } from "../../support/services/server.ts";
import type { Outcome, SearchRequest } from "../send-search.ts";
import { walletStatements } from "../wallet-statements.ts";
import { type CrashServer, openCrashFixture } from "./crash-fixture.ts";

// kill -9 between every two steps of a search, with an Idempotency-Key and without one. Each test then checks the charge, a
// retry on another server, and that the hold ends.

const fixture = await openCrashFixture();
const { upstream, journal } = fixture;
// Without this, a statement waits 100 ms for a lock. On a busy machine the lock is released later.
await fixture.setLockWait(4_000);
const survivor = await fixture.startServer();

after(() => fixture.close());

interface Trial {
  server: CrashServer;
  wallet: TestWallet;
  query: string;
  /** Sends the search. */
  begin: () => void;
}

interface Moment {
  name: string;
  /** Brings a search to the moment. The returned function runs after the server was killed. */
  reach: (trial: Trial) => Promise<(() => Promise<void>) | undefined>;
  /** The state of the search in the ledger; undefined if it has none. */
  state: "pending" | "captured" | "released" | undefined;
  isAnswered?: true;
}

async function reachUpstream({ query, begin }: Trial): Promise<void> {
  upstream.keepWaiting(query);
  begin();
  await until("the upstream has the query", () => upstream.isWaiting(query));
}

/** The upstream has answered with 200, and the capture waits for the wallet's lock. */
async function reachCapture(trial: Trial): Promise<WalletLock> {
  await reachUpstream(trial);
  const lock = await fixture.lock(trial.wallet);
  upstream.answer(trial.query);
  await until("the capture waits", async () => (await lock.waiting()) === 1);
  return lock;
}

/** The upstream has answered, and the connection breaks at the next statement of the server. */
async function reachBreak(trial: Trial, status: number, plant: (wire: CrashServer["wire"]) => Promise<void>) {
  await reachUpstream(trial);
  const reached = plant(trial.server.wire);
  upstream.answer(trial.query, status);
  await reached;
  return undefined;
}

// Each moment has its own server. With several searches in one server, the first could time out before the last is at its moment.
const moments: Moment[] = [
  {
    name: "after its response",
    async reach({ begin }) {
      begin();
      return undefined;
    },
    state: "captured",
    isAnswered: true,
  },
  {
    name: "while the upstream is queried",
    async reach(trial) {
      await reachUpstream(trial);
      return undefined;
    },
    state: "pending",
  },
  {
    name: "after an upstream error, before its release reaches the database",
    reach: (trial) => reachBreak(trial, 503, (wire) => wire.swallowRequest(walletStatements.release)),
    state: "pending",
  },
  {
    name: "after an upstream answer, before its capture reaches the database",
    reach: (trial) => reachBreak(trial, 200, (wire) => wire.swallowRequest(walletStatements.capture)),
    state: "pending",
  },
  {
    name: "before its hold reaches the database",
    async reach({ server, begin }) {
      const reached = server.wire.swallowRequest(walletStatements.hold);
      begin();
      await reached;
      return undefined;
    },
    state: undefined,
  },
  {
    name: "when its release is committed but not acknowledged",
    reach: (trial) => reachBreak(trial, 503, (wire) => wire.swallowAnswer(walletStatements.release)),
    state: "released",
  },
  {
    name: "when its capture is committed but not acknowledged",
    reach: (trial) => reachBreak(trial, 200, (wire) => wire.swallowAnswer(walletStatements.capture)),
    state: "captured",
  },
  {
    name: "when its hold is committed but not acknowledged",
    async reach({ server, begin }) {
      const reached = server.wire.swallowAnswer(walletStatements.hold);
      begin();
      await reached;
      return undefined;
    },
    state: "pending",
  },
  {
    name: "while its capture waits for a lock that is then released",
    reach: async (trial) => (await reachCapture(trial)).release,
    state: "captured",
  },
  {
    name: "while its hold waits for a lock that is then released",
    async reach({ wallet, begin }) {
      const { walletId } = wallet;
      // Otherwise the search would wait for the same lock to create it.
      const dataKey = sealNewDataKey(testSecrets, walletId);
      await fixture.db.owner.query("insert into pb.data_keys values ($1, $2)", [walletId, dataKey]);
      const lock = await fixture.lock(wallet);
      begin();
      await until("the hold waits", async () => (await lock.waiting()) === 1);
      return lock.release;
    },
    state: "pending",
  },
  {
    name: "while its capture waits for a lock until the lock timeout",
    async reach(trial) {
      const lock = await reachCapture(trial);
      return async () => {
        await until("the lock wait times out", async () => (await lock.waiting()) === 0);
        await lock.release();
      };
    },
    state: "pending",
  },
];

for (const moment of moments)
  for (const hasKey of [true, false])
    test(describe(moment, hasKey), { timeout: 120_000 }, async () => {
      const server = await fixture.startServer();
      const wallet = await fixture.createWallet();
      const request = { wallet, query: randomUUID(), idempotencyKey: hasKey ? randomUUID() : undefined };
      const outcomes: Promise<Outcome>[] = [];
      const begin = (): void => void outcomes.push(journal.search(server.url, request));
      const afterCrash = await moment.reach({ server, wallet, query: request.query, begin });
      if (moment.isAnswered) await outcomes[0];
      await server.kill();
      await afterCrash?.();
      await fixture.untilQuiet();
      await assertOutcome(moment, request, outcomes);
      await fixture.assertBooksBalance();
    });

function describe({ name, state }: Moment, hasKey: boolean): string {
  const wasCharged = state === "captured";
  const retry = wasCharged ? ", and a retry is free" : ", and a retry is charged once";
  return `a search whose server is killed ${name} is ${wasCharged ? "charged once" : "not charged"}${hasKey ? retry : ""}`;
}

async function assertOutcome(moment: Moment, request: SearchRequest, outcomes: Promise<Outcome>[]): Promise<void> {
  const { wallet } = request;
  const charges = moment.state === "captured" ? 1 : 0;
  assert.equal((await outcomes[0])?.kind, moment.isAnswered ? "answered" : "closed");
  assert.deepEqual(await fixture.statesOf(wallet), moment.state === undefined ? [] : [moment.state]);
  assert.equal(await fixture.chargesOf(wallet), charges);
  if (request.idempotencyKey !== undefined) await retry(request, charges);
  await fixture.sweep(wallet);
  assert.equal(await fixture.chargesOf(wallet), request.idempotencyKey === undefined ? charges : 1);
  assert.ok(!(await fixture.statesOf(wallet)).includes("pending"));
}

/** Retries on another server with the same key: the search is answered, and charged once in total. */
async function retry(request: SearchRequest, charges: number): Promise<void> {
  upstream.answer(request.query);
  await fixture.ageClaims(request.wallet);
  const outcome = await journal.search(survivor.url, request);
  assert.ok(outcome.kind === "answered");
  assert.deepEqual([outcome.status, outcome.isReplayed], [200, charges === 1], outcome.text);
  assert.ok(outcome.text.includes(request.query));
}
