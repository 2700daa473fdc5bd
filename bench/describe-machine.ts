import { spawnSync } from "node:child_process";
import { statfsSync } from "node:fs";
import { availableParallelism, cpus, loadavg, release, totalmem } from "node:os";

const tmpfsMagic = 0x01021994;

/** What a reader must know to believe, or to repeat, the numbers below it. */
export function describeMachine(folder: string): string {
  const model = cpus()[0]?.model ?? "unknown processor";
  const memoryGib = Math.round(totalmem() / 2 ** 30);
  const load = loadavg()[0] ?? 0;
  const isMemory = statfsSync(folder).type === tmpfsMagic;
  return [
    `Machine   ${availableParallelism()} cores, ${model}, ${memoryGib} GiB, Linux ${release()}`,
    `Load      ${load.toFixed(2)} before the start${load > 0.5 ? " (NOT QUIET: believe the ratios more than the rates)" : ""}`,
    ...(isMemory ? [`Disk      ${folder} is memory, so commits cost nothing here: set TMPDIR to a real disk`] : []),
    `Repeat    npm run bench${process.argv.length > 2 ? ` -- ${process.argv.slice(2).join(" ")}` : ""}`,
  ].join("\n");
}

/** The first line in which a program tells its version, wherever it tells it. */
export function readVersion(program: string, flag: string): string {
  const { stdout, stderr } = spawnSync(program, [flag], { encoding: "utf8" });
  const text = `${stdout ?? ""}${stderr ?? ""}`;
  return /\d+\.\d+(?:\.\d+)?/.exec(text)?.[0] ?? "unknown";
}
