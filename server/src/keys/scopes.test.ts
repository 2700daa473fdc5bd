import assert from "node:assert/strict";
import { after, test } from "node:test";
import { createTestDatabase } from "../../test/support/services/database.ts";
import { scopesOf } from "./scopes.ts";

const database = await createTestDatabase();
after(() => database.drop());

test("the database accepts exactly the key modes and scopes of scopes.ts", async () => {
  const { rows: modes } = await database.owner.query("select unnest(enum_range(null::pb.key_mode))::text as mode");
  const fix = "differs from server/src/keys/scopes.ts: edit the enum or CHECK constraint, in a new migration";
  assert.deepEqual(modes.map(({ mode }) => String(mode)).toSorted(), Object.keys(scopesOf).toSorted(), fix);

  const { rows } = await database.owner.query<{ definition: string }>(
    `select pg_get_constraintdef(oid) as definition from pg_constraint
     where conrelid = 'pb.keys'::regclass and pg_get_constraintdef(oid) like '%keys:write%'`,
  );
  const found = [...(rows[0]?.definition ?? "").matchAll(/'([a-z:]+)'/g)].map(([, scope = ""]) => scope);
  assert.deepEqual(found.toSorted(), [...new Set(Object.values(scopesOf).flat())].toSorted(), fix);
});
