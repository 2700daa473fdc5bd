import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import { after, test } from "node:test";
import { until } from "../../support/assertions/until.ts";
import type { TestWallet } from "../../support/services/server.ts";
import type { Question, Seen } from "../journal.ts";
import { type CrashServer, openCrashFixture } from "./crash-fixture.ts";
import type { WalletLock } from "./owner-actions.ts";
import { spoken } from "./spoken.ts";

// kill -9 between every two steps of a search. One server dies with a search in each of several steps, of callers with
// an Idempotency-Key and, in another death, of callers without. Then, for each: was it charged, does a retry on
// another server pay once in all, does the hold end.

const fixture = await openCrashFixture();
const { upstream, journal } = fixture;
const survivor = await fixture.startServer();

after(() => fixture.close());

interface Scene {
  server: CrashServer;
  wallet: TestWallet;
  query: string;
  /** Sends the search. */
  begin: () => void;
}

interface Moment {
  name: string;
  /** Brings a search to the moment. What it returns is done when the server is dead. */
  reach: (scene: Scene) => Promise<(() => Promise<void>) | undefined>;
  /** What the ledger says of the search then; nothing, if it never heard of it. */
  state: "pending" | "captured" | "released" | undefined;
  isAnswered?: true;
}

async function reachUpstream({ query, begin }: Scene): Promise<void> {
  upstream.keepWaiting(query);
  begin();
  await until("the upstream is asked", () => upstream.isWaiting(query));
}

/** The upstream has answered 2xx, and the capture waits for the wallet's lock. */
async function reachCapture(scene: Scene): Promise<WalletLock> {
  await reachUpstream(scene);
  const lock = await fixture.lock(scene.wallet);
  upstream.answer(scene.query);
  await until("the capture waits", async () => (await lock.waiting()) === 1);
  return lock;
}

/** The upstream has answered, and the wire breaks at what the server then says. */
async function reachBreak(scene: Scene, status: number, plant: (wire: CrashServer["wire"]) => Promise<void>) {
  await reachUpstream(scene);
  const reached = plant(scene.server.wire);
  upstream.answer(scene.query, status);
  await reached;
  return undefined;
}

/** A hold that is stuck keeps other holds from being sent, so in each death it comes last. */
const deaths: Moment[][] = [
  [
    {
      name: "after its answer",
      async reach({ begin }) {
        begin();
        return undefined;
      },
      state: "captured",
      isAnswered: true,
    },
    {
      name: "while the upstream is asked",
      async reach(scene) {
        await reachUpstream(scene);
        return undefined;
      },
      state: "pending",
    },
    {
      name: "after the upstream's failure, before its release reaches the database",
      reach: (scene) => reachBreak(scene, 503, (wire) => wire.swallowRequest(spoken.release)),
      state: "pending",
    },
    {
      name: "after the upstream's 2xx, before its capture reaches the database",
      reach: (scene) => reachBreak(scene, 200, (wire) => wire.swallowRequest(spoken.capture)),
      state: "pending",
    },
    {
      name: "before its hold reaches the database",
      async reach({ server, begin }) {
        const reached = server.wire.swallowRequest(spoken.hold);
        begin();
        await reached;
        return undefined;
      },
      state: undefined,
    },
  ],
  [
    {
      name: "when its release is committed and it has not heard of it",
      reach: (scene) => reachBreak(scene, 503, (wire) => wire.swallowAnswer(spoken.release)),
      state: "released",
    },
    {
      name: "when its capture is committed and it has not heard of it",
      reach: (scene) => reachBreak(scene, 200, (wire) => wire.swallowAnswer(spoken.capture)),
      state: "captured",
    },
    {
      name: "when its hold is committed and it has not heard of it",
      async reach({ server, begin }) {
        const reached = server.wire.swallowAnswer(spoken.hold);
        begin();
        await reached;
        return undefined;
      },
      state: "pending",
    },
  ],
  [
    {
      name: "while its capture waits for a lock, which the database then gets",
      reach: async (scene) => (await reachCapture(scene)).release,
      state: "captured",
    },
    {
      name: "while its hold waits for a lock, which the database then gets",
      async reach({ wallet, begin }) {
        const lock = await fixture.lock(wallet);
        begin();
        await until("the hold waits", async () => (await lock.waiting()) === 1);
        return lock.release;
      },
      state: "pending",
    },
  ],
  [
    {
      name: "while its capture waits for a lock, which the database never gets in time",
      async reach(scene) {
        const lock = await reachCapture(scene);
        return async () => {
          await until("the database gives up", async () => (await lock.waiting()) === 0);
          await lock.release();
        };
      },
      state: "pending",
    },
  ],
];

interface Search {
  moment: Moment;
  question: Question;
  seen: Promise<Seen>[];
}

for (const [number, moments] of deaths.entries())
  for (const hasKey of [true, false])
    test(`death ${number + 1} of a server, callers ${hasKey ? "with" : "without"} an Idempotency-Key`, {
      timeout: 30_000,
    }, async (t) => {
      const searches = await dieWith(moments, hasKey);
      for (const search of searches) await t.test(describe(search), () => assess(search));
      await fixture.assertBooksBalance();
    });

async function dieWith(moments: Moment[], hasKey: boolean): Promise<Search[]> {
  const server = await fixture.startServer();
  const searches: Search[] = [];
  const afterwards: (() => Promise<void>)[] = [];
  for (const moment of moments) {
    const wallet = await fixture.createWallet();
    const question = { wallet, query: randomUUID(), idempotencyKey: hasKey ? randomUUID() : undefined };
    const seen: Promise<Seen>[] = [];
    const begin = (): void => void seen.push(journal.search(server.url, question));
    const thereafter = await moment.reach({ server, wallet, query: question.query, begin });
    if (moment.isAnswered) await seen[0];
    if (thereafter) afterwards.push(thereafter);
    searches.push({ moment, question, seen });
  }
  await server.kill();
  for (const thereafter of afterwards) await thereafter();
  await fixture.untilQuiet();
  return searches;
}

function describe({ moment, question }: Search): string {
  const wasCharged = moment.state === "captured";
  const retry = wasCharged ? ", and the retry is free" : ", and the retry pays once";
  return `a search whose server is killed ${moment.name} is charged ${wasCharged ? "once" : "nothing"}${question.idempotencyKey === undefined ? "" : retry}`;
}

async function assess({ moment, question, seen }: Search): Promise<void> {
  const { wallet } = question;
  const charges = moment.state === "captured" ? 1 : 0;
  assert.equal((await seen[0])?.kind, moment.isAnswered ? "answered" : "closed");
  assert.deepEqual(await fixture.statesOf(wallet), moment.state === undefined ? [] : [moment.state]);
  assert.equal(await fixture.chargesOf(wallet), charges);
  if (question.idempotencyKey !== undefined) await retry(question, charges);
  await fixture.sweep(wallet);
  assert.equal(await fixture.chargesOf(wallet), question.idempotencyKey === undefined ? charges : 1);
  assert.ok(!(await fixture.statesOf(wallet)).includes("pending"));
}

/** On another server, with the same key: the answer comes, and in all it is paid for once. */
async function retry(question: Question, charges: number): Promise<void> {
  upstream.answer(question.query);
  await fixture.ageClaims(question.wallet);
  const seen = await journal.search(survivor.url, question);
  assert.ok(seen.kind === "answered");
  assert.deepEqual([seen.status, seen.isReplayed], [200, charges === 1], seen.text);
  assert.ok(seen.text.includes(question.query));
}
