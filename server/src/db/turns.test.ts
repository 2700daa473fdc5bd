import assert from "node:assert/strict";
import { test } from "node:test";
import { createTurns } from "./turns.ts";

const read = (owner: string) => ({ owner, kind: "read" as const });
const change = (owner: string) => ({ owner, kind: "change" as const });

test("reads of one owner take turns, even after a failure, and those of another start immediately", async () => {
  const inTurn = createTurns({ connections: 4, timeoutMs: 1_000 });
  const events: string[] = [];
  const { promise: failed, reject: fail } = Promise.withResolvers<never>();
  const first = inTurn(read("a"), () => failed);
  const second = inTurn(read("a"), async () => void events.push("a"));
  await inTurn(read("b"), async () => void events.push("b"));
  assert.deepEqual(events, ["b"]);
  fail(new Error("a bug"));
  await assert.rejects(first, /a bug/);
  await second;
  await inTurn(read("a"), async () => void events.push("later"));
  assert.deepEqual(events, ["b", "a", "later"]);
});

test("work that waits too long is rejected and loses its turn", async (t) => {
  t.mock.timers.enable({ apis: ["setTimeout"] });
  const inTurn = createTurns({ connections: 4, timeoutMs: 1_000 });
  const { promise: ended, resolve: end } = Promise.withResolvers<void>();
  const first = inTurn(read("a"), () => ended);
  const rejected = assert.rejects(
    inTurn(read("a"), () => assert.fail("started")),
    /no turn within 1000 ms/,
  );
  t.mock.timers.tick(1_000);
  await rejected;
  const third = inTurn(read("a"), async () => "done");
  end();
  await first;
  assert.equal(await third, "done");
});

test("a second kind of work starts if a connection remains free, and before later work of its owner", async () => {
  const inTurn = createTurns({ connections: 3, timeoutMs: 1_000 });
  const events: string[] = [];
  const { promise: ended, resolve: end } = Promise.withResolvers<void>();
  const reads = ["a", "b"].map((owner) => inTurn(read(owner), () => ended));
  const second = inTurn(change("a"), async () => void events.push("change of a"));
  const later = inTurn(read("a"), async () => void events.push("read of a"));
  await inTurn(read("c"), async () => void events.push("read of c"));
  assert.deepEqual(events, ["read of c"]);
  end();
  await Promise.all([...reads, second, later]);
  assert.deepEqual(events, ["read of c", "change of a", "read of a"]);
  const alone = inTurn(read("a"), () => inTurn(change("a"), async () => "at once"));
  assert.equal(await alone, "at once");
});
