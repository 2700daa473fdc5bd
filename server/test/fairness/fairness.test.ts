import assert from "node:assert/strict";
import { after, test } from "node:test";
import { attacksOf } from "./attacks.ts";
import { openFairnessFixture, shortSize } from "./fairness-fixture.ts";

// Response times depend on the machine, so they are only printed here. `npm run fairness -- --long` compares them.

const fixture = await openFairnessFixture(shortSize);

after(() => fixture.close());

for (const [name, attack] of Object.entries(attacksOf(shortSize)))
  test(`one tenant's searches succeed during ${name}`, async (t) => {
    const { baseline, attacked, attackerStatuses, rssMib } = await fixture.measure(attack);
    t.diagnostic(`p99 ${attacked.p99Ms} ms, ${baseline.p99Ms} ms with many wallets, ${rssMib} MiB`);
    t.diagnostic(`the attacker received ${JSON.stringify(attackerStatuses)}`);
    assert.deepEqual(attacked.failures, []);
    assert.ok(attacked.searches > 0);
  });
