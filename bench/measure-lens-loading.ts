import { execFileSync } from "node:child_process";
import { fileURLToPath } from "node:url";
import { formatTable } from "./format-table.ts";
import { summarize } from "./summarize.ts";

const variants = [
  ["lenses and registries", "lenses", []],
  ["lenses only", "lenses_only", ["without-registries"]],
] as const;

/** The start-up time and memory of the lenses, each time in a new process, because a second load would be faster. */
export function measureLensLoading(rounds: number): Record<string, number> {
  const figures = variants.map(([name, key, args]) => {
    const loads = Array.from({ length: rounds }, () => loadOnce(args));
    const ms = summarize(loads.map((load) => load.ms));
    const mb = summarize(loads.map(({ bytes }) => bytes / 1_000_000));
    return { name, key, ms, mb };
  });
  const rows = figures.map(({ name, ms, mb }) => [
    name,
    ms.median.toFixed(0),
    `${ms.min.toFixed(0)}..${ms.max.toFixed(0)}`,
    mb.median.toFixed(1),
  ]);
  console.log(`${formatTable(["loading", "ms", "min..max", "heap MB"], rows)}\n`);
  return Object.fromEntries(
    figures.flatMap(({ key, ms, mb }) => [
      [`${key}_load_ms`, Number(ms.median.toFixed(1))],
      [`${key}_heap_mb`, Number(mb.median.toFixed(1))],
    ]),
  );
}

function loadOnce(args: readonly string[]): { ms: number; bytes: number } {
  const script = fileURLToPath(new URL("load-lenses.ts", import.meta.url));
  const output = execFileSync(process.execPath, ["--expose-gc", script, ...args], { encoding: "utf8" });
  return JSON.parse(output) as { ms: number; bytes: number };
}
