import { Pennyblack } from "@pennyblack/sdk";
import { Command } from "commander";
import type { Context } from "./context.ts";
import { resolveCredentials } from "./credentials.ts";
import { addKeyCommands } from "./key-commands.ts";
import { addProfileCommands } from "./profile-commands.ts";
import { profilesPath } from "./profiles.ts";
import { addSearchCommand } from "./search-command.ts";
import { createTerminal } from "./terminal.ts";
import { addWalletCommands } from "./wallet-commands.ts";

export interface ProgramOptions {
  env: NodeJS.ProcessEnv;
  stdin: NodeJS.ReadStream;
  stdout: NodeJS.WriteStream;
  stderr: NodeJS.WriteStream;
}

const exitCodesHelp = `
Exit codes:
  0  success
  1  failed, not charged; retrying will fail again
  2  invalid command; nothing was sent
  3  failed, not charged; retrying may succeed
  4  no response; the search may have been charged
  5  insufficient balance or budget spent; not charged

API keys are read from --key-file, PENNYBLACK_API_KEY (PENNYBLACK_MANAGEMENT_KEY for commands
other than search) or a profile. They cannot be passed as arguments, which other users could see.`;

export function createProgram({ env, stdin, stdout, stderr }: ProgramOptions): Command {
  const path = profilesPath(env);
  const context: Context = {
    env,
    stdin,
    terminal: createTerminal(stdout, env),
    profilesPath: path,
    connect: (kind, options) => new Pennyblack(resolveCredentials(kind, options, { env, path })),
    print: (text) => void stdout.write(`${text}\n`),
    printInfo: (text) => void stderr.write(`${text}\n`),
  };
  const program = new Command("pennyblack")
    .description("Prepaid web search: 0.01 USD per search, charged only on success.")
    .version("0.1.0")
    .exitOverride()
    .addHelpText("after", exitCodesHelp);
  addSearchCommand(program, context);
  addWalletCommands(program, context);
  addKeyCommands(program, context);
  addProfileCommands(program, context);
  return program;
}
