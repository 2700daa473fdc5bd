import assert from "node:assert/strict";
import { randomUUIDv7 } from "node:crypto";
import { after, test } from "node:test";
import type { Role } from "../../src/accounts/accounts.ts";
import { assertHeadersOfEveryAnswer } from "../assert-answer.ts";
import { addTestMember, type Browser, createConsoleWorld, makeStale, signInTo, someone } from "../console-world.ts";
import { startFakeStripe } from "../fake-stripe.ts";
import { startHostileUpstream } from "../hostile-upstream.ts";
import { stripeSettings } from "../payment-world.ts";
import { registeredRoutes } from "../registered-routes.ts";
import type { Reply } from "../server.ts";
import { openTenant, readRows } from "../tenants/open-tenant.ts";
import type { TenantRequest } from "../tenants/tenant-requests.ts";
import { access, type Household, makeConsoleRequest } from "./console-requests.ts";

// Every route of the console, asked by each role, with a stale sign-in, by a stranger, by nobody and from another site.
// Whoever may not changes no row; whoever may gets 2xx for the same request, so that a refusal means something.

const upstream = await startHostileUpstream();
const stripe = await startFakeStripe();
const world = await createConsoleWorld({ PENNYBLACK_SEARXNG_URL: upstream.url, ...stripeSettings(stripe.url) });
const { db, server } = world;
const home = await openHousehold("of-amber");
const stranger = await openHousehold("of-cobalt");
const prefix = "/console/api/wallets/{walletId}";
const served = registeredRoutes(server).filter((route) => route.includes(" /console/api"));
const below = served.filter((route) => route.includes(`${prefix}/`)).map((route) => route.replace(prefix, ""));

after(async () => {
  await world.close();
  await upstream.close();
  await stripe.close();
});

async function openHousehold(mark: string): Promise<Household> {
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
  return { ...tenant, accountId, emails, browsers: browsers as Household["browsers"] };
}

interface Asked {
  browser: Browser;
  walletId: string;
  headers?: Record<string, string>;
}

function send(name: string, request: TenantRequest, { browser, walletId, headers = {} }: Asked): Promise<Reply> {
  const [method = "", pattern = ""] = name.split(" ");
  const path = pattern.replaceAll(/\{(\w+)\}/g, (_, parameter: string) => request.path?.[parameter] ?? "");
  const query = new URLSearchParams(request.query).toString();
  const address = `wallets/${walletId}${path}${query && `?${query}`}`;
  if (method === "GET") return browser.open(`/console/api/${address}`, { headers });
  return browser.send(method, address, request.body, { ...request.headers, ...headers });
}

/** All that the household's account has, wallet and team. */
async function readAll(household: Household): Promise<string[]> {
  const team: string[] = [];
  for (const table of ["accounts", "members", "invitations"]) {
    const column = table === "accounts" ? "id" : "account_id";
    const { rows } = await db.owner.query<{ row: string }>(
      `select '${table} ' || to_jsonb(t)::text as row from pb.${table} t where ${column} = $1 order by 1`,
      [household.accountId],
    );
    team.push(...rows.map(({ row }) => row));
  }
  return [...(await readRows(db, household)), ...team];
}

function assertCode(reply: Reply, status: number, code: string): void {
  assert.deepEqual([reply.status, reply.body?.code], [status, code], reply.text);
  assertHeadersOfEveryAnswer(reply.headers);
}

const makesKeys = new Set(["POST /keys", "POST /keys/{id}/rotate"]);
const makesSecrets = new Set(["POST /webhooks", "POST /webhooks/{id}/rotate-secret"]);

/** Kept by nobody on the way, and without a secret that was not made by this very request. */
function assertQuiet(name: string, reply: Reply): void {
  assert.equal(reply.headers.get("cache-control"), "no-store", name);
  if (!makesKeys.has(name)) assert.doesNotMatch(reply.text, /pb_(?:live|test|mgmt)_\w{20,}/, name);
  if (!makesSecrets.has(name)) assert.doesNotMatch(reply.text, /whsec_\w{8,}/, name);
}

test("every route below a wallet has a line that says who may", () => {
  assert.ok(below.length > 25);
  assert.deepEqual(below.toSorted(), Object.keys(access).toSorted());
});

