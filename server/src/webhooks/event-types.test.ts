import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { after, test } from "node:test";
import { createTestDatabase } from "../../test/support/services/database.ts";
import { eventTypes } from "./event-types.ts";

// event-types.ts is the source of the list. Everything else that repeats it is compared here, except the lists of the
// console and the CLI, which the compiler compares with the SDK's type.

const root = join(import.meta.dirname, "../../..");
const database = await createTestDatabase();
after(() => database.drop());

function assertListed(found: Iterable<string>, expected: readonly string[], toEdit: string): void {
  const fix = `differs from server/src/webhooks/event-types.ts: edit ${toEdit}`;
  assert.deepEqual([...new Set(found)].toSorted(), expected.toSorted(), fix);
}

/** The event types in the CHECK constraints of a table. */
async function readConstraint(table: string): Promise<string[]> {
  const { rows } = await database.owner.query<{ definition: string }>(
    "select pg_get_constraintdef(oid) as definition from pg_constraint where conrelid = $1::regclass and contype = 'c'",
    [table],
  );
  const text = rows.map(({ definition }) => definition).join("\n");
  return [...text.matchAll(/'([a-z_]+\.[a-z_]+)'/g)].map(([, type = ""]) => type);
}

test("the database accepts exactly the event types of event-types.ts", async () => {
  const toEdit = (table: string): string => `the CHECK constraint of ${table}, in a new migration`;
  assertListed(await readConstraint("pb.webhook_endpoints"), eventTypes, toEdit("pb.webhook_endpoints"));
  // Sent without a subscription.
  const unsubscribed = ["webhook.test", "webhook.disabled"];
  assertListed(await readConstraint("pb.events"), [...eventTypes, ...unsubscribed], toEdit("pb.events"));
});

test("docs/webhooks.md has a section for every event type", () => {
  const page = readFileSync(join(root, "docs/webhooks.md"), "utf8");
  const found = [...page.matchAll(/^### `([a-z_.]+)`$/gm)].map(([, type = ""]) => type);
  assertListed(found, eventTypes, "docs/webhooks.md");
});
