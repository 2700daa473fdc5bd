import assert from "node:assert/strict";
import { test } from "node:test";
import { createRandom } from "../random.ts";
import { lanes } from "./faults.ts";
import { runChaos } from "./run-script.ts";

// The short form of `npm run chaos`; docs/reliability.md describes the long one.

/** A database with several faults at once takes minutes to recover on a busy machine, so CI injects the others. */
const kinds = Object.entries(lanes).flatMap(([lane, faults]) => (lane === "database" ? [] : Object.keys(faults)));

test("under many kinds of faults at once, each search is charged as its response reports", async (t) => {
  const only = kinds.flatMap((kind) => ["--only", kind]);
  // Continues until each kind was injected.
  const { code, out, progress } = await runChaos("--short", "--minutes", "0.2", "--seed", "7", ...only);
  assert.equal(code, 0, `${progress}\n${out}`);
  t.diagnostic(out);
  assert.match(out, /^\| Violations \| 0 \|$/m);
  // A container may not be able to install a library.
  const isSkipped = (kind: string): boolean => kind === "clock_jump" && out.includes("\nSkipped clock_jump: ");
  for (const kind of kinds) if (!isSkipped(kind)) assert.match(out, new RegExp(`^\\| ${kind} \\| [1-9]`, "m"));
});

test("an unknown option is rejected before anything starts", async () => {
  const { code, progress } = await runChaos("--sede", "7");
  assert.equal(code, 2);
  assert.match(progress, /--sede.*npm run chaos -- --help/s);
});

test("the same seed selects the same faults, another seed different ones", () => {
  const draw = (seed: number): string[] => createRandom(seed, "database").shuffle(Object.keys(lanes["database"] ?? {}));
  const draws = [1, 2, 3, 4, 5, 6, 7, 8].map((seed) => draw(seed).join(" "));
  assert.equal(draw(7).join(" "), draws[6]);
  assert.ok(new Set(draws).size > 1);
});

test("an unknown fault is reported before anything starts", async () => {
  const { code, progress } = await runChaos("--only", "etcd_dies");
  assert.equal(code, 2);
  assert.match(progress, /Unknown fault "etcd_dies", known are: server_killed/);
});
