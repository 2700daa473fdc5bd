import { createInterface } from "node:readline/promises";
import { Writable } from "node:stream";
import { text } from "node:stream/consumers";
import type { Command } from "commander";
import type { Bench } from "./bench.ts";
import { readKeyFile } from "./find-access.ts";
import { readProfiles, removeProfile, saveKey } from "./profiles.ts";
import { table } from "./terminal.ts";
import { UsageError } from "./usage-error.ts";

export function addProfileCommands(program: Command, bench: Bench): void {
  const { profilesPath: path, print } = bench;
  const profiles = program.command("profiles").description("save servers and keys, in a file that only you can read");
  profiles
    .command("list")
    .description("list what is saved, without the keys")
    .action(() => {
      const saved = Object.entries(readProfiles(path));
      const rows = saved.map(([name, { url, keys }]) => [name, url, Object.keys(keys).join(", ")]);
      print(rows.length === 0 ? "There are no profiles." : table([["NAME", "SERVER", "KEYS"], ...rows]));
    });
  profiles
    .command("save [name]")
    .description('save a key, read from stdin, under a name ("default" if left out)')
    .option("--url <address>", "the address of the server")
    .option("--key-file <file>", "read the key from this file instead")
    .action(async (given: string | undefined, options: { url?: string; keyFile?: string }) => {
      const name = given ?? "default";
      const url = options.url ?? readProfiles(path)[name]?.url ?? bench.env["PENNYBLACK_URL"];
      if (!url || !URL.canParse(url)) throw new UsageError("Which server is the key for? Pass --url https://...");
      const key = options.keyFile === undefined ? await askForKey(bench) : readKeyFile(options.keyFile);
      const kind = saveKey(path, name, { url, key });
      print(`Saved in ${path}: profile "${name}", a key to ${kind}.`);
    });
  profiles
    .command("remove <name>")
    .description("forget a profile and its keys")
    .action((name: string) => {
      removeProfile(path, name);
      print(`Removed: profile "${name}".`);
    });
}

/** From a pipe, or typed by a person without being seen. */
async function askForKey({ stdin, remark }: Bench): Promise<string> {
  if (!stdin.isTTY) return (await text(stdin)).trim();
  remark("Paste the key and press Enter. It is not shown.");
  const nowhere = new Writable({ write: (_chunk, _encoding, done) => done() });
  const lines = createInterface({ input: stdin, output: nowhere, terminal: true });
  try {
    return (await lines.question("")).trim();
  } finally {
    lines.close();
  }
}
