import assert from "node:assert/strict";
import { randomUUIDv7 } from "node:crypto";
import { after, test } from "node:test";
import type { Role } from "../../src/accounts/accounts.ts";
import { assertCommonHeaders } from "../support/assertions/assert-response.ts";
import {
  addTestMember,
  type Browser,
  createConsoleFixture,
  makeStale,
  signInTo,
  someone,
} from "../support/console-fixture.ts";
import { startFakeStripe } from "../support/payments/fake-stripe.ts";
import { stripeSettings } from "../support/payments/payment-fixture.ts";
import { registeredRoutes } from "../support/registered-routes.ts";
import type { Reply } from "../support/services/server.ts";
import { startHostileUpstream } from "../support/upstreams/hostile-upstream.ts";
import { openTenant, readRows } from "../tenants/open-tenant.ts";
import type { TenantRequest } from "../tenants/tenant-requests.ts";
import { access, type ConsoleTenant, makeConsoleRequest } from "./console-requests.ts";

// Calls every route of the console with each role, a stale sign-in, a stranger's session, no session and from another
// site. Rejected requests change no row; the same request with sufficient access gets 2xx.

const upstream = await startHostileUpstream();
const stripe = await startFakeStripe();
const fixture = await createConsoleFixture({ PENNYBLACK_SEARXNG_URL: upstream.url, ...stripeSettings(stripe.url) });
const { db, server } = fixture;
const home = await openConsoleTenant("of-amber");
const stranger = await openConsoleTenant("of-cobalt");
const prefix = "/console/api/wallets/{walletId}";
const served = registeredRoutes(server).filter((route) => route.includes(" /console/api"));
const below = served.filter((route) => route.includes(`${prefix}/`)).map((route) => route.replace(prefix, ""));

after(async () => {
  await fixture.close();
  await upstream.close();
  await stripe.close();
});

async function openConsoleTenant(mark: string): Promise<ConsoleTenant> {
  const tenant = await openTenant(db, server, mark);
  const { rows } = await db.owner.query<{ account_id: string }>("select account_id from pb.wallets where id = $1", [
    tenant.walletId,
  ]);
  const accountId = rows[0]?.account_id ?? "";
  const emails: Record<Role, string> = { owner: "", developer: "", viewer: "" };
  const browsers: Partial<Record<Role, Browser>> = {};
  for (const role of ["owner", "developer", "viewer"] as const) {
    emails[role] = someone(`${mark}.${role}`);
    await addTestMember(db, accountId, emails[role], role);
    browsers[role] = await signInTo(db, server, emails[role]);
  }
  return { ...tenant, accountId, emails, browsers: browsers as ConsoleTenant["browsers"] };
}

interface CallOptions {
  browser: Browser;
  walletId: string;
  headers?: Record<string, string>;
}

function send(name: string, request: TenantRequest, { browser, walletId, headers = {} }: CallOptions): Promise<Reply> {
  const [method = "", pattern = ""] = name.split(" ");
  const path = pattern.replaceAll(/\{(\w+)\}/g, (_, parameter: string) => request.path?.[parameter] ?? "");
  const query = new URLSearchParams(request.query).toString();
  const address = `wallets/${walletId}${path}${query && `?${query}`}`;
  if (method === "GET") return browser.open(`/console/api/${address}`, { headers });
  return browser.send(method, address, request.body, { ...request.headers, ...headers });
}

/** All rows of the tenant's account, wallet and team. */
async function readAll(tenant: ConsoleTenant): Promise<string[]> {
  const team: string[] = [];
  for (const table of ["accounts", "changes", "members", "invitations"]) {
    const column = table === "accounts" ? "id" : "account_id";
    const { rows } = await db.owner.query<{ row: string }>(
      `select '${table} ' || to_jsonb(t)::text as row from pb.${table} t where ${column} = $1 order by 1`,
      [tenant.accountId],
    );
    team.push(...rows.map(({ row }) => row));
  }
  return [...(await readRows(db, tenant)), ...team];
}

