import { Pennyblack, type ResponseEvent } from "@pennyblack/sdk";
import { Command } from "commander";
import { addActivityCommand } from "./activity-command.ts";
import { addExamples } from "./add-examples.ts";
import { addAlertCommands } from "./alert-commands.ts";
import { addApplyCommand } from "./apply/apply-command.ts";
import { addBudgetCommands } from "./budget-commands.ts";
import { addCompletionCommands } from "./completion-commands.ts";
import type { Context } from "./context.ts";
import { resolveCredentials } from "./credentials.ts";
import { describeRetry } from "./describe-retry.ts";
import { addEntryCommands } from "./entry-commands.ts";
import { addKeyCommands } from "./key-commands.ts";
import { addLensCommand } from "./lens-command.ts";
import { addProfileCommands } from "./profile-commands.ts";
import { profilesPath } from "./profiles.ts";
import { rankingsFolder } from "./saved-rankings.ts";
import { addSearchCommand } from "./search-command.ts";
import { addSearchesCommand } from "./searches-command.ts";
import { createTerminal } from "./terminal.ts";
import { addWalletCommands } from "./wallet-commands.ts";
import { addWebhookCommands } from "./webhook-commands.ts";
import { addWhoamiCommand } from "./whoami-command.ts";
import { addWhyCommand } from "./why-command.ts";

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
  2  invalid command; nothing was sent (apply --plan: there are changes)
  3  failed, not charged; retrying may succeed
  4  no response; the search may have been charged
  5  insufficient balance or budget spent; not charged

API keys are read from --key-file, PENNYBLACK_API_KEY (PENNYBLACK_MANAGEMENT_KEY for commands
other than search and whoami) or a profile. They cannot be passed as arguments, which other users
could see.`;

export function createProgram({ env, stdin, stdout, stderr }: ProgramOptions): Command {
  const path = profilesPath(env);
  const resolve: Context["resolve"] = (kind, options) => resolveCredentials(kind, options, { env, path });
  const reportRetry = (event: ResponseEvent): void => {
    if (event.retryInMs !== undefined) stderr.write(`${describeRetry(event, event.retryInMs)}\n`);
  };
  const context: Context = {
    env,
    stdin,
    terminal: createTerminal(stdout, env),
    profilesPath: path,
    rankingsFolder: rankingsFolder(env),
    resolve,
    connect(kind, options) {
      const { apiKey, baseUrl } = resolve(kind, options);
      return new Pennyblack({ apiKey, baseUrl, ...(stderr.isTTY && !options.json && { onResponse: reportRetry }) });
    },
    print: (text) => void stdout.write(`${text}\n`),
    printInfo: (text) => void stderr.write(`${text}\n`),
  };
  const program = new Command("pennyblack")
    .description("Prepaid web search: 0.01 USD per search, charged only on success.")
    .version("0.0.0")
    .configureOutput({
      writeOut: (text) => void stdout.write(text),
      writeErr: (text) => void stderr.write(text),
    })
    .exitOverride();
  addExamples(program, [
    'pennyblack search "postgresql advisory locks" -n 5',
    "pennyblack wallet",
    "pennyblack keys list",
  ]);
  program.addHelpText("after", exitCodesHelp);
  addSearchCommand(program, context);
  addSearchesCommand(program, context);
  addWhyCommand(program, context);
  addLensCommand(program, context);
  addWhoamiCommand(program, context);
  addWalletCommands(program, context);
  addAlertCommands(program, context);
  addEntryCommands(program, context);
  addKeyCommands(program, context);
  addBudgetCommands(program, context);
  addActivityCommand(program, context);
  addApplyCommand(program, context);
  addWebhookCommands(program, context);
  addProfileCommands(program, context);
  addCompletionCommands(program, context);
  return program;
}
