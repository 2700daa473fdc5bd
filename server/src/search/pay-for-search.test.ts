import assert from "node:assert/strict";
import { mock, test } from "node:test";
import { setImmediate as nextTurn } from "node:timers/promises";
import { createLane, LaneFull } from "../db/lane.ts";
import { NeverSent, OutcomeUnknown } from "../db/settle-batch.ts";
import { NoResponse } from "../http/no-response.ts";
import { Problem } from "../problems/problems.ts";
import type { ReleaseRequest, Settlement } from "../wallet/wallet.ts";
import { createSearchPayments, type SearchPayments } from "./pay-for-search.ts";

const request = { searchId: "search", walletId: "wallet", keyId: "key" };
const constraintViolation = Object.assign(new Error("check constraint"), { code: "23514", severity: "ERROR" });

interface Recorded {
  payments: SearchPayments;
  released: ReleaseRequest[];
  counted: string[];
  warnings: string[];
}

function createPayments(failures: { hold?: Error; capture?: Error; release?: Error }): Recorded {
  const released: ReleaseRequest[] = [];
  const counted: string[] = [];
  const warnings: string[] = [];
  const settle = async <Result>(failure: Error | undefined, result: Result): Promise<Result> => {
    if (failure) throw failure;
    return result;
  };
  const payments = createSearchPayments({
    ledger: {
      hold: () => settle(failures.hold, { outcome: "held", balance: 50_000n }),
      capture: () => settle(failures.capture, { state: "captured", balance: 40_000n }),
      release(given) {
        released.push(given);
        return settle(failures.release, { state: "released", balance: 50_000n });
      },
    },
    metrics: {
      countReleased: () => void counted.push("released"),
      countLost: (reason) => void counted.push(`lost ${reason}`),
    },
    log: { warn: (_fields: unknown, message?: string) => void warnings.push(message ?? "") },
  });
  return { payments, released, counted, warnings };
}

/** The response to the caller: the status and code of a problem, a closed connection, or an internal error. */
async function responseTo(work: Promise<unknown>): Promise<string> {
  try {
    await work;
    return "200";
  } catch (error) {
    if (error instanceof Problem) return `${error.status} ${error.code}`;
    return error instanceof NoResponse ? "closed" : "500 internal_error";
  }
}

// One row per lane error and call: what the caller receives, whether the hold is released, what is counted. No row charges.
const rows: [call: "hold" | "capture", error: Error, response: string, isReleased: boolean, counted: string[]][] = [
  ["hold", new LaneFull(2_000), "503 overloaded", false, []],
  ["hold", new NeverSent(), "503 ledger_unavailable", false, []],
  ["hold", new OutcomeUnknown(), "503 ledger_unavailable", true, []],
  ["hold", constraintViolation, "503 ledger_unavailable", false, []],
  ["capture", new LaneFull(2_000), "503 overloaded", true, []],
  ["capture", new NeverSent(), "503 ledger_unavailable", true, []],
  ["capture", new OutcomeUnknown(), "closed", false, ["lost unknown"]],
  ["capture", constraintViolation, "500 internal_error", true, []],
];

for (const [call, error, response, isReleased, counted] of rows) {
  test(`${call} fails with ${error.constructor.name}: ${response}, ${isReleased ? "released" : "not released"}`, async () => {
    const recorded = createPayments({ [call]: error });
    assert.equal(await responseTo(recorded.payments[call](request)), response);
    await nextTurn();
    assert.deepEqual(
      recorded.released.map(({ searchId, walletId, outcome }) => ({ searchId, walletId, outcome })),
      isReleased ? [{ searchId: "search", walletId: "wallet", outcome: "ledger_unavailable" }] : [],
    );
    assert.deepEqual(recorded.counted, counted);
  });
}

for (const error of [new LaneFull(2_000), new NeverSent(), new OutcomeUnknown(), constraintViolation]) {
  test(`release fails with ${error.constructor.name}: logged, never thrown, not counted as released`, async () => {
    const { payments, warnings, counted } = createPayments({ release: error });
    await payments.release({ ...request, outcome: "upstream_error" }, "live");
    assert.deepEqual(warnings, ["hold not released, will expire"]);
    assert.deepEqual(counted, []);
  });
}

