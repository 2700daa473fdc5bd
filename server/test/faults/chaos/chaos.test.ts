import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { text } from "node:stream/consumers";
import { after, test } from "node:test";
import { createRandom } from "../random.ts";
import { lanes } from "./faults.ts";
import { findMissingPrograms } from "./find-missing-programs.ts";

// The short form of `npm run chaos`; docs/reliability.md describes the long one.

/** A database with several faults at once takes minutes to recover on a busy machine, so CI injects the others. */
const kinds = Object.entries(lanes).flatMap(([lane, faults]) => (lane === "database" ? [] : Object.keys(faults)));

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
  // A container may not be able to install a library.
  const isSkipped = (kind: string): boolean => kind === "clock_jump" && out.includes("\nSkipped clock_jump: ");
  for (const kind of kinds) if (!isSkipped(kind)) assert.match(out, new RegExp(`^\\| ${kind} \\| [1-9]`, "m"));
});

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

test("an unknown fault and missing programs are reported before anything starts", async () => {
  const unknown = await runChaos("--only", "etcd_dies");
  assert.equal(unknown.code, 2);
  assert.match(unknown.progress, /Unknown fault "etcd_dies", known are: server_killed/);
  assert.deepEqual(
    findMissingPrograms("/nowhere").filter(([program]) => ["etcd", "patroni"].includes(program)),
    [
      ["etcd", "etcd-server"],
      ["patroni", "patroni"],
    ],
  );
});
