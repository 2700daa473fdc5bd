import assert from "node:assert/strict";
import { afterEach, beforeEach, mock, test } from "node:test";
import { type RememberedKey, rememberKeys } from "./remember-keys.ts";

const good = { keyId: "a", isPassing: false };
let changed: string[] = [];
let isAway = false;
let asked = 0;
let memory: ReturnType<typeof rememberKeys<RememberedKey>>;
let now = 0;

beforeEach(() => {
  [changed, isAway, asked, now] = [[], false, 0, 0];
  mock.timers.enable({ apis: ["setTimeout"] });
  mock.method(performance, "now", () => now);
  memory = rememberKeys(async () => {
    if (isAway) throw new Error("the database is away");
    return changed;
  });
});

afterEach(() => {
  memory.close();
  mock.reset();
});

test("a key that nobody changes is looked up once", async () => {
  await find(good);
  await pass(30_000);
  await find(good);
  assert.equal(asked, 1);
});

test("a change is seen at the next question, also if the look-up was under way meanwhile", async () => {
  const late = Promise.withResolvers<RememberedKey>();
  const first = memory.find("name", () => late.promise);
  changed = ["a"];
  await pass(500);
  late.resolve(good);
  await first;
  await pass(500);
  await find(good);
  assert.equal(asked, 1, "the answer from before the change was thrown away");
});

test("while the database does not say what changed, a key is remembered for a second", async () => {
  await pass(500);
  await find(good);
  isAway = true;
  await pass(900);
  await find(good);
  assert.equal(asked, 1);
  await pass(600);
  await find(good);
  assert.equal(asked, 2);
});

test("after a silence longer than changes are told, nothing is remembered", async () => {
  await pass(500);
  await find(good);
  isAway = true;
  await pass(12_000);
  isAway = false;
  await pass(500);
  await find(good);
  assert.equal(asked, 2);
});

test("what ends by itself, what was not found and what could not be asked is looked up again", async () => {
  await pass(500);
  await find({ keyId: "b", isPassing: true }, "passing");
  await find(undefined, "unknown");
  await pass(1_250);
  await find({ keyId: "b", isPassing: true }, "passing");
  await find(undefined, "unknown");
  assert.equal(asked, 4);
  await assert.rejects(memory.find("broken", () => Promise.reject(new Error("away"))));
  await find(good, "broken");
  assert.equal(asked, 5);
});

function find(key: RememberedKey | undefined, name = "name"): Promise<RememberedKey | undefined> {
  return memory.find(name, async () => {
    asked += 1;
    return key;
  });
}

/** In steps of a question, each answered before the next. */
async function pass(ms: number): Promise<void> {
  for (let left = ms; left > 0; left -= 250) {
    now += Math.min(left, 250);
    mock.timers.tick(Math.min(left, 250));
    for (let turn = 0; turn < 10; turn += 1) await Promise.resolve();
  }
}
