import assert from "node:assert/strict";
import { test } from "node:test";
import { nameCell } from "../../src/cells/name-cell.ts";
import { createFixture } from "../fixture.ts";
import { testAct } from "../support/data/test-act.ts";

const { db, server, createWallet } = await createFixture();
const labelled = /^pb_live_(eu1[0-9a-z]{7})_[0-9A-Za-z]{36}$/;

test("a cell keeps its name, and all new keys of an account have its label; older keys still work", async () => {
  const { live, management } = await createWallet("1.00");
  assert.match(live, /^pb_live_[0-9A-Za-z]{36}$/);
  const outcomes = [];
  for (const name of ["eu1", "eu1", "us1"]) outcomes.push(await nameCell(db.owner, name, testAct));
  assert.deepEqual(outcomes, ["named", "unchanged", "taken"]);

  const create = async () =>
    (await server.manage(management, "POST", "/v1/keys", { mode: "live", name: "agent" })).body;
  const created = await Promise.all([create(), create(), create()]);
  const rotated = await server.manage(management, "POST", `/v1/keys/${created[0].id}/rotate`, { grace_seconds: 60 });
  const labels = [...created, rotated.body].map(({ key }) => labelled.exec(key)?.[1]);
  assert.ok(labels[0] !== undefined && new Set(labels).size === 1, labels.join());
  assert.equal(rotated.body.start, rotated.body.key.slice(0, 23));
  assert.notEqual(labelled.exec((await createWallet("1.00")).live)?.[1], labels[0], "another account");
  for (const key of [live, rotated.body.key]) assert.equal((await server.search(key, { query: "cats" })).status, 200);
});
