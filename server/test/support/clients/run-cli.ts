import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Readable } from "node:stream";
import { runProgram } from "../../../../cli/src/run-program.ts";

export interface CliRun {
  code: number;
  out: string;
  err: string;
}

/** Runs the CLI in this process. Its environment is empty except for a home folder. */
export function createCli() {
  const home = mkdtempSync(join(tmpdir(), "pennyblack-cli-"));
  const folders = { XDG_CONFIG_HOME: join(home, "config"), XDG_STATE_HOME: join(home, "state") };
  return {
    home,
    ...folders,
    run: async (
      args: readonly string[],
      env: Record<string, string> = {},
      { isTerminal = false } = {},
    ): Promise<CliRun> => {
      const [stdout, stderr] = [createStream(isTerminal), createStream(isTerminal)];
      const stdin = Readable.from([]) as NodeJS.ReadStream;
      const code = await runProgram(args, {
        env: { ...folders, ...env },
        stdin,
        stdout: stdout.stream,
        stderr: stderr.stream,
      });
      return { code, out: stdout.read(), err: stderr.read() };
    },
    remove: () => rmSync(home, { recursive: true }),
  };
}

/** A stream that collects its text. */
function createStream(isTTY: boolean) {
  let written = "";
  const write = (text: string): boolean => {
    written += text;
    return true;
  };
  return { stream: { write, isTTY, columns: 100 } as NodeJS.WriteStream, read: () => written };
}