test("the caller's response does not wait for the release of a hold whose outcome is unknown", async () => {
  const payments = createSearchPayments({
    ledger: {
      hold: () => Promise.reject(new OutcomeUnknown()),
      capture: () => Promise.reject(new Error("not called")),
      release: () => Promise.withResolvers<never>().promise,
    },
    metrics: { countReleased: () => undefined, countLost: () => undefined },
    log: { warn: () => undefined },
  });
  assert.equal(await responseTo(payments.hold(request)), "503 ledger_unavailable");
});

/** Payments whose releases go through a lane that hangs until `finish` is called. */
function createHangingReleases() {
  const hanging = Promise.withResolvers<void>();
  const counted: string[] = [];
  const lane = createLane<ReleaseRequest, Settlement>({
    async send(items) {
      await hanging.promise;
      return items.map(() => ({ state: "released", balance: 50_000n }));
    },
    ownerOf: ({ walletId }) => walletId,
    timeoutMs: 30_000,
  });
  const payments = createSearchPayments({
    ledger: {
      hold: () => Promise.reject(new OutcomeUnknown()),
      capture: () => Promise.reject(new NeverSent()),
      release: (given) => lane.submit(given),
    },
    metrics: { countReleased: () => void counted.push("released"), countLost: () => undefined },
    log: { warn: () => undefined },
  });
  return { payments, counted, finish: hanging.resolve };
}

async function isSettled(work: Promise<unknown>): Promise<boolean> {
  let isDone = false;
  work
    .catch(() => undefined)
    .then(() => {
      isDone = true;
    })
    .catch(() => undefined);
  for (let turn = 0; turn < 20; turn += 1) await nextTurn();
  return isDone;
}

test("the caller waits at most a second for a release, which then continues in the background", async (context) => {
  mock.timers.enable({ apis: ["setTimeout"] });
  context.after(() => mock.timers.reset());
  for (const work of [
    (payments: SearchPayments) => payments.release({ ...request, outcome: "upstream_error" }, "live"),
    (payments: SearchPayments) => payments.capture(request).catch(() => undefined),
  ]) {
    const { payments, counted, finish } = createHangingReleases();
    const waiting = work(payments);
    assert.equal(await isSettled(waiting), false);
    mock.timers.tick(999);
    // Not zero: an immediate retry with the same Idempotency-Key would find the search unfinished and get 409.
    assert.equal(await isSettled(waiting), false);
    mock.timers.tick(1);
    assert.equal(await isSettled(waiting), true);

    const finished = payments.finishReleases();
    assert.equal(await isSettled(finished), false);
    assert.deepEqual(counted, []);
    finish();
    await finished;
    assert.ok(counted.length <= 1);
  }
});

test("a release that is faster than a second is awaited to its end, and leaves no timer", async (context) => {
  mock.timers.enable({ apis: ["setTimeout"] });
  context.after(() => mock.timers.reset());
  const { payments, counted, finish } = createHangingReleases();
  const waiting = payments.release({ ...request, outcome: "upstream_error" }, "live");
  mock.timers.tick(500);
  assert.equal(await isSettled(waiting), false);
  finish();
  await waiting;
  assert.deepEqual(counted, ["released"]);
  await payments.finishReleases();
});

test("a shutdown also waits for releases that no caller waits for", async () => {
  const { payments, finish } = createHangingReleases();
  assert.equal(await responseTo(payments.hold(request)), "503 ledger_unavailable");
  const finished = payments.finishReleases();
  assert.equal(await isSettled(finished), false);
  finish();
  await finished;
});

test("only a live release counts as money released, and only a capture that arrived too late as lost", async () => {
  const { payments, counted } = createPayments({});
  await payments.release({ ...request, outcome: "upstream_error" }, "test");
  assert.equal(counted.length, 0);
  await payments.release({ ...request, outcome: "upstream_error" }, "live");
  await payments.capture(request);
  assert.deepEqual([...counted], ["released"]);
  const late = createSearchPayments({
    ledger: {
      hold: () => Promise.reject(new Error("not called")),
      capture: async () => ({ state: "expired", balance: 50_000n }),
      release: () => Promise.reject(new Error("not called")),
    },
    metrics: { countReleased: () => undefined, countLost: (reason) => void counted.push(`lost ${reason}`) },
    log: { warn: () => undefined },
  });
  assert.equal((await late.capture(request)).state, "expired");
  assert.deepEqual(counted, ["released", "lost expired"]);
});
