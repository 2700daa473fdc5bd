import { Pennyblack } from "@pennyblack/sdk";
import { Command } from "commander";
import type { Bench } from "./bench.ts";
import { findAccess } from "./find-access.ts";
import { addKeyCommands } from "./key-commands.ts";
import { addProfileCommands } from "./profile-commands.ts";
import { profilesPath } from "./profiles.ts";
import { addSearchCommand } from "./search-command.ts";
import { describeTerminal } from "./terminal.ts";
import { addWalletCommands } from "./wallet-commands.ts";

/** What the process has and a test may replace. */
export interface Surroundings {
  env: NodeJS.ProcessEnv;
  stdin: NodeJS.ReadStream;
  stdout: NodeJS.WriteStream;
  stderr: NodeJS.WriteStream;
}

const exitCodesHelp = `
Exit codes:
  0  it worked
  1  it failed, nothing was charged, and the same command will fail again
  2  the command was wrong; nothing was sent
  3  it failed, nothing was charged, and it may work later
  4  no answer came; whether the search was charged is not known
  5  the wallet is short or a budget is spent; nothing was charged

A key comes from --key-file, from PENNYBLACK_API_KEY (PENNYBLACK_MANAGEMENT_KEY for all but
search) or from a profile, and never from an argument, where others could see it.`;

export function createProgram({ env, stdin, stdout, stderr }: Surroundings): Command {
  const path = profilesPath(env);
  const bench: Bench = {
    env,
    stdin,
    terminal: describeTerminal(stdout, env),
    profilesPath: path,
    connect: (kind, options) => new Pennyblack(findAccess(kind, options, { env, path })),
    print: (text) => void stdout.write(`${text}\n`),
    remark: (text) => void stderr.write(`${text}\n`),
  };
  const program = new Command("pennyblack")
    .description("Prepaid web search: one cent a search, charged only when it works.")
    .version("0.1.0")
    .exitOverride()
    .addHelpText("after", exitCodesHelp);
  addSearchCommand(program, bench);
  addWalletCommands(program, bench);
  addKeyCommands(program, bench);
  addProfileCommands(program, bench);
  return program;
}
