import { createInterface } from "node:readline/promises";
import { Writable } from "node:stream";
import { text } from "node:stream/consumers";
import type { Command } from "commander";
import { addExamples } from "./add-examples.ts";
import type { Context } from "./context.ts";
import { readKeyFile } from "./credentials.ts";
import { readProfiles, removeProfile, saveKey } from "./profiles.ts";
import { table } from "./terminal.ts";
import { UsageError } from "./usage-error.ts";

export function addProfileCommands(program: Command, context: Context): void {
  const { profilesPath: path, print } = context;
  const profiles = program.command("profiles").description("manage saved servers and API keys");
  addExamples(profiles, ["pennyblack profiles list", "pennyblack search cats --profile work"]);
  const list = profiles
    .command("list")
    .description("list profiles without their keys")
    .action(() => {
      const saved = Object.entries(readProfiles(path));
      const rows = saved.map(([name, { url, keys }]) => [name, url, Object.keys(keys).join(", ")]);
      print(rows.length === 0 ? "No profiles." : table([["NAME", "SERVER", "KEYS"], ...rows]));
    });
  addExamples(list, ["pennyblack profiles list"]);
  const save = profiles
    .command("save")
    .argument("[name]", "profile name", "default")
    .description("read an API key from stdin and save it in a profile")
    .option("--url <url>", "base URL of the Pennyblack server")
    .option("--key-file <file>", "read the key from a file instead of stdin")
    .action(async (name: string, options: { url?: string; keyFile?: string }) => {
      const url = options.url ?? readProfiles(path)[name]?.url ?? context.env["PENNYBLACK_URL"];
      if (!url || !URL.canParse(url)) throw new UsageError("No valid server URL. Pass --url https://...");
      const key = options.keyFile === undefined ? await readKey(context) : readKeyFile(options.keyFile);
      const kind = saveKey(path, name, { url, key });
      print(`Saved the ${kind} key to profile "${name}" in ${path}.`);
    });
  addExamples(save, [
    "pennyblack profiles save --url https://search.example.com",
    "pennyblack profiles save work --key-file management.key",
  ]);
  const remove = profiles
    .command("remove")
    .argument("<name>", "profile name")
    .description("delete a profile and its keys")
    .action((name: string) => {
      removeProfile(path, name);
      print(`Removed profile "${name}".`);
    });
  addExamples(remove, ["pennyblack profiles remove work"]);
}

/** Reads the key from a pipe, or from a prompt without echo. */
async function readKey({ stdin, printInfo }: Context): Promise<string> {
  if (!stdin.isTTY) return (await text(stdin)).trim();
  printInfo("Paste the key and press Enter. Input is hidden.");
  const discard = new Writable({ write: (_chunk, _encoding, done) => done() });
  const lines = createInterface({ input: stdin, output: discard, terminal: true });
  try {
    return (await lines.question("")).trim();
  } finally {
    lines.close();
  }
}
