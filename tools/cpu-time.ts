import { readFileSync } from "node:fs";

/** Seconds of user and system time. Both are 0 where Linux's /proc is missing. */
export interface CpuTime {
  own: number;
  /** Of the processes that this one has started and waited for. */
  children: number;
}

export function readCpuTime(): CpuTime {
  try {
    // Fields 14 to 17, in hundredths of a second. The second field, the name of the program, can contain spaces.
    const fields = readFileSync("/proc/self/stat", "utf8").split(") ").at(-1)?.split(" ") ?? [];
    const sum = (first: number): number => (Number(fields[first]) + Number(fields[first + 1])) / 100;
    return { own: sum(11), children: sum(13) };
  } catch {
    return { own: 0, children: 0 };
  }
}
