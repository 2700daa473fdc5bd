import assert from "node:assert/strict";
import { after, test } from "node:test";
import { attacksOf } from "./attacks.ts";
import { allowedP99Ms, openFairnessFixture, shortSize } from "./fairness-fixture.ts";

// The long form is `npm run fairness -- --long`.

const fixture = await openFairnessFixture(shortSize);

after(() => fixture.close());

for (const [name, attack] of Object.entries(attacksOf(shortSize)))
  test(`one tenant's searches succeed as fast as usual during ${name}`, async (t) => {
    const fairness = await fixture.measure(attack);
    const { baseline, attacked, attackerStatuses, rssMib } = fairness;
    t.diagnostic(`p99 ${attacked.p99Ms} ms, ${baseline.p99Ms} ms with many wallets, ${rssMib} MiB`);
    t.diagnostic(`the attacker received ${JSON.stringify(attackerStatuses)}`);
    assert.deepEqual(attacked.failures, []);
    assert.ok(attacked.searches > 20);
    assert.ok(attacked.p99Ms <= allowedP99Ms(fairness), `${attacked.p99Ms} ms, ${baseline.p99Ms} ms as usual`);
  });
