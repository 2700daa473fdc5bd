import assert from "node:assert/strict";
import { test } from "node:test";
import { createFixture } from "../fixture.ts";
import type { Reply } from "../support/services/server.ts";

// The caller's own ids of keys, shared budgets and webhooks, by which `pennyblack apply` finds them.

const { server, createWallet } = await createFixture();

interface Kind {
  path: string;
  create: object;
  /** Of an object with the same external id that may exist beside the first one. */
  beside?: object;
}

const key = { mode: "live", name: "agent" };
const budget = { mode: "live", name: "team", amount: "5.00", period: "day" };
const kinds: Record<string, Kind> = {
  keys: { path: "/v1/keys", create: key, beside: { ...key, mode: "test" } },
  budgets: { path: "/v1/budgets", create: budget, beside: { ...budget, mode: "test" } },
  webhooks: { path: "/v1/webhooks", create: { url: "https://example.com/hook" } },
};

function assertTaken({ status, body, text }: Reply): void {
  assert.deepEqual([status, body.errors?.[0]?.pointer, body.errors?.[0]?.code], [400, "#/external_id", "taken"], text);
}

for (const [name, { path, create, beside }] of Object.entries(kinds)) {
  test(`${name}: an external id belongs to one object of a wallet and mode, until it is removed`, async () => {
    const { management } = await createWallet();
    const send = (method: string, at: string, body?: object) => server.manage(management, method, at, body);
    const { body: first, text } = await send("POST", path, { ...create, external_id: "agent-1" });
    assert.equal(first.external_id, "agent-1", text);
    assert.equal((await send("GET", `${path}/${first.id}`)).body.external_id, "agent-1");
    assertTaken(await send("POST", path, { ...create, external_id: "agent-1" }));
    if (beside) assert.equal((await send("POST", path, { ...beside, external_id: "agent-1" })).status, 200);
    const other = await createWallet();
    const elsewhere = await server.manage(other.management, "POST", path, { ...create, external_id: "agent-1" });
    assert.equal(elsewhere.status, 200, elsewhere.text);

    const { body: second } = await send("POST", path, create);
    assert.equal(second.external_id, null);
    assertTaken(await send("PATCH", `${path}/${second.id}`, { external_id: "agent-1" }));
    const renamed = await send("PATCH", `${path}/${first.id}`, { external_id: "agent-2" });
    assert.equal(renamed.body.external_id, "agent-2");
    const adopted = await send("PATCH", `${path}/${second.id}`, { external_id: "agent-1" });
    assert.equal(adopted.body.external_id, "agent-1", adopted.text);
    const same = await send("PATCH", `${path}/${second.id}`, { external_id: "agent-1" });
    assert.equal(same.status, 200, same.text);
    assert.equal((await send("PATCH", `${path}/${first.id}`, { external_id: null })).body.external_id, null);
    assert.equal((await send("DELETE", `${path}/${second.id}`)).status, 200);
    assert.equal((await send("POST", path, { ...create, external_id: "agent-1" })).status, 200);

    for (const invalid of ["", "../agent", ".agent", "a b", "ä", "a".repeat(65), 1]) {
      const { status, body } = await send("POST", path, { ...create, external_id: invalid });
      assert.deepEqual([status, body.errors[0].pointer], [400, "#/external_id"], String(invalid));
    }
  });

  test(`${name}: of 10 parallel creations with one external id, one succeeds`, async () => {
    const { management } = await createWallet();
    const replies = await Promise.all(
      Array.from({ length: 10 }, () => server.manage(management, "POST", path, { ...create, external_id: "agent" })),
    );
    const failed = replies.filter(({ status }) => status !== 200);
    assert.equal(failed.length, 9);
    failed.forEach(assertTaken);
  });
}

test("a rotated key passes its external id on to its successor", async () => {
  const { management } = await createWallet();
  const { body: old } = await server.manage(management, "POST", "/v1/keys", { ...key, external_id: "agent" });
  const rotation = { grace_seconds: 60 };
  const { body: successor } = await server.manage(management, "POST", `/v1/keys/${old.id}/rotate`, rotation);
  assert.equal(successor.external_id, "agent");
  const { body } = await server.manage(management, "GET", `/v1/keys/${old.id}`);
  assert.deepEqual([body.external_id, body.state], [null, "active"]);
});