function assertCode(reply: Reply, status: number, code: string): void {
  assert.deepEqual([reply.status, reply.body?.code], [status, code], reply.text);
  assertCommonHeaders(reply.headers);
}

const makesKeys = new Set(["POST /keys", "POST /keys/{id}/rotate"]);
const makesSecrets = new Set(["POST /webhooks", "POST /webhooks/{id}/rotate-secret"]);

/** Not cacheable, and without secrets except those created by this request. */
function assertNoLeaks(name: string, reply: Reply): void {
  assert.equal(reply.headers.get("cache-control"), "no-store", name);
  if (!makesKeys.has(name)) assert.doesNotMatch(reply.text, /pb_(?:live|test|mgmt)_\w{20,}/, name);
  if (!makesSecrets.has(name)) assert.doesNotMatch(reply.text, /whsec_\w{8,}/, name);
}

test("every wallet route lists its required role", () => {
  assert.ok(below.length > 25);
  const listed = Object.keys(access);
  const missing = below.filter((name) => !listed.includes(name));
  const unknown = listed.filter((name) => !below.includes(name));
  assert.deepEqual({ missing, unknown }, { missing: [], unknown: [] }, "edit server/test/console/console-requests.ts");
});

const ranks = ["viewer", "developer", "owner"] as const;

for (const [name, { role: minRole, isFresh = false, isForSuspended = false }] of Object.entries(access)) {
  const isReading = name.startsWith("GET ");
  const { walletId } = home;

  test(`${name} requires the role ${minRole}${isFresh ? " and a fresh sign-in" : ""}`, async () => {
    const request = await makeConsoleRequest(db, home, name);
    const before = await readAll(home);
    const anonymous = fixture.openBrowser();
    assertCode(await send(name, request, { browser: anonymous, walletId }), 401, "session_required");
    anonymous.cookies.set("pennyblack", "x".repeat(43));
    assertCode(await send(name, request, { browser: anonymous, walletId }), 401, "session_required");

    for (const role of ranks.slice(0, ranks.indexOf(minRole))) {
      const reply = await send(name, request, { browser: home.browsers[role], walletId });
      assertCode(reply, 403, "insufficient_role");
    }
    await assertForgeriesRejected(name, request, walletId);
    assert.deepEqual(await readAll(home), before, "a row has changed");
    await assertStale(name, request, { minRole, isFresh });
  });

  test(`${name} rejects a stranger without revealing anything`, async () => {
    const request = await makeConsoleRequest(db, home, name);
    const before = await readAll(home);
    const browser = stranger.browsers.owner;
    // A fresh owner session, but of another wallet.
    for (const wallet of [home.walletId, randomUUIDv7(), "nonsense"]) {
      assertCode(await send(name, request, { browser, walletId: wallet }), 404, "not_found");
    }
    if (name.includes("{")) {
      const reply = await send(name, request, { browser, walletId: stranger.walletId });
      assert.equal(reply.status, 404, reply.text);
      assert.ok(!reply.text.includes(home.mark));
    }
    assert.deepEqual(await readAll(home), before, "a row has changed");
  });

  test(`${name} of a suspended wallet ${isReading || isForSuspended ? "is allowed" : "is rejected"}`, async () => {
    const request = await makeConsoleRequest(db, home, name);
    await db.owner.query("select pb.suspend_wallet($1, true)", [walletId]);
    try {
      const reply = await send(name, request, { browser: home.browsers.owner, walletId });
      if (isReading || isForSuspended) assert.ok(reply.status < 300, reply.text);
      else assertCode(reply, 403, "account_suspended");
    } finally {
      await db.owner.query("select pb.suspend_wallet($1, false)", [walletId]);
    }
  });
}

