import assert from "node:assert/strict";
import { after, test } from "node:test";
import { ownerActs } from "../../src/activity/describe-act.ts";
import { revokeAnyKey } from "../../src/operator/operator.ts";
import { makeConsoleRequest } from "../console/console-requests.ts";
import { addTestMember, createConsoleFixture, openBrowser, signInTo, someone } from "../support/console-fixture.ts";
import { startFakeStripe } from "../support/payments/fake-stripe.ts";
import { stripeSettings } from "../support/payments/payment-fixture.ts";
import { registeredRoutes } from "../support/registered-routes.ts";
import { createTestKey } from "../support/services/server.ts";
import { openTenant } from "../tenants/open-tenant.ts";
import { type TenantRequest, tenantRequests } from "../tenants/tenant-requests.ts";

// The activity log: GET /v1/activity and its export.

const stripe = await startFakeStripe();
const fixture = await createConsoleFixture(stripeSettings(stripe.url));
const { db, server } = fixture;
after(() => stripe.close());
const tenant = await openTenant(db, server, "of-amber");
const { rows: accounts } = await db.owner.query<{ account_id: string }>(
  "select account_id from pb.wallets where id = $1",
  [tenant.walletId],
);
const accountId = accounts[0]?.account_id ?? "";
const ownerEmail = someone("owner");
await addTestMember(db, accountId, ownerEmail, "owner");

interface Line {
  id: string;
  at: string;
  actor: { type: string; id: string | null; name: string | null };
  act: string;
  subject: { id: string; name: string | null };
  summary: string;
  before: Record<string, unknown> | null;
  after: Record<string, unknown> | null;
}

async function list(query = "", manage = tenant.manage): Promise<Line[]> {
  const { status, body, text } = await manage("GET", `/v1/activity?limit=100${query}`);
  assert.equal(status, 200, text);
  return body.activity;
}

