import assert from "node:assert/strict";
import { test } from "node:test";
import { createFixture } from "../fixture.ts";
import type { Reply } from "../support/services/server.ts";

// A management key with `allowed_ips` or `expires_at` creates no management key that works elsewhere or for longer.

const { server, createWallet } = await createFixture();
const wallet = await createWallet("1.00");

function manage(method: string, path: string, body?: unknown, key = wallet.management): Promise<Reply> {
  return server.manage(key, method, path, body);
}

async function create(options: object = {}): Promise<{ id: string; key: string }> {
  const { status, body, text } = await manage("POST", "/v1/keys", { mode: "mgmt", name: "other", ...options });
  assert.equal(status, 200, text);
  return body;
}

/** A management key that works from 127.0.0.0/8 only, until 2099. */
const restrictions = { allowed_ips: ["127.0.0.0/8"], expires_at: "2099-01-31T12:00:00.000Z" };

const restrictionsOf = ({ allowed_ips, expires_at }: Reply["body"]) => ({ allowed_ips, expires_at });

async function createRestrictedManager(): Promise<{ id: string; key: string }> {
  return create({ name: "restricted", ...restrictions });
}

const widerFields: [field: "allowed_ips" | "expires_at", value: unknown][] = [
  ["allowed_ips", null],
  ["allowed_ips", ["127.0.0.0/8", "192.0.2.1"]],
  ["allowed_ips", ["0.0.0.0/0"]],
  ["allowed_ips", ["::/0"]],
  ["expires_at", null],
  ["expires_at", "2099-01-31T12:00:00.001Z"],
];

test("a key with restrictions creates management keys with the same or narrower ones, by default the same", async () => {
  const manager = await createRestrictedManager();
  const post = (fields: object) => manage("POST", "/v1/keys", { name: "child", ...fields }, manager.key);
  const mode = "mgmt";
  for (const [field, value] of widerFields) {
    const { status, body } = await post({ mode, [field]: value });
    assert.deepEqual([status, body.code, body.errors?.[0]?.pointer], [400, "invalid_request", `#/${field}`]);
  }
  const { status, body, text } = await post({ mode });
  assert.equal(status, 200, text);
  assert.deepEqual(restrictionsOf(body), restrictions);
  const narrower = { allowed_ips: ["127.0.0.1/32", "127.0.4.0/24"], expires_at: "2098-01-31T12:00:00.000Z" };
  assert.deepEqual(restrictionsOf((await post({ mode, ...narrower })).body), narrower);
  // Keys for servers in other networks.
  const live = await post({ mode: "live" });
  assert.deepEqual(restrictionsOf(live.body), { allowed_ips: null, expires_at: null });
  const { detail } = (await post({ mode, allowed_ips: null })).body;
  assert.match(detail, /^`allowed_ips` must be within `127\.0\.0\.0\/8`, as for your own key\. Omit/);
  const { body: listed } = await manage("GET", "/v1/keys?limit=100");
  const children = listed.keys.filter(({ name }: { name: string }) => name === "child");
  assert.equal(children.length, 3, "the rejected requests created no key");
});

test("a key with restrictions removes them from no management key, not even from itself", async () => {
  const manager = await createRestrictedManager();
  const other = await create(restrictions);
  const unrestricted = await create();
  for (const { id } of [manager, other, unrestricted]) {
    for (const [field, value] of widerFields) {
      const { status, body } = await manage("PATCH", `/v1/keys/${id}`, { [field]: value }, manager.key);
      assert.deepEqual([status, body.code, body.errors?.[0]?.pointer], [400, "invalid_request", `#/${field}`]);
    }
  }
  const renamed = await manage("PATCH", `/v1/keys/${unrestricted.id}`, { name: "renamed" }, manager.key);
  assert.deepEqual(restrictionsOf(renamed.body), { allowed_ips: null, expires_at: null });
  const narrowed = await manage("PATCH", `/v1/keys/${manager.id}`, { allowed_ips: ["127.0.0.1"] }, manager.key);
  assert.deepEqual(narrowed.body.allowed_ips, ["127.0.0.1/32"]);
});

test("a key with restrictions rotates itself, and no management key that has fewer", async () => {
  const manager = await createRestrictedManager();
  const rotate = (id: string, key: string) => manage("POST", `/v1/keys/${id}/rotate`, { grace_seconds: 60 }, key);
  for (const fewer of [{}, { allowed_ips: ["127.0.0.1"] }, { expires_at: "2098-01-31T12:00:00Z" }]) {
    const other = await create(fewer);
    const { status, body } = await rotate(other.id, manager.key);
    assert.deepEqual([status, body.code, body.errors?.[0]?.code], [400, "invalid_request", "restricted_key"]);
    assert.equal(
      (await manage("GET", `/v1/keys/${other.id}`)).body.expires_at,
      fewer.expires_at ? "2098-01-31T12:00:00.000Z" : null,
    );
    assert.equal((await rotate(other.id, wallet.management)).status, 200);
  }
  const { status, body } = await rotate(manager.id, manager.key);
  assert.deepEqual([status, restrictionsOf(body)], [200, restrictions]);
  // During the grace period, the old key creates nothing that outlives it.
  const late = await manage(
    "POST",
    "/v1/keys",
    { mode: "mgmt", name: "late", expires_at: restrictions.expires_at },
    manager.key,
  );
  assert.equal(late.status, 400);
});
