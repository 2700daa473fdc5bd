import assert from "node:assert/strict";
import { after, test } from "node:test";
import { openAbuseFixture } from "./abuse-fixture.ts";
import { attacks } from "./attacks.ts";

// The long form, with slowhttptest, is `npm run abuse`.

const fixture = await openAbuseFixture();

after(() => fixture.close());

for (const [name, attack] of Object.entries(attacks))
  test(`searches are sold while others send ${name}`, async (t) => {
    const { searches, refused, p99Ms } = await fixture.measure(attack, 100, 2_000);
    t.diagnostic(`${searches} searches, p99 ${p99Ms} ms`);
    // An answer within 20 s: what it takes depends on the machine, and `npm run abuse` measures it.
    assert.deepEqual(refused, []);
    assert.ok(searches > 5);
  });

test("each search that was sold was charged once, and the attackers' nothing", async () => {
  const { sold, charged } = await fixture.countCharges();
  assert.ok(sold > 50);
  assert.equal(charged, sold);
});
