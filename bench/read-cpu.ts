import { readdirSync, readFileSync } from "node:fs";

// Linux counts a process' CPU time in hundredths of a second, in user and in kernel mode.
// https://man7.org/linux/man-pages/man5/proc_pid_stat.5.html
const tickMicroseconds = 10_000;

/** What a process has used so far. */
export function readCpuMicroseconds(pid: number): number {
  return readProcess(pid)?.ownMicroseconds ?? 0;
}

/** What a process and all its children have used, those that have ended included: the postmaster waits for each. */
export function readFamilyCpuMicroseconds(pid: number): number {
  const parent = readProcess(pid);
  if (parent === undefined) return 0;
  const children = readdirSync("/proc")
    .filter((name) => /^\d+$/.test(name))
    .map((name) => readProcess(Number(name)))
    .filter((each) => each?.parent === pid);
  const living = children.reduce((sum, child) => sum + (child?.ownMicroseconds ?? 0), 0);
  return parent.ownMicroseconds + parent.endedChildrenMicroseconds + living;
}

interface ProcessTimes {
  parent: number;
  ownMicroseconds: number;
  endedChildrenMicroseconds: number;
}

/** Undefined if it ended between the list and the look. */
function readProcess(pid: number): ProcessTimes | undefined {
  let text: string;
  try {
    text = readFileSync(`/proc/${pid}/stat`, "utf8");
  } catch {
    return undefined;
  }
  // The second field is the program's name in brackets, and may itself hold spaces and brackets.
  const fields = text.slice(text.lastIndexOf(")") + 2).split(" ");
  const ticks = (field: number): number => Number(fields[field - 3]) * tickMicroseconds;
  return {
    parent: Number(fields[1]),
    ownMicroseconds: ticks(14) + ticks(15),
    endedChildrenMicroseconds: ticks(16) + ticks(17),
  };
}