/** Searches, payments and deliveries are listed elsewhere, and change no setting. */
const listedElsewhere = [
  "POST /v1/search",
  "POST /v1/wallet/top-ups",
  "POST /v1/webhooks/{id}/test",
  "POST /v1/webhooks/deliveries/{id}/replay",
];
const writes = registeredRoutes(server).filter((route) => !route.startsWith("GET "));
const apiWrites = writes.filter((route) => / \/v1\//.test(route) && !route.includes("stripe"));
const consolePrefix = "/console/api/wallets/{walletId}";
const consoleWrites = writes.filter((route) => route.includes(`${consolePrefix}/`));

function fill(route: string, request: TenantRequest): [method: string, path: string] {
  const [method = "", pattern = ""] = route.split(" ");
  return [method, pattern.replaceAll(/\{(\w+)\}/g, (_, name: string) => request.path?.[name] ?? "")];
}

async function turnOnAutoTopUp(): Promise<void> {
  const request = await tenantRequests["PUT /v1/wallet/auto-top-up"]?.(tenant);
  await tenant.manage("PUT", "/v1/wallet/auto-top-up", request?.body);
}

for (const name of apiWrites.filter((route) => !listedElsewhere.includes(route))) {
  test(`${name}: a change with a key has its line in the activity`, async () => {
    if (name === "DELETE /v1/wallet/auto-top-up") await turnOnAutoTopUp();
    const request = (await tenantRequests[name]?.(tenant)) ?? {};
    const before = await list();
    const [method, path] = fill(name, request);
    const key = request.key ?? tenant.management;
    const { status, text } = await server.manage(key, method, path, request.body, request.headers);
    assert.ok(status < 300, `${status} ${text}`);
    const known = new Set(before.map(({ id }) => id));
    const added = (await list()).filter(({ id }) => !known.has(id));
    assert.equal(added.length, 1, `${name} wrote ${added.length} lines; record the change: server/sql/changes.sql`);
    assert.equal(added[0]?.actor.type, "key");
    assert.match(added[0]?.summary ?? "", /^[A-Z][a-z]+ /);
  });
}

for (const route of consoleWrites.filter(
  (name) => !listedElsewhere.includes(name.replace(consolePrefix, "/v1")) && !name.includes("/playground/"),
)) {
  test(`${route} has its line in the activity, with the person`, async () => {
    const browser = await signInTo(db, server, ownerEmail);
    const emails = { owner: ownerEmail, developer: "", viewer: "" };
    const made = { ...tenant, accountId, emails, browsers: { owner: browser, developer: browser, viewer: browser } };
    // There must be something to turn off.
    if (route.startsWith("DELETE") && route.endsWith("/apps"))
      await browser.send("PUT", `wallets/${tenant.walletId}/apps`, { budget: { day: "1.00" } });
    if (route.startsWith("DELETE") && route.endsWith("/auto-top-up")) await turnOnAutoTopUp();
    const request = await makeConsoleRequest(db, made, route.replace(consolePrefix, ""));
    const before = new Set((await list()).map(({ id }) => id));
    const [method, path] = fill(route.replace("{walletId}", tenant.walletId), request);
    const { status, text } = await browser.send(
      method,
      path.replace("/console/api/", ""),
      request.body,
      request.headers,
    );
    assert.ok(status < 300, `${status} ${text}`);
    const added = (await list()).filter(({ id }) => !before.has(id));
    assert.equal(added.length, 1, `${route} wrote ${added.length} lines; record the change: server/sql/changes.sql`);
    assert.deepEqual([added[0]?.actor.type, added[0]?.actor.name], ["person", ownerEmail]);
  });
}

/** The routes of the console that are not below a wallet, and the act of each. */
const accountRoutes: Record<string, string | undefined> = {
  "POST /console/api/accounts": "account.create",
  "POST /console/api/invitations/accept": "member.join",
  "POST /console/api/invitations/{id}/accept": "member.join",
  "POST /console/api/sign-in/email": undefined,
  "POST /console/api/sign-in/token": "session.start",
  "POST /console/api/sign-out": undefined,
  "POST /console/api/sign-out/everywhere": "session.end_all",
};

test("the other routes of the console are known, and those that change something have an act", () => {
  const others = writes.filter((route) => route.includes(" /console/api/") && !route.includes(`${consolePrefix}/`));
  assert.deepEqual(others.toSorted(), Object.keys(accountRoutes).toSorted());
  for (const act of Object.values(accountRoutes)) assert.ok(act === undefined || ownerActs.includes(act), act);
});

test("signing in, joining and signing out everywhere have their lines", async () => {
  const email = someone("joining");
  await addTestMember(db, accountId, email, "developer");
  const browser = await signInTo(db, server, email);
  await browser.send("POST", "sign-out/everywhere");
  const acts = (await list("&actor=person")).filter(({ actor }) => actor.name === email).map(({ act }) => act);
  assert.deepEqual(acts, ["session.end_all", "session.start", "member.join"]);
});

test("every act that owners see has words", async () => {
  const { rows } = await db.owner.query<{ act: string }>(
    "select act from pb.acts where visibility = 'owner' order by 1",
  );
  assert.deepEqual([...ownerActs], rows.map(({ act }) => act).toSorted(), "edit server/src/activity/describe-act.ts");
});

test("a line names the key that was changed, the key that did it, and the values that differ", async () => {
  const { body: key } = await tenant.manage("POST", "/v1/keys", {
    mode: "live",
    name: "crawler",
    budget: { day: "5.00" },
  });
  await tenant.manage("PATCH", `/v1/keys/${key.id}`, { budget: { day: "7.50" } });
  const [changed, created, ...others] = await list(`&subject_id=${key.id}`);
  assert.deepEqual(others, []);
  const { body: own } = await tenant.manage("GET", "/v1/key");
  assert.deepEqual(changed?.actor, { type: "key", id: own.id, name: own.name });
  assert.deepEqual([changed?.act, changed?.summary], ["key.change", "Changed the key crawler"]);
  assert.deepEqual([changed?.before, changed?.after], [{ budget_day: "5.00" }, { budget_day: "7.50" }]);
  assert.equal(created?.summary, "Created the key crawler");
  const { body: read } = await tenant.manage("GET", `/v1/keys/${key.id}`);
  assert.deepEqual(read.created_by, { type: "key", id: own.id, name: own.name });
});

test("a key shows the person who created it to managers, and not to its holder", async () => {
  const browser = await signInTo(db, server, ownerEmail);
  const { body: key } = await browser.send("POST", `wallets/${tenant.walletId}/keys`, {
    mode: "live",
    name: "made by a person",
  });
  assert.deepEqual([key.created_by.type, key.created_by.name], ["person", ownerEmail]);
  const { body: rotated } = await tenant.manage("POST", `/v1/keys/${key.id}/rotate`, { grace_seconds: 60 });
  assert.equal(rotated.created_by.type, "key");
  const { text } = await server.request("/v1/key", { headers: { "x-api-key": key.key } });
  assert.ok(!text.includes(ownerEmail));
});

test("what the operator did is listed without a name or reason", async () => {
  const { id } = await createTestKey(db, { walletId: tenant.walletId, name: "leaked" });
  await revokeAnyKey(db.operator, { operator: "olga", reason: "found in a repository" }, id);
  const lines = await list(`&subject_id=${id}`);
  assert.deepEqual(
    lines.map(({ actor, act, summary }) => ({ actor, act, summary })),
    [{ actor: { type: "operator", id: null, name: null }, act: "key.revoke", summary: "Revoked the key leaked" }],
  );
  assert.doesNotMatch(JSON.stringify(lines), /olga|repository/);
});

test("pages and filters select lines, and unknown values are rejected", async () => {
  const all = await list("&act=key");
  assert.ok(all.length > 5 && all.every(({ act }) => act.startsWith("key.")));
  const pages: Line[] = [];
  for (let cursor: string | null = ""; cursor !== null; ) {
    const { body } = await tenant.manage("GET", `/v1/activity?act=key&limit=3${cursor && `&cursor=${cursor}`}`);
    pages.push(...body.activity);
    cursor = body.next_cursor;
  }
  assert.deepEqual(pages, all);
  assert.ok((await list("&act=key.create")).every(({ act }) => act === "key.create"));
  const { body: own } = await tenant.manage("GET", "/v1/key");
  assert.ok((await list(`&actor_id=${own.id}`)).every(({ actor }) => actor.id === own.id));
  assert.deepEqual(await list("&to=2020-01-01"), []);
  for (const query of ["act=keys", "act=key.", "actor=people", "actor_id=x", "from=yesterday", "cursor=x", "subject=x"])
    assert.equal((await tenant.manage("GET", `/v1/activity?${query}`)).body.code, "invalid_request", query);
  const stranger = await openTenant(db, server, "of-cobalt");
  const { body } = await tenant.manage("GET", "/v1/activity?limit=1");
  assert.equal((await stranger.manage("GET", `/v1/activity?cursor=${body.next_cursor}`)).status, 400);
});

test("the export has the same lines as JSON Lines, oldest first", async () => {
  const { headers, text } = await tenant.manage("GET", "/v1/activity.jsonl?act=webhook");
  assert.equal(headers.get("content-type"), "application/jsonl; charset=utf-8");
  const lines = text
    .trimEnd()
    .split("\n")
    .map((line) => JSON.parse(line) as Line);
  assert.ok(lines.length > 3);
  assert.deepEqual(lines, (await list("&act=webhook")).toReversed());
});

test("activity requires activity:read, which no search key can have", async () => {
  const { walletId } = tenant;
  const scopes = ["wallet:read", "wallet:write", "keys:write", "webhooks:write"] as const;
  const { key: manager } = await createTestKey(db, { walletId, mode: "mgmt", scopes });
  const { key: searching } = await createTestKey(db, { walletId, scopes: ["search", "wallet:read"] });
  for (const key of [manager, searching])
    for (const path of ["/v1/activity", "/v1/activity.jsonl"])
      assert.equal((await server.request(path, { headers: { "x-api-key": key } })).body.code, "insufficient_scope");
  const created = await tenant.manage("POST", "/v1/keys", {
    mode: "live",
    name: "a",
    scopes: ["search", "activity:read"],
  });
  assert.equal(created.status, 400);
});

test("lines older than 400 days are not listed, and a person of another account is not named", async () => {
  const stranger = openBrowser(server);
  assert.equal((await stranger.get(`wallets/${tenant.walletId}/activity`)).status, 401);
  const { rows } = await db.owner.query<{ id: string }>(
    "insert into pb.people (email, name) values ($1, '') returning id",
    [someone("stranger")],
  );
  const named = async (id: string | undefined) => {
    const client = await db.tenant.connect();
    try {
      await client.query("begin");
      await client.query("select set_config('pb.wallet_id', $1, true)", [tenant.walletId]);
      const { rows: found } = await client.query<{ name: string | null }>("select pb.name_person($1) as name", [id]);
      return found[0]?.name;
    } finally {
      await client.query("rollback");
      client.release();
    }
  };
  assert.equal(await named(rows[0]?.id), null);
  await signInTo(db, server, ownerEmail);
  const [line] = await list("&act=session");
  assert.equal(await named(line?.subject.id), line?.actor.name);
  const { body } = await tenant.manage("GET", "/v1/activity?from=2020-01-01");
  const days = (Date.now() - Date.parse(body.since)) / 86_400_000;
  assert.equal(Math.floor(days), 400);
});
