import type { CreatedKey, Key } from "@pennyblack/sdk";
import { type Command, Option } from "commander";
import { addExamples } from "./add-examples.ts";
import { addOptions, parseInteger } from "./common-options.ts";
import type { CommonOptions, Context } from "./context.ts";
import { findBudgetIds } from "./find-budget.ts";
import { findKeyId } from "./find-key.ts";
import { formatKey, formatKeys } from "./format-key.ts";
import { addKeySettings, type KeySettings, keepsPart, readKeySettings } from "./key-settings.ts";
import { type OutputOptions, outputSecret } from "./output-secret.ts";
import { formatTime, sanitize, table } from "./terminal.ts";
import { UsageError } from "./usage-error.ts";

type CreateOptions = OutputOptions & KeySettings & { name: string; mode: Key["mode"] };
type UpdateOptions = CommonOptions & KeySettings & { name?: string };
type RotateOptions = OutputOptions & { grace: number };
type RevokeOptions = CommonOptions & { yes?: boolean };

const outOption = ["--out <file>", "write the key to a new file readable only by you"] as const;
const keyArgument = ["<key>", "id or name of the key"] as const;

export function addKeyCommands(program: Command, context: Context): void {
  const keys = program.command("keys").description("manage the wallet's API keys");
  addExamples(keys, ["pennyblack keys list", "pennyblack keys create --name batch --per-day 1.00 --out batch.key"]);
  addReadCommands(keys, context);
  addChangeCommands(keys, context);
}

function addReadCommands(keys: Command, context: Context): void {
  const list = keys.command("list").description("list API keys");
  addOptions(list).action((options: CommonOptions) => listKeys(options, context));
  addExamples(list, ["pennyblack keys list", "pennyblack keys list --json | jq -r '.keys[].name'"]);

  const show = keys
    .command("show")
    .argument(...keyArgument)
    .description("show an API key's scopes, limits and budget");
  addOptions(show).action((key: string, options: CommonOptions) => showKey(key, options, context));
  addExamples(show, ["pennyblack keys show batch"]);
}

function addChangeCommands(keys: Command, context: Context): void {
  const create = keys
    .command("create")
    .description("create an API key, which is shown only once")
    .requiredOption("--name <name>", "a name for the key")
    .addOption(new Option("--mode <mode>", "type of key").choices(["live", "test", "mgmt"]).default("live"));
  addOptions(addKeySettings(create).option(...outOption)).action((options: CreateOptions) =>
    createKey(options, context),
  );
  addExamples(create, [
    "pennyblack keys create --name batch --per-day 1.00 --out batch.key",
    "pennyblack keys create --name ci --mode test --expires 2027-01-31",
    "pennyblack keys create --name support --block example.com forum.example.net",
  ]);

  const update = keys
    .command("update")
    .argument(...keyArgument)
    .description("change an API key's name, limits or budget")
    .option("--name <name>", "a new name for the key");
  addOptions(addKeySettings(update)).action((key: string, options: UpdateOptions) => updateKey(key, options, context));
  addExamples(update, [
    "pennyblack keys update batch --per-day 2.00",
    "pennyblack keys update batch --name nightly --total none --allow-ip 192.0.2.0/24",
  ]);

  const rotate = keys
    .command("rotate")
    .argument(...keyArgument)
    .description("replace an API key and show the new key once")
    .option("--grace <seconds>", "how long the old key keeps working", parseInteger, 86_400)
    .option(...outOption);
  addOptions(rotate).action((key: string, options: RotateOptions) => rotateKey(key, options, context));
  addExamples(rotate, ["pennyblack keys rotate batch --grace 3600 --out batch-2.key"]);

  const revoke = keys
    .command("revoke")
    .argument(...keyArgument)
    .description("permanently revoke an API key")
    .option("--yes", "confirm");
  addOptions(revoke).action((key: string, options: RevokeOptions) => revokeKey(key, options, context));
  addExamples(revoke, ["pennyblack keys revoke batch --yes"]);
}

async function listKeys(options: CommonOptions, { connect, print }: Context): Promise<void> {
  const keys = await Array.fromAsync(connect("manage", options).keys.list());
  if (options.json) return print(JSON.stringify({ keys }));
  if (keys.length === 0) return print("No API keys.");
  print(formatKeys(keys));
}

async function showKey(idOrName: string, options: CommonOptions, { connect, print }: Context): Promise<void> {
  const client = connect("manage", options);
  const key = await client.keys.get(await findKeyId(client, idOrName));
  print(options.json ? JSON.stringify(key) : table(formatKey(key)));
}

async function createKey(options: CreateOptions, context: Context): Promise<void> {
  const { name, mode, budget } = options;
  const settings = readKeySettings(options);
  const client = context.connect("manage", options);
  const budgets = budget && { budgets: await findBudgetIds(client, budget) };
  const created = await client.keys.create({ name, mode, ...settings, ...budgets });
  outputKey(created, options, context);
}

async function updateKey(idOrName: string, options: UpdateOptions, { connect, print }: Context): Promise<void> {
  const changes = { ...(options.name !== undefined && { name: options.name }), ...readKeySettings(options) };
  if (Object.keys(changes).length === 0 && !options.budget)
    throw new UsageError("No changes given. See: pennyblack keys update --help");
  const client = connect("manage", options);
  const id = await findKeyId(client, idOrName);
  const budgets = options.budget && { budgets: await findBudgetIds(client, options.budget) };
  const current = keepsPart(options) ? await client.keys.get(id) : {};
  const key = await client.keys.update(id, { ...changes, ...readKeySettings(options, current), ...budgets });
  print(options.json ? JSON.stringify(key) : table(formatKey(key)));
}

async function rotateKey(idOrName: string, options: RotateOptions, context: Context): Promise<void> {
  const client = context.connect("manage", options);
  const id = await findKeyId(client, idOrName);
  outputKey(await client.keys.rotate(id, { graceSeconds: options.grace }), options, context);
  const until = formatTime(new Date(Date.now() + options.grace * 1_000).toISOString());
  context.printInfo(options.grace === 0 ? "The old key has expired." : `The old key keeps working until ${until}.`);
}

async function revokeKey(idOrName: string, options: RevokeOptions, context: Context): Promise<void> {
  if (!options.yes) throw new UsageError("Revoking a key cannot be undone. Add --yes to confirm.");
  const client = context.connect("manage", options);
  const key = await client.keys.revoke(await findKeyId(client, idOrName));
  context.print(options.json ? JSON.stringify(key) : `Revoked: ${sanitize(key.name)} (${key.start}…)`);
}

function outputKey(created: CreatedKey, options: OutputOptions, context: Context): void {
  const { key, ...metadata } = created;
  outputSecret({ name: "key", id: created.id, value: key, response: created, metadata }, options, context);
}