/** Calls the route with the minimum role and a stale sign-in, then with every allowed role. */
async function assertStale(
  name: string,
  request: TenantRequest,
  { minRole, isFresh }: { minRole: Role; isFresh: boolean },
): Promise<void> {
  const { walletId } = home;
  if (isFresh) {
    const before = await readAll(home);
    await makeStale(db, home.emails[minRole]);
    assertCode(
      await send(name, request, { browser: home.browsers[minRole], walletId }),
      403,
      "reauthentication_required",
    );
    assert.deepEqual(await readAll(home), before, "a row has changed");
    home.browsers[minRole] = await signInTo(db, server, home.emails[minRole]);
  }
  for (const role of ranks.slice(ranks.indexOf(minRole))) {
    const roleRequest = role === minRole ? request : await makeConsoleRequest(db, home, name);
    if (!isFresh) await makeStale(db, home.emails[role]);
    const before = await readAll(home);
    const reply = await send(name, roleRequest, { browser: home.browsers[role], walletId });
    assert.ok(reply.status >= 200 && reply.status < 300, `${role}: ${reply.status} ${reply.text}`);
    assertNoLeaks(name, reply);
    if (!unrecorded.has(name)) assertRecorded(before, await readAll(home));
    if (!isFresh) home.browsers[role] = await signInTo(db, server, home.emails[role]);
  }
}

/** Searches, payments and deliveries have their own records. */
const unrecorded = new Set([
  "POST /playground/search",
  "POST /wallet/top-ups",
  "POST /webhooks/{id}/test",
  "POST /webhooks/deliveries/{id}/replay",
]);

/** If a row has changed, the list of changes has a new one, which the owner can see. */
function assertRecorded(before: readonly string[], now: readonly string[]): void {
  const added = now.filter((row) => !before.includes(row));
  const removed = before.filter((row) => !now.includes(row));
  const isRecord = (row: string) => /^changes .*"actor": "person".*"visibility": "owner"/.test(row);
  if (added.length + removed.length > 0) assert.ok(added.some(isRecord), [...removed, "->", ...added].join("\n"));
}

const forgeries: Record<string, string>[] = [
  { "x-pennyblack-csrf": "" },
  { "x-pennyblack-csrf": "0" },
  { origin: "https://evil.test" },
  { origin: "null" },
  { origin: "http://search.test.evil.test" },
  { "sec-fetch-site": "cross-site" },
  { "sec-fetch-site": "same-site" },
];

async function assertForgeriesRejected(name: string, request: TenantRequest, walletId: string): Promise<void> {
  if (name.startsWith("GET ")) return;
  for (const headers of forgeries) {
    const reply = await send(name, request, { browser: home.browsers.owner, walletId, headers });
    assertCode(reply, 403, "csrf_refused");
  }
}

test("other console routes also reject forged requests and forbid caching", async () => {
  const rest = served.filter((route) => !route.includes(`${prefix}/`));
  assert.ok(rest.length >= 7);
  const browser = await fixture.signIn(home.emails.viewer);
  for (const route of rest) {
    const [method = "", path = ""] = route.split(" ");
    const address = path.replace("/console/api/", "");
    if (method === "GET") {
      assert.equal((await browser.get(address)).headers.get("cache-control"), "no-store", route);
      continue;
    }
    for (const headers of forgeries) {
      const reply = await browser.send(method, address, {}, headers);
      assertCode(reply, 403, "csrf_refused");
    }
  }
  assert.ok((await browser.get("session")).body.person, "a forged request signed the user out");
});

test("session cookies work only for the console, and API keys do not work there", async () => {
  const cookie = `pennyblack=${home.browsers.owner.token()}`;
  const { body } = await server.request("/v1/wallet", { headers: { cookie } });
  assert.equal(body.code, "authentication_required");
  const reply = await server.request(`/console/api/wallets/${home.walletId}/wallet`, {
    headers: { "x-api-key": home.management },
  });
  assert.equal(reply.body.code, "session_required");
});

test("session tokens are not logged", () => {
  for (const { browsers } of [home, stranger]) {
    for (const browser of Object.values(browsers)) assert.ok(!server.logged().includes(browser.token()));
  }
});
