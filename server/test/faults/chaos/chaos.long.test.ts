import assert from "node:assert/strict";
import { test } from "node:test";
import { runChaos } from "./run-script.ts";

test("a run whose database does not recover audits every node", async () => {
  const options = ["--times", "1", "--only", "postgres_killed", "--recovery", "0", "--rate", "30", "--clients", "4"];
  const { code, out, progress } = await runChaos("failover", "--fast", "--disk", "640", "--seed", "3", ...options);
  assert.equal(code, 1, progress);
  assert.match(progress, /^seed 3$/m);
  assert.match(out, /the database did not recover: Not within 0 ms/);
  const nodes = [...out.matchAll(/^(db[123]).*: (\d+) of [1-9]\d* paid searches are not in its ledger$/gm)];
  assert.deepEqual(
    nodes.map(([, name]) => name),
    ["db1", "db2", "db3"],
    out,
  );
  assert.ok(
    nodes.some(([, , lost]) => lost === "0"),
    out,
  );
});
