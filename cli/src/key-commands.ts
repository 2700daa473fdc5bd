import type { Key, MadeKey } from "@pennyblack/sdk";
import { type Command, Option } from "commander";
import type { Bench, CommonOptions } from "./bench.ts";
import { readUsd, readWhole, withAccess } from "./common-options.ts";
import { createPrivateFile } from "./private-file.ts";
import { harmless, table } from "./terminal.ts";
import { UsageError } from "./usage-error.ts";

interface MakeOptions extends CommonOptions {
  out?: string;
}

interface CreateOptions extends MakeOptions {
  name: string;
  mode: Key["mode"];
  perDay?: string;
  perMonth?: string;
  total?: string;
}

const outOption = ["--out <file>", "write the key to this new file, which only you can read"] as const;

export function addKeyCommands(program: Command, bench: Bench): void {
  const keys = program.command("keys").description("manage the wallet's keys");
  withAccess(keys.command("list").description("list the keys")).action((options: CommonOptions) =>
    list(options, bench),
  );
  const create = keys
    .command("create")
    .description("make a key; it is shown this once")
    .requiredOption("--name <name>", "yours to choose")
    .addOption(new Option("--mode <mode>", "what it is for").choices(["live", "test", "mgmt"]).default("live"))
    .option("--per-day <usd>", "what it may spend in a day", readUsd)
    .option("--per-month <usd>", "what it may spend in a month", readUsd)
    .option("--total <usd>", "what it may spend in all", readUsd)
    .option(...outOption);
  withAccess(create).action((options: CreateOptions) => createKey(options, bench));
  const rotate = keys
    .command("rotate <id>")
    .description("replace a key; the new one is shown this once")
    .option("--grace <seconds>", "how long the old key still works", readWhole, 86_400)
    .option(...outOption);
  withAccess(rotate).action((id: string, options: MakeOptions & { grace: number }) => rotateKey(id, options, bench));
  const revoke = keys.command("revoke <id>").description("end a key for good").option("--yes", "mean it");
  withAccess(revoke).action((id: string, options: CommonOptions & { yes?: boolean }) => revokeKey(id, options, bench));
}

async function list(options: CommonOptions, { connect, print }: Bench): Promise<void> {
  const keys: Key[] = [];
  for await (const key of connect("manage", options).keys.list()) keys.push(key);
  if (options.json) return print(JSON.stringify({ keys }));
  if (keys.length === 0) return print("There are no keys.");
  const rows = keys.map(({ id, start, mode, state, name }) => [id, `${start}…`, mode, state, harmless(name)]);
  print(table([["ID", "BEGINS", "MODE", "STATE", "NAME"], ...rows]));
}

async function createKey(options: CreateOptions, bench: Bench): Promise<void> {
  const { name, mode, perDay, perMonth, total } = options;
  const budget = { ...(perDay && { day: perDay }), ...(perMonth && { month: perMonth }), ...(total && { total }) };
  const hasBudget = Object.keys(budget).length > 0;
  const made = await bench.connect("manage", options).keys.create({ name, mode, ...(hasBudget && { budget }) });
  hand(made, options, bench);
}

async function rotateKey(id: string, options: MakeOptions & { grace: number }, bench: Bench): Promise<void> {
  const made = await bench.connect("manage", options).keys.rotate(id, { graceSeconds: options.grace });
  hand(made, options, bench);
  bench.remark(`The old key works for ${options.grace} s more.`);
}

async function revokeKey(id: string, options: CommonOptions & { yes?: boolean }, bench: Bench): Promise<void> {
  if (!options.yes) throw new UsageError("A revoked key cannot come back. Add --yes if you mean it.");
  const key = await bench.connect("manage", options).keys.revoke(id);
  bench.print(options.json ? JSON.stringify(key) : `Revoked: ${harmless(key.name)} (${key.start}…)`);
}

/** The key alone goes to stdout, so that it can be piped to where it belongs. */
function hand(made: MadeKey, { json, out }: MakeOptions, { print, remark }: Bench): void {
  const { key, ...others } = made;
  if (out !== undefined) {
    try {
      createPrivateFile(out, `${key}\n`);
    } catch (error) {
      // The key exists now, and would be lost.
      remark(`${out} could not be written (${(error as NodeJS.ErrnoException).code}), so the key is shown here.`);
      return print(json ? JSON.stringify(made) : key);
    }
    return json ? print(JSON.stringify({ ...others, file: out })) : remark(`The key ${made.id} is in ${out}.`);
  }
  if (!json) remark(`The key ${made.id}. It is shown this once:`);
  print(json ? JSON.stringify(made) : key);
}
