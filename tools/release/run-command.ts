import { execFileSync } from "node:child_process";

/** Runs a command of a publishing step, or with --dry-run only prints it. Returns what it printed. */
export type RunCommand = (program: string, ...args: string[]) => string;

export function createRunner(isDryRun: boolean, cwd: string): RunCommand {
  return (program, ...args) => {
    console.log(`${isDryRun ? "would run" : "running"}: ${[program, ...args].map(quote).join(" ")}`);
    if (isDryRun) return "";
    return execFileSync(program, args, { cwd, encoding: "utf8", stdio: ["ignore", "pipe", "inherit"] }).trim();
  };
}

function quote(word: string): string {
  return /^[\w@%+=:,./*-]+$/.test(word) ? word : `'${word}'`;
}