const ranks = ["viewer", "developer", "owner"] as const;

for (const [name, { role: least, isFresh = false, isForSuspended = false }] of Object.entries(access)) {
  const isReading = name.startsWith("GET ");
  const { walletId } = home;

  test(`${name} is for ${least}s${isFresh ? " with a fresh sign-in" : ""}, and for nobody else`, async () => {
    const request = await makeConsoleRequest(db, home, name);
    const before = await readAll(home);
    const nobody = world.openBrowser();
    assertCode(await send(name, request, { browser: nobody, walletId }), 401, "session_required");
    nobody.cookies.set("pennyblack", "x".repeat(43));
    assertCode(await send(name, request, { browser: nobody, walletId }), 401, "session_required");

    for (const role of ranks.slice(0, ranks.indexOf(least))) {
      const reply = await send(name, request, { browser: home.browsers[role], walletId });
      assertCode(reply, 403, "insufficient_role");
    }
    await assertForgeriesRefused(name, request, walletId);
    assert.deepEqual(await readAll(home), before, "a row has changed");
    await assertStale(name, request, { least, isFresh });
  });

  test(`${name} tells a stranger nothing and does nothing for them`, async () => {
    const request = await makeConsoleRequest(db, home, name);
    const before = await readAll(home);
    const browser = stranger.browsers.owner;
    // Their own sign-in is fresh and their role the highest: only the wallet is another's.
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

  test(`${name} of a suspended wallet ${isReading || isForSuspended ? "still answers" : "is refused"}`, async () => {
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

/** The first of the allowed roles with an old sign-in, then every allowed role with a new one. */
async function assertStale(
  name: string,
  request: TenantRequest,
  { least, isFresh }: { least: Role; isFresh: boolean },
): Promise<void> {
  const { walletId } = home;
  if (isFresh) {
    const before = await readAll(home);
    await makeStale(db, home.emails[least]);
    assertCode(
      await send(name, request, { browser: home.browsers[least], walletId }),
      403,
      "reauthentication_required",
    );
    assert.deepEqual(await readAll(home), before, "a row has changed");
    home.browsers[least] = await signInTo(db, server, home.emails[least]);
  }
  for (const role of ranks.slice(ranks.indexOf(least))) {
    const again = role === least ? request : await makeConsoleRequest(db, home, name);
    if (!isFresh) await makeStale(db, home.emails[role]);
    const reply = await send(name, again, { browser: home.browsers[role], walletId });
    assert.ok(reply.status >= 200 && reply.status < 300, `${role}: ${reply.status} ${reply.text}`);
    assertQuiet(name, reply);
    if (!isFresh) home.browsers[role] = await signInTo(db, server, home.emails[role]);
  }
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

async function assertForgeriesRefused(name: string, request: TenantRequest, walletId: string): Promise<void> {
  if (name.startsWith("GET ")) return;
  for (const headers of forgeries) {
    const reply = await send(name, request, { browser: home.browsers.owner, walletId, headers });
    assertCode(reply, 403, "csrf_refused");
  }
}

test("what changes something elsewhere in the console refuses forgeries too, and everything is kept by nobody", async () => {
  const rest = served.filter((route) => !route.includes(`${prefix}/`));
  assert.ok(rest.length >= 7);
  const browser = await world.signIn(home.emails.viewer);
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
  assert.ok((await browser.get("session")).body.person, "a forged sign-out signed somebody out");
});

test("a session's cookie opens nothing but the console, and a key opens nothing in it", async () => {
  const cookie = `pennyblack=${home.browsers.owner.token()}`;
  const { body } = await server.request("/v1/wallet", { headers: { cookie } });
  assert.equal(body.code, "authentication_required");
  const reply = await server.request(`/console/api/wallets/${home.walletId}/wallet`, {
    headers: { "x-api-key": home.management },
  });
  assert.equal(reply.body.code, "session_required");
});

test("no session's token was logged", () => {
  for (const { browsers } of [home, stranger]) {
    for (const browser of Object.values(browsers)) assert.ok(!server.logged().includes(browser.token()));
  }
});
