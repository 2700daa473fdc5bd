import assert from "node:assert/strict";
import { test } from "node:test";
import { closeAfter } from "../../support/close-after.ts";
import { createAccounts, openFleet } from "./fleet.ts";
import { formatPart } from "./part-result.ts";
import { transferBalances } from "./transfer-balances.ts";

// The part of `npm run chaos:cells` that moves money. `npm run check:all` runs the others.

const fleet = closeAfter(await openFleet());

test("a balance that is transferred arrives once if the command, servers and databases are killed", async (t) => {
  const lines: string[] = [];
  const result = await transferBalances(fleet, {
    accounts: await createAccounts(fleet, 6),
    // Kills one of each kind, and has a repeated command and an amount that a second operator approves.
    seed: 13,
    transfers: 3,
    kills: 3,
    log: (line) => lines.push(line),
  });
  t.diagnostic(formatPart(result));
  assert.deepEqual(result.violations, [], lines.join("\n"));
  assert.match(result.lines.join("\n"), /1 approved.*\nkills: 1 of the command, 1 of a server, 1 of a database/);
});
