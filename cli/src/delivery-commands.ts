import type { Delivery } from "@pennyblack/sdk";
import type { Command } from "commander";
import { addExamples } from "./add-examples.ts";
import { addLimit, addOptions } from "./common-options.ts";
import type { CommonOptions, Context } from "./context.ts";
import { takeItems } from "./take-items.ts";
import { formatTime, sanitize, table } from "./terminal.ts";

type ListOptions = CommonOptions & { limit: number };

/** Adds the commands about deliveries to `pennyblack webhooks`. */
export function addDeliveryCommands(webhooks: Command, context: Context): void {
  const test = webhooks.command("test").argument("<id>", "id of the webhook").description("send a test event");
  addOptions(test).action(async (id: string, options: CommonOptions) => {
    printQueued(await context.connect("manage", options).webhooks.test(id), options, context);
  });
  addExamples(test, ["pennyblack webhooks test 019a8e7c-31f5-7cc2-8a56-3f1c9d2b7e10"]);

  const deliveries = webhooks
    .command("deliveries")
    .argument("<id>", "id of the webhook")
    .description("list the deliveries of a webhook, newest first");
  addOptions(addLimit(deliveries)).action((id: string, options: ListOptions) => listDeliveries(id, options, context));
  addExamples(deliveries, ["pennyblack webhooks deliveries 019a8e7c-31f5-7cc2-8a56-3f1c9d2b7e10 --limit 5"]);

  const replay = webhooks
    .command("replay")
    .argument("<delivery-id>", "id of the delivery")
    .description("deliver an event again");
  addOptions(replay).action(async (id: string, options: CommonOptions) => {
    printQueued(await context.connect("manage", options).webhooks.deliveries.replay(id), options, context);
  });
  addExamples(replay, ["pennyblack webhooks replay 019a8e80-77c1-7d0e-9a31-5b8a1f0c6d44"]);
}

async function listDeliveries(id: string, options: ListOptions, { connect, print }: Context): Promise<void> {
  const client = connect("manage", options);
  const { items: deliveries } = await takeItems(
    (limit) => client.webhooks.deliveries.list(id, { limit }),
    options.limit,
  );
  if (options.json) return print(JSON.stringify({ deliveries }));
  if (deliveries.length === 0) return print("No deliveries.");
  const rows = deliveries.map((delivery) => [
    delivery.id,
    formatTime(delivery.created_at),
    delivery.event.type,
    delivery.status,
    String(delivery.attempts),
    describeResponse(delivery),
  ]);
  print(table([["ID", "CREATED", "EVENT", "STATUS", "ATTEMPTS", "RESPONSE"], ...rows]));
}

function describeResponse({ response_status, error, next_attempt_at }: Delivery): string {
  const next = next_attempt_at === null ? undefined : `next attempt ${formatTime(next_attempt_at)}`;
  // Errors of the kind "status" are described by the status itself.
  const reason = error === null || error === "status" ? undefined : sanitize(error).replaceAll("_", " ");
  return [response_status ?? undefined, reason, next].filter((part) => part !== undefined).join(", ");
}

function printQueued(delivery: Delivery, { json }: CommonOptions, { print }: Context): void {
  print(json ? JSON.stringify(delivery) : `Queued: ${delivery.event.type} (delivery ${delivery.id})`);
}
