import { spawnSync } from "node:child_process";
import { statfsSync } from "node:fs";
import { availableParallelism, cpus, loadavg, release, totalmem } from "node:os";

const tmpfsMagic = 0x01021994;

/** Describes the machine and the command, so that the results can be judged and reproduced. */
export function describeMachine(folder: string): string {
  const model = cpus()[0]?.model ?? "unknown processor";
  const memoryGib = Math.round(totalmem() / 2 ** 30);
  const load = loadavg()[0] ?? 0;
  const isTmpfs = statfsSync(folder).type === tmpfsMagic;
  return [
    `Machine   ${availableParallelism()} cores, ${model}, ${memoryGib} GiB, Linux ${release()}`,
    `Load avg  ${load.toFixed(2)} at start${load > 0.5 ? " (machine was busy: trust the ratios more than the rates)" : ""}`,
    ...(isTmpfs ? [`Disk      ${folder} is a tmpfs, so commits are free: set TMPDIR to a folder on disk`] : []),
    `Command   npm run bench${process.argv.length > 2 ? ` -- ${process.argv.slice(2).join(" ")}` : ""}`,
  ].join("\n");
}

/** Finds the version in a program's output, on stdout or stderr. */
export function readVersion(program: string, flag: string): string {
  const { stdout, stderr } = spawnSync(program, [flag], { encoding: "utf8" });
  const text = `${stdout ?? ""}${stderr ?? ""}`;
  return /\d+\.\d+(?:\.\d+)?/.exec(text)?.[0] ?? "unknown";
}
