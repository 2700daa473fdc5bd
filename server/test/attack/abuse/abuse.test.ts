import assert from "node:assert/strict";
import { after, test } from "node:test";
import { openAbuseFixture } from "./abuse-fixture.ts";
import { attacks } from "./attacks.ts";

// The long form, with slowhttptest, is `npm run abuse`.

const fixture = await openAbuseFixture();

after(() => fixture.close());

for (const [name, attack] of Object.entries(attacks))
  test(`a paying caller is served during an attack with ${name}`, async (t) => {
    const { searches, failures, p99Ms } = await fixture.measure(attack, 100, 2_000);
    t.diagnostic(`${searches} searches, p99 ${p99Ms} ms`);
    // The caller times out after 20 s. Latency depends on the machine; `npm run abuse` measures it.
    assert.deepEqual(failures, []);
    assert.ok(searches >= 10);
  });

test("each paid search was charged once, and the attackers' requests were not charged", async () => {
  const { paid, charged } = await fixture.countCharges();
  assert.ok(paid > 50);
  assert.equal(charged, paid);
});
