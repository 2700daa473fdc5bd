import assert from "node:assert/strict";
import { test } from "node:test";
import { createTestDatabase } from "../../test/support/services/database.ts";
import { firstIdOf } from "./first-id-of.ts";

test("returns the same id as pb.uuid_floor", async () => {
  const db = await createTestDatabase();
  try {
    for (const text of ["1970-01-01T00:00:00Z", "2026-01-31T23:59:59.999Z", "2999-12-31T00:00:00Z"]) {
      const { rows } = await db.owner.query<{ id: string }>("select pb.uuid_floor($1::timestamptz) as id", [text]);
      assert.equal(firstIdOf(new Date(text)), rows[0]?.id);
    }
  } finally {
    await db.drop();
  }
});
