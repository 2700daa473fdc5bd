import type { EventType, Webhook } from "@pennyblack/sdk";
import { type Command, Option } from "commander";
import { addExamples } from "./add-examples.ts";
import { addOptions } from "./common-options.ts";
import type { CommonOptions, Context } from "./context.ts";
import { addDeliveryCommands } from "./delivery-commands.ts";
import { type OutputOptions, outputSecret } from "./output-secret.ts";
import { formatTime, sanitize, table } from "./terminal.ts";
import { UsageError } from "./usage-error.ts";

interface CreateOptions extends OutputOptions {
  event?: EventType[];
  description?: string;
}

interface UpdateOptions extends CommonOptions {
  endpoint?: string;
  event?: EventType[];
  description?: string;
  enable?: boolean;
  disable?: boolean;
}

type DeleteOptions = CommonOptions & { yes?: boolean };

// As the keys of an object, because the compiler then reports a missing event.
const eventTypes: Record<EventType, true> = {
  "wallet.low_balance": true,
  "wallet.depleted": true,
  "top_up.succeeded": true,
  "top_up.failed": true,
  "key.created": true,
  "key.rotated": true,
  "key.revoked": true,
  "key.budget_spent": true,
  "budget.threshold": true,
  "budget.spent": true,
  "budget.increase_requested": true,
  "service.incident": true,
};

const outOption = ["--out <file>", "write the secret to a new file readable only by you"] as const;
const idArgument = ["<id>", "id of the webhook"] as const;

export function addWebhookCommands(program: Command, context: Context): void {
  const webhooks = program.command("webhooks").description("manage webhooks and their deliveries");
  addExamples(webhooks, [
    "pennyblack webhooks list",
    "pennyblack webhooks create https://example.com/hooks --event wallet.low_balance --out hook.secret",
  ]);
  const list = webhooks.command("list").description("list webhooks");
  addOptions(list).action((options: CommonOptions) => listWebhooks(options, context));
  addExamples(list, ["pennyblack webhooks list"]);
  addCreateCommand(webhooks, context);
  addChangeCommands(webhooks, context);
  addDeliveryCommands(webhooks, context);
}

function addCreateCommand(webhooks: Command, context: Context): void {
  const create = webhooks
    .command("create")
    .argument("<endpoint>", "https URL that receives the events")
    .description("create a webhook and show its signing secret once")
    .addOption(createEventOption("events to send (default: all)"))
    .option("--description <text>", "a description for your own use")
    .option(...outOption);
  addOptions(create).action((endpoint: string, options: CreateOptions) => createWebhook(endpoint, options, context));
  addExamples(create, [
    "pennyblack webhooks create https://example.com/hooks --out hook.secret",
    "pennyblack webhooks create https://example.com/hooks --event wallet.low_balance wallet.depleted",
  ]);
}

function addChangeCommands(webhooks: Command, context: Context): void {
  const update = webhooks
    .command("update")
    .argument(...idArgument)
    .description("change, enable or disable a webhook")
    .option("--endpoint <url>", "https URL that receives the events")
    .addOption(createEventOption("events to send"))
    .option("--description <text>", "a description for your own use")
    .addOption(new Option("--enable", "resume deliveries").conflicts("disable"))
    .option("--disable", "stop deliveries");
  addOptions(update).action((id: string, options: UpdateOptions) => updateWebhook(id, options, context));
  addExamples(update, [
    "pennyblack webhooks update 019a8e7c-31f5-7cc2-8a56-3f1c9d2b7e10 --enable",
    "pennyblack webhooks update 019a8e7c-31f5-7cc2-8a56-3f1c9d2b7e10 --event key.created key.revoked",
  ]);

  const remove = webhooks
    .command("delete")
    .argument(...idArgument)
    .description("permanently delete a webhook")
    .option("--yes", "confirm");
  addOptions(remove).action((id: string, options: DeleteOptions) => deleteWebhook(id, options, context));
  addExamples(remove, ["pennyblack webhooks delete 019a8e7c-31f5-7cc2-8a56-3f1c9d2b7e10 --yes"]);

  const rotate = webhooks
    .command("rotate-secret")
    .argument(...idArgument)
    .description("replace the signing secret and show the new one once")
    .option(...outOption);
  addOptions(rotate).action((id: string, options: OutputOptions) => rotateSecret(id, options, context));
  addExamples(rotate, ["pennyblack webhooks rotate-secret 019a8e7c-31f5-7cc2-8a56-3f1c9d2b7e10 --out hook-2.secret"]);
}

function createEventOption(description: string): Option {
  return new Option("--event <type...>", description).choices(Object.keys(eventTypes));
}

async function listWebhooks(options: CommonOptions, { connect, print }: Context): Promise<void> {
  const webhooks = await Array.fromAsync(connect("manage", options).webhooks.list());
  if (options.json) return print(JSON.stringify({ webhooks }));
  if (webhooks.length === 0) return print("No webhooks.");
  const rows = webhooks.map((webhook) => [
    webhook.id,
    describeState(webhook),
    sanitize(webhook.url),
    webhook.events.join(", "),
    sanitize(webhook.description),
  ]);
  print(table([["ID", "STATE", "ENDPOINT", "EVENTS", "DESCRIPTION"], ...rows]));
}

function describeState({ enabled, disabled_reason, failing_since }: Webhook): string {
  if (!enabled) return `disabled${disabled_reason === null ? "" : ` (${disabled_reason})`}`;
  return failing_since === null ? "enabled" : `failing since ${formatTime(failing_since)}`;
}

async function createWebhook(url: string, options: CreateOptions, context: Context): Promise<void> {
  const created = await context.connect("manage", options).webhooks.create({ url, ...readChanges(options) });
  outputWebhookSecret(created, options, context);
}

async function updateWebhook(id: string, options: UpdateOptions, { connect, print }: Context): Promise<void> {
  const { endpoint, enable, disable, json } = options;
  const changes = {
    ...(endpoint !== undefined && { url: endpoint }),
    ...readChanges(options),
    ...((enable || disable) && { enabled: enable === true }),
  };
  if (Object.keys(changes).length === 0) {
    throw new UsageError("No changes given. See: pennyblack webhooks update --help");
  }
  const webhook = await connect("manage", options).webhooks.update(id, changes);
  print(json ? JSON.stringify(webhook) : `Updated: ${sanitize(webhook.url)} (${describeState(webhook)})`);
}

function readChanges({ event, description }: CreateOptions | UpdateOptions) {
  return { ...(event && { events: event }), ...(description !== undefined && { description }) };
}

async function deleteWebhook(id: string, options: DeleteOptions, { connect, print }: Context): Promise<void> {
  if (!options.yes) throw new UsageError("Deleting a webhook cannot be undone. Add --yes to confirm.");
  const deleted = await connect("manage", options).webhooks.delete(id);
  print(options.json ? JSON.stringify(deleted) : `Deleted: ${deleted.id}`);
}

async function rotateSecret(id: string, options: OutputOptions, context: Context): Promise<void> {
  const rotated = await context.connect("manage", options).webhooks.rotateSecret(id);
  outputWebhookSecret(rotated, options, context);
  const until = formatTime(rotated.previous_secret_until);
  context.printInfo(`Until ${until}, deliveries are also signed with the old secret.`);
}

function outputWebhookSecret(created: { id: string; secret: string }, options: OutputOptions, context: Context): void {
  const { secret, ...metadata } = created;
  const name = "the signing secret of webhook";
  outputSecret({ name, id: created.id, value: secret, response: created, metadata }, options, context);
}
