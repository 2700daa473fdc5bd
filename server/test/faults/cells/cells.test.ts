import assert from "node:assert/strict";
import { test } from "node:test";
import { closeAfter } from "../../support/close-after.ts";
import { createAccounts, openFleet } from "./fleet.ts";
import { formatPart } from "./part-result.ts";
import { stopCell } from "./stop-cell.ts";
import { transferBalances } from "./transfer-balances.ts";

// The short form of `npm run chaos:cells`. docs/scaling.md has the results of the long one.

const fleet = closeAfter(await openFleet());
const holdLifetimeMs = 5_000;

test("if all processes of a cell are killed, only its accounts fail, and they are not charged", async (t) => {
  const result = await stopCell(fleet, {
    accounts: await createAccounts(fleet, 12),
    seed: 1,
    searchesPerSecond: 20,
    phaseMs: 3_000,
    maxP99Ratio: undefined,
    holdLifetimeMs,
  });
  t.diagnostic(formatPart(result));
  assert.deepEqual(result.violations, []);
});

test("a balance that is transferred arrives once if the command, servers and databases are killed", async (t) => {
  const lines: string[] = [];
  const result = await transferBalances(fleet, {
    accounts: await createAccounts(fleet, 6),
    seed: 1,
    transfers: 6,
    kills: 5,
    log: (line) => lines.push(line),
  });
  t.diagnostic(formatPart(result));
  assert.deepEqual(result.violations, [], lines.join("\n"));
});
