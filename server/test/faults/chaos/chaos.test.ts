import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { text } from "node:stream/consumers";
import { after, test } from "node:test";
import { createRandom } from "../random.ts";
import { lanes } from "./faults.ts";

// The short form of `npm run chaos`; docs/reliability.md describes the long one.

/** The cluster takes ten seconds or more to recover from each, so CI injects the others. */
const onlyInLongRuns = [
  "agent_killed",
  "agent_restarted",
  "back_end_killed",
  "disk_full",
  "etcd_member_killed",
  "primary_disconnected",
  "replica_killed",
  "replica_separated",
];
const kinds = Object.values(lanes)
  .flatMap(Object.keys)
  .filter((kind) => !onlyInLongRuns.includes(kind));

const script = new URL("./chaos.ts", import.meta.url).pathname;
const stopped = new AbortController();
after(() => stopped.abort());

async function runChaos(...args: string[]): Promise<{ code: number | null; out: string; progress: string }> {
  const child = spawn(process.execPath, [script, ...args], {
    stdio: ["ignore", "pipe", "pipe"],
    signal: stopped.signal,
  });
  child.on("error", () => undefined);
  const [out, progress] = await Promise.all([text(child.stdout), text(child.stderr), once(child, "close")]);
  return { code: child.exitCode, out, progress };
}

test("under many kinds of faults at once, each search is charged as its response reports", async (t) => {
  const only = kinds.flatMap((kind) => ["--only", kind]);
  const { code, out, progress } = await runChaos("--short", "--seed", "7", ...only);
  assert.equal(code, 0, `${progress}\n${out}`);
  t.diagnostic(out);
  assert.match(out, /^\| Violations \| 0 \|$/m);
  const skipped = [...out.matchAll(/^Skipped (\w+): /gm)].map(([, kind]) => kind);
  // A container may not be able to install a library.
  assert.deepEqual(
    skipped.filter((kind) => kind !== "clock_jump"),
    onlyInLongRuns.filter((kind) => skipped.includes(kind)),
  );
  for (const kind of kinds) if (!skipped.includes(kind)) assert.match(out, new RegExp(`^\\| ${kind} \\| [1-9]`, "m"));
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
