import assert from "node:assert/strict";
import { after, test } from "node:test";
import { attacksOf } from "./attacks.ts";
import { openFairnessFixture, shortSize } from "./fairness-fixture.ts";
import { faultsOf, formatFlood, measureRefusals } from "./refusals.ts";

// One attack for each limit that protects other tenants. `npm run fairness` runs all of them, and compares response times,
// which depend on the machine and are only printed here.

const names = [
  "searches of a wallet that is locked for 1.5 s",
  "one test key at full speed",
  "one live key at full speed",
  "half-sent bodies with a live key",
  "half-sent bodies without a key",
  "hosts of 7,900 labels",
];

const fixture = await openFairnessFixture(shortSize);

after(() => fixture.close());

test("of a flood of refused searches, all are counted and a limited number is stored", async (t) => {
  const result = await measureRefusals(fixture.target, shortSize.flood);
  t.diagnostic(formatFlood(result));
  assert.deepEqual(faultsOf(result), []);
});

const attacks = attacksOf(shortSize);
for (const name of names)
  test(`requests of one tenant succeed during ${name}`, async (t) => {
    const trial = await fixture.openTrial(attacks[name] ?? assert.fail(name));
    t.after(() => trial.close());
    const { searches, failures, p99Ms, attackerStatuses, rssMib } = await trial.measureDuring();
    t.diagnostic(`p99 ${p99Ms} ms, ${rssMib} MiB; the attacker received ${JSON.stringify(attackerStatuses)}`);
    assert.deepEqual(failures, []);
    assert.ok(searches > 0);
  });
