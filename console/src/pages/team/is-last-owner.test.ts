import assert from "node:assert/strict";
import { test } from "node:test";
import { isLastOwner } from "./is-last-owner.ts";

const ada = { person_id: "a", role: "owner" as const };
const bob = { person_id: "b", role: "developer" as const };

test("only the last owner cannot leave", () => {
  assert.equal(isLastOwner(ada, [ada, bob]), true);
  assert.equal(isLastOwner(bob, [ada, bob]), false);
  assert.equal(isLastOwner(ada, [ada, { ...bob, role: "owner" }]), false);
});
