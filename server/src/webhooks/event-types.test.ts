import assert from "node:assert/strict";
import { after, test } from "node:test";
import { createTestDatabase } from "../../test/support/services/database.ts";
import { eventTypes } from "./event-types.ts";

// event-types.ts is the source of the list. The database repeats it and is compared here. The page is generated from it, and
// the compiler compares the lists of the console and the CLI with the SDK's type.

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
