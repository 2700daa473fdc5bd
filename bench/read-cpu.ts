import { readdirSync, readFileSync } from "node:fs";

// Linux counts user and kernel CPU time in hundredths of a second.
// https://man7.org/linux/man-pages/man5/proc_pid_stat.5.html
const tickMicroseconds = 10_000;

/** The CPU time of a process. */
export function readCpuMicroseconds(pid: number): number {
  return readProcess(pid)?.ownMicroseconds ?? 0;
}

/** The CPU time of a process with one thread, such as PostgreSQL's. Not in ticks, so that it can measure one statement. */
export function readMainThreadMicroseconds(pid: number): number {
  return Number(readFileSync(`/proc/${pid}/schedstat`, "utf8").split(" ", 1)[0]) / 1_000;
}

/** The CPU time of a process and its children, including exited ones (the postmaster reaps each of them). */
export function readTreeCpuMicroseconds(pid: number): number {
  const parent = readProcess(pid);
  if (parent === undefined) return 0;
  const children = readdirSync("/proc")
    .filter((name) => /^\d+$/.test(name))
    .map((name) => readProcess(Number(name)))
    .filter((each) => each?.parent === pid);
  const running = children.reduce((sum, child) => sum + (child?.ownMicroseconds ?? 0), 0);
  return parent.ownMicroseconds + parent.endedChildrenMicroseconds + running;
}

interface ProcessTimes {
  parent: number;
  ownMicroseconds: number;
  endedChildrenMicroseconds: number;
}

/** Undefined if the process has exited. */
function readProcess(pid: number): ProcessTimes | undefined {
  let text: string;
  try {
    text = readFileSync(`/proc/${pid}/stat`, "utf8");
  } catch {
    return undefined;
  }
  // The second field is the program name in parentheses, and may itself contain spaces and parentheses.
  const fields = text.slice(text.lastIndexOf(")") + 2).split(" ");
  const ticks = (field: number): number => Number(fields[field - 3]) * tickMicroseconds;
  return {
    parent: Number(fields[1]),
    ownMicroseconds: ticks(14) + ticks(15),
    endedChildrenMicroseconds: ticks(16) + ticks(17),
  };
}
