import assert from "node:assert/strict";
import { after, test } from "node:test";
import { attacks, openAbuseWorld } from "./abuse-world.ts";

// The long form, with slowhttptest, is `npm run abuse`.

const world = await openAbuseWorld();

after(() => world.close());

for (const [name, attack] of Object.entries(attacks))
  test(`searches are sold while others send ${name}`, async (t) => {
    const { searches, refused, p99Ms } = await world.measure(attack, 100, 2_000);
    t.diagnostic(`${searches} searches, p99 ${p99Ms} ms`);
    assert.deepEqual(refused, []);
    // Far beyond what it takes on a machine that has nothing else to do.
    assert.ok(searches > 10 && p99Ms < 5_000, `${searches} searches, p99 ${p99Ms} ms`);
  });

test("each polite search was charged once, and the attackers' nothing", async () => {
  const before = await world.countCharges();
  const { searches } = await world.measure(undefined, 0, 500);
  assert.equal(await world.countCharges(), before + searches);
});
