import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { text } from "node:stream/consumers";
import { after, test } from "node:test";
import { lanes } from "./faults.ts";
import { createRandom } from "./random.ts";

// The short form of `npm run chaos`. The long one is in docs/reliability.md.

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

test("every kind of fault at once, and each search is paid as its caller was told", async (t) => {
  const { code, out, progress } = await runChaos("--short", "--seed", "7");
  assert.equal(code, 0, `${progress}\n${out}`);
  t.diagnostic(out);
  assert.match(out, /^\| Violations \| 0 \|$/m);
  const skipped = [...out.matchAll(/^Skipped (\w+): /gm)].map(([, kind]) => kind);
  // A container may not be allowed to mount a disk or to install a library.
  assert.deepEqual(
    skipped.filter((kind) => kind !== "disk_full" && kind !== "clock_jump"),
    [],
  );
  for (const kind of Object.values(lanes).flatMap(Object.keys))
    if (!skipped.includes(kind)) assert.match(out, new RegExp(`^\\| ${kind} \\| [1-9]`, "m"));
});

test("an option that does not exist is refused before anything starts", async () => {
  const { code, progress } = await runChaos("--sede", "7");
  assert.equal(code, 2);
  assert.match(progress, /--sede.*npm run chaos -- --help/s);
});

test("the same seed draws the same faults, another seed others", () => {
  const draw = (seed: number): string[] => createRandom(seed, "database").shuffle(Object.keys(lanes["database"] ?? {}));
  const draws = [1, 2, 3, 4, 5, 6, 7, 8].map((seed) => draw(seed).join(" "));
  assert.equal(draw(7).join(" "), draws[6]);
  assert.ok(new Set(draws).size > 1);
});
