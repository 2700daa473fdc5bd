import assert from "node:assert/strict";
import { test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import type { HoldOutcome, Ledger } from "../wallet/wallet.ts";
import { waitForMoves } from "./wait-for-moves.ts";

/** Before the searches would ask again by themselves. */
const promptly = { timeout: 4_000 };

test("searches wait for the move of their account, and one of them asks for all", promptly, async () => {
  const { hold, calls, end } = createLedger();
  const waiting = Array.from({ length: 200 }, () => hold(search("moving")));
  await sleep(1_000);
  // Each asks once, and one of them at most ten times in this second.
  assert.ok(calls("moving") > 202 && calls("moving") <= 210, String(calls("moving")));
  assert.equal((await hold(search("other"))).outcome, "held");
  end();
  assert.deepEqual(new Set((await Promise.all(waiting)).map(({ outcome }) => outcome)), new Set(["held"]));
  assert.ok(calls("moving") <= 2 * 200 + 12, String(calls("moving")));
});

test("a search without time left gets the outcome, and another one asks from then on", promptly, async () => {
  const { hold, end } = createLedger();
  const short = hold(search("moving"), 1_000);
  const long = hold(search("moving"), 9_000);
  assert.equal((await short).outcome, "account_moving");
  await sleep(300);
  end();
  assert.equal((await long).outcome, "held");
});

test("a failed hold ends the wait of the others", promptly, async () => {
  const { hold, fail } = createLedger();
  const asking = hold(search("moving"));
  const other = hold(search("moving"));
  const failures = Promise.allSettled([asking, other]);
  await sleep(300);
  fail();
  assert.deepEqual(
    (await failures).map(({ status }) => status),
    ["rejected", "rejected"],
  );
});

function search(walletId: string): Parameters<Ledger["hold"]>[0] {
  return { searchId: "search", walletId, keyId: "key" };
}

function createLedger() {
  const asked: string[] = [];
  let state: "moving" | "ended" | "failing" = "moving";
  return {
    hold: waitForMoves(async ({ walletId }): Promise<HoldOutcome> => {
      asked.push(walletId);
      if (state === "failing") throw new Error("unavailable");
      return state === "moving" && walletId === "moving"
        ? { outcome: "account_moving" }
        : { outcome: "held", balance: 1n };
    }),
    calls: (walletId: string) => asked.filter((id) => id === walletId).length,
    end: () => void (state = "ended"),
    fail: () => void (state = "failing"),
  };
}
