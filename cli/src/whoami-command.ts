import type { Command } from "commander";
import { addExamples } from "./add-examples.ts";
import { addOptions } from "./common-options.ts";
import type { CommonOptions, Context } from "./context.ts";
import { formatKey } from "./format-key.ts";
import { table } from "./terminal.ts";

type WhoamiOptions = CommonOptions & { management?: boolean };

export function addWhoamiCommand(program: Command, context: Context): void {
  const whoami = program
    .command("whoami")
    .description("show the server and the API key in use, with its budget and the limits that apply to it")
    .option("--management", "show the management key instead of the search key");
  addOptions(whoami).action((options: WhoamiOptions) => printKey(options, context));
  addExamples(whoami, ["pennyblack whoami", "pennyblack whoami --management --profile work"]);
}

async function printKey(options: WhoamiOptions, { resolve, connect, print }: Context): Promise<void> {
  const kind = options.management ? "manage" : "search";
  const { baseUrl, source } = resolve(kind, options);
  const key = await connect(kind, options).key();
  if (options.json) return print(JSON.stringify({ server: baseUrl, source, ...key }));
  print(table([["Server", baseUrl], ["Key from", source], ...formatKey(key, key.effective_limits)]));
}
