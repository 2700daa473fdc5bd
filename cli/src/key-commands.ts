import type { CreatedKey, Key } from "@pennyblack/sdk";
import { type Command, Option } from "commander";
import { addOptions, parseInteger, parseUsd } from "./common-options.ts";
import type { CommonOptions, Context } from "./context.ts";
import { createPrivateFile } from "./private-file.ts";
import { sanitize, table } from "./terminal.ts";
import { UsageError } from "./usage-error.ts";

interface OutputOptions extends CommonOptions {
  out?: string;
}

interface CreateOptions extends OutputOptions {
  name: string;
  mode: Key["mode"];
  perDay?: string;
  perMonth?: string;
  total?: string;
}

type RotateOptions = OutputOptions & { grace: number };
type RevokeOptions = CommonOptions & { yes?: boolean };

const outOption = ["--out <file>", "write the key to a new file readable only by you"] as const;

export function addKeyCommands(program: Command, context: Context): void {
  const keys = program.command("keys").description("manage the wallet's API keys");
  addOptions(keys.command("list").description("list API keys")).action((options: CommonOptions) =>
    listKeys(options, context),
  );
  const create = keys
    .command("create")
    .description("create an API key; it is shown only once")
    .requiredOption("--name <name>", "a name for the key")
    .addOption(new Option("--mode <mode>", "type of key").choices(["live", "test", "mgmt"]).default("live"))
    .option("--per-day <usd>", "daily budget", parseUsd)
    .option("--per-month <usd>", "monthly budget", parseUsd)
    .option("--total <usd>", "total budget", parseUsd)
    .option(...outOption);
  addOptions(create).action((options: CreateOptions) => createKey(options, context));
  const rotate = keys
    .command("rotate <id>")
    .description("replace an API key; the new key is shown only once")
    .option("--grace <seconds>", "how long the old key keeps working", parseInteger, 86_400)
    .option(...outOption);
  addOptions(rotate).action((id: string, options: RotateOptions) => rotateKey(id, options, context));
  const revoke = keys.command("revoke <id>").description("permanently revoke an API key").option("--yes", "confirm");
  addOptions(revoke).action((id: string, options: RevokeOptions) => revokeKey(id, options, context));
}

async function listKeys(options: CommonOptions, { connect, print }: Context): Promise<void> {
  const keys: Key[] = [];
  for await (const key of connect("manage", options).keys.list()) keys.push(key);
  if (options.json) return print(JSON.stringify({ keys }));
  if (keys.length === 0) return print("No API keys.");
  const rows = keys.map(({ id, start, mode, state, name }) => [id, `${start}…`, mode, state, sanitize(name)]);
  print(table([["ID", "KEY", "MODE", "STATE", "NAME"], ...rows]));
}

async function createKey(options: CreateOptions, context: Context): Promise<void> {
  const { name, mode, perDay, perMonth, total } = options;
  const budget = { ...(perDay && { day: perDay }), ...(perMonth && { month: perMonth }), ...(total && { total }) };
  const hasBudget = Object.keys(budget).length > 0;
  const created = await context.connect("manage", options).keys.create({ name, mode, ...(hasBudget && { budget }) });
  outputKey(created, options, context);
}

async function rotateKey(id: string, options: RotateOptions, context: Context): Promise<void> {
  const created = await context.connect("manage", options).keys.rotate(id, { graceSeconds: options.grace });
  outputKey(created, options, context);
  context.printInfo(`The old key keeps working for ${options.grace} s.`);
}

async function revokeKey(id: string, options: RevokeOptions, context: Context): Promise<void> {
  if (!options.yes) throw new UsageError("Revoking a key cannot be undone. Add --yes to confirm.");
  const key = await context.connect("manage", options).keys.revoke(id);
  context.print(options.json ? JSON.stringify(key) : `Revoked: ${sanitize(key.name)} (${key.start}…)`);
}

/** Writes only the key to stdout, so that it can be piped. */
function outputKey(created: CreatedKey, { json, out }: OutputOptions, { print, printInfo }: Context): void {
  const { key, ...metadata } = created;
  if (out !== undefined) {
    try {
      createPrivateFile(out, `${key}\n`);
    } catch (error) {
      // The key was already created and would otherwise be lost.
      printInfo(`Could not write ${out} (${(error as NodeJS.ErrnoException).code}). Printing the key instead.`);
      return print(json ? JSON.stringify(created) : key);
    }
    return json ? print(JSON.stringify({ ...metadata, file: out })) : printInfo(`Saved key ${created.id} to ${out}.`);
  }
  if (!json) printInfo(`Created key ${created.id}. Save it now; it will not be shown again.`);
  print(json ? JSON.stringify(created) : key);
}
