import assert from "node:assert/strict";
import { test } from "node:test";
import type { Role } from "../../src/accounts/accounts.ts";
import { type NewKey, revokeKey } from "../../src/keys/keys.ts";
import { type ProblemCode, problemCodes } from "../../src/problems/problems.ts";
import { createFixture } from "../fixture.ts";
import { assertProblem, assertRateLimitHeaders } from "../support/assertions/assert-response.ts";
import { until } from "../support/assertions/until.ts";
import { closeAfter } from "../support/close-after.ts";
import {
  addTestMember,
  type Browser,
  makeStale,
  openBrowser,
  openTestAccount,
  signInTo,
  someone,
} from "../support/console-fixture.ts";
import { seedKeyLimits, seedSharedBudget } from "../support/data/seed-wallet.ts";
import { replaceConstants } from "../support/replace-constants.ts";
import { startOpenidProvider } from "../support/services/openid-provider.ts";
import { createTestKey, type Reply, type TestServer } from "../support/services/server.ts";

// Every problem code: each is caused by a real request and must have the status, members and headers of the table.

const { db, upstream, server, startServer, createWallet } = await createFixture({
  PENNYBLACK_TOP_UP_URL: "https://pay.search.test/top-up",
});
const provider = closeAfter(await startOpenidProvider("http://search.test"));
const wallet = await createWallet("1.00");
const poor = await createWallet("0.00");

// Status, retryable, members, headers.
const table: Record<ProblemCode, [number, boolean, string[], string[]]> = {
  malformed_json: [400, false, ["errors"], []],
  invalid_request: [400, false, ["errors"], []],
  query_too_long: [400, false, ["errors", "characters", "max_characters"], []],
  conflicting_credentials: [400, false, ["errors"], []],
  authentication_required: [401, false, [], ["www-authenticate"]],
  api_key_invalid: [401, false, [], ["www-authenticate"]],
  api_key_revoked: [401, false, [], ["www-authenticate"]],
  api_key_expired: [401, false, [], ["www-authenticate"]],
  end_user_required: [400, false, [], []],
  insufficient_balance: [402, false, ["balance", "price", "owed", "top_up"], ["link"]],
  balance_reserved: [402, true, ["balance", "price"], ["retry-after"]],
  insufficient_scope: [403, false, ["required_scope"], ["www-authenticate"]],
  ip_not_allowed: [403, false, [], []],
  account_suspended: [403, false, [], []],
  key_budget_spent: [403, false, ["limit", "spent", "currency", "resets_at", "budget", "increase"], []],
  run_budget_spent: [403, false, ["limit", "spent", "currency", "resets_at"], []],
  end_user_budget_spent: [403, false, ["limit", "spent", "currency", "resets_at", "budget", "increase"], []],
  not_found: [404, false, [], []],
  method_not_allowed: [405, false, [], ["allow"]],
  idempotency_in_progress: [409, true, [], ["retry-after"]],
  budget_in_use: [409, false, ["keys"], []],
  budget_limit_reached: [409, false, [], []],
  budget_requests_open: [409, false, [], []],
  key_limit_reached: [409, false, [], []],
  key_not_active: [409, false, [], []],
  payload_too_large: [413, false, ["max_bytes"], []],
  unsupported_media_type: [415, false, [], ["accept"]],
  idempotency_key_reused: [422, false, [], []],
  rate_limited: [429, true, ["exceeded"], ["ratelimit", "ratelimit-policy", "retry-after"]],
  concurrency_limited: [429, true, ["exceeded"], ["ratelimit", "ratelimit-policy", "retry-after"]],
  unpaid_calls_limited: [429, true, ["exceeded"], ["ratelimit", "ratelimit-policy", "retry-after"]],
  internal_error: [500, true, [], []],
  upstream_error: [503, true, ["upstream_status"], ["proxy-status", "retry-after"]],
  upstream_invalid_response: [502, true, ["upstream_status"], ["proxy-status", "retry-after"]],
  upstream_unreachable: [502, true, [], ["proxy-status", "retry-after"]],
  payment_processor_unavailable: [502, true, [], ["retry-after"]],
  overloaded: [503, true, ["exceeded"], ["retry-after"]],
  shutting_down: [503, true, [], ["retry-after"]],
  ledger_unavailable: [503, true, [], ["retry-after"]],
  upstream_not_configured: [503, false, [], []],
  payments_not_configured: [503, false, [], []],
  receipts_not_configured: [503, false, [], []],
  upstream_timeout: [504, true, ["deadline_set_by"], ["proxy-status", "retry-after"]],
  link_not_valid: [400, false, [], []],
  session_required: [401, false, [], ["www-authenticate"]],
  csrf_refused: [403, false, [], []],
  insufficient_role: [403, false, [], []],
  reauthentication_required: [403, false, [], []],
  sign_up_closed: [403, false, [], []],
  last_owner: [409, false, [], []],
  access_token_invalid: [401, false, [], ["www-authenticate"]],
  app_not_connected: [403, false, ["connect_url"], []],
  identity_provider_unavailable: [503, true, [], ["retry-after"]],
};

/** Paths of problems that are not caused by a search. */
const instances: Partial<Record<ProblemCode, string>> = {
  not_found: "/v1/search/",
  payment_processor_unavailable: "/v1/wallet/top-ups",
  payments_not_configured: "/v1/wallet/top-ups",
  receipts_not_configured: `/v1/searches/${wallet.walletId}/receipt`,
};

const question = { query: "cats" };
const walletId = wallet.walletId;

/** The path of a reply, if it is not /v1/search. */
const pathOf = new WeakMap<Reply, string>();

async function manage(key: string, method: string, path: string, body: unknown): Promise<Reply> {
  const reply = await server.manage(key, method, path, body);
  pathOf.set(reply, path);
  return reply;
}

/** How each code is caused. */
const cause: Record<ProblemCode, () => Promise<Reply>> = {
  malformed_json: () => server.search(wallet.live, "{"),
  invalid_request: () => server.search(wallet.live, { query: "cats", n: 0 }),
  query_too_long: () => server.search(wallet.live, { query: "x".repeat(2049) }),
  conflicting_credentials: () => server.search(wallet.live, question, { "x-api-key": poor.live }),
  authentication_required: () => server.request("/v1/search", { method: "POST" }),
  api_key_invalid: () => server.search("pb_live_nonsense", question),
  api_key_revoked: async () => {
    const { id, key } = await createTestKey(db, { walletId });
    await revokeKey(db.owner, { walletId, keyId: id });
    return server.search(key, question);
  },
  api_key_expired: () => searchWithKey({ expiresAt: new Date(Date.now() - 1_000) }),
  insufficient_balance: () => server.search(poor.live, question),
  balance_reserved: async () => {
    const small = await createWallet("0.01");
    return whileSearching(small.live, () => server.search(small.live, question));
  },
  insufficient_scope: () => server.search(wallet.management, question),
  ip_not_allowed: () => searchWithKey({ allowedIps: ["10.0.0.0/8"] }),
  account_suspended: async () => {
    const suspended = await createWallet("1.00");
    await db.owner.query("select pb.suspend_wallet($1, true)", [suspended.walletId]);
    return server.search(suspended.live, question);
  },
  key_budget_spent: async () => searchWithKey({ limitsId: await seedKeyLimits(db.owner, walletId, { day: 0n }) }),
  run_budget_spent: async () => {
    const run = { "search-run": "spent; max=0.01" };
    assert.equal((await server.search(wallet.live, question, run)).status, 200);
    return server.search(wallet.live, question, run);
  },
  end_user_budget_spent: async () => {
    const limitsId = await seedKeyLimits(db.owner, walletId, { endUser: { amount: 0n, period: "day" } });
    return searchWithKey({ limitsId }, { "search-for": "ada" });
  },
  end_user_required: async () => {
    const endUser = { amount: 10_000n, period: "day" } as const;
    return searchWithKey({ limitsId: await seedKeyLimits(db.owner, walletId, { endUser }) });
  },
  not_found: () => server.request("/v1/search/", { method: "POST" }),
  method_not_allowed: () => server.request("/v1/search"),
  idempotency_in_progress: () => {
    const headers = { "idempotency-key": "in-progress" };
    return whileSearching(wallet.live, () => server.search(wallet.live, question, headers), headers);
  },
  budget_in_use: async () => {
    const shared = await seedSharedBudget(db.owner, walletId, { amount: 10_000n });
    await createTestKey(db, { walletId, limitsId: await seedKeyLimits(db.owner, walletId, { shared: [shared] }) });
    return manage(wallet.management, "DELETE", `/v1/budgets/${shared}`, undefined);
  },
  budget_requests_open: async () => {
    const budget = await seedSharedBudget(db.owner, walletId, { amount: 10_000n });
    const limitsId = await seedKeyLimits(db.owner, walletId, { shared: [budget] });
    const { key } = await createTestKey(db, { walletId, limitsId, scopes: ["search", "budgets:request"] });
    const ask = (hours: number): Promise<Reply> =>
      manage(key, "POST", "/v1/key/budget-requests", { budget, amount: "1.00", hours });
    for (const hours of [1, 2, 3]) assert.equal((await ask(hours)).status, 200);
    return ask(4);
  },
  budget_limit_reached: async () => {
    const full = await createWallet("0.00");
    await db.owner.query(
      `insert into pb.budgets (id, wallet_id, mode, name, amount_micros)
       select gen_random_uuid(), $1, 'test', 'one of many', 10000 from generate_series(1, 1000)`,
      [full.walletId],
    );
    const tooMany = { mode: "test", name: "one too many", amount: "1.00", period: "day" };
    return manage(full.management, "POST", "/v1/budgets", tooMany);
  },
  key_limit_reached: async () => {
    const full = await createWallet("0.00");
    await db.owner.query(
      `insert into pb.keys (id, wallet_id, mode, name, start, pepper_version, digest, scopes)
       select gen_random_uuid(), $1::uuid, 'test', 'one of many', 'pb_test_', 1, sha256(($1::text || n)::bytea), '{search}'
       from generate_series(1, 997) n`,
      [full.walletId],
    );
    return manage(full.management, "POST", "/v1/keys", { mode: "test", name: "one too many" });
  },
  key_not_active: async () => {
    const { id } = await createTestKey(db, { walletId });
    await revokeKey(db.owner, { walletId, keyId: id });
    return manage(wallet.management, "POST", `/v1/keys/${id}/rotate`, { grace_seconds: 0 });
  },
  payload_too_large: () => server.search(wallet.live, " ".repeat(16_385)),
  unsupported_media_type: () => server.search(wallet.live, question, { "content-type": "text/plain" }),
  idempotency_key_reused: async () => {
    const headers = { "idempotency-key": "reused" };
    await server.search(wallet.live, question, headers);
    return server.search(wallet.live, { query: "dogs" }, headers);
  },
  rate_limited: async () => {
    const { key } = await createTestKey(db, { walletId, mode: "test", searchesPerSecond: 1 });
    const replies = await Promise.all([server.search(key, question), server.search(key, question)]);
    return replies.find((reply) => reply.status !== 200) ?? assert.fail("both succeeded");
  },
  concurrency_limited: async () => {
    const { key } = await createTestKey(db, { walletId, searchesInFlight: 1 });
    return whileSearching(key, () => server.search(key, question));
  },
  unpaid_calls_limited: async () => {
    const impatient = await createWallet("0.20");
    const search = () => server.search(impatient.live, question, { prefer: "wait=1" });
    await upstream.behave("slow_headers");
    await Promise.all(Array.from({ length: 20 }, search));
    await upstream.behave("ok");
    return search();
  },
  internal_error: async () => {
    // A stored answer that cannot be decrypted is the only internal error that a test can cause from outside.
    const headers = { "idempotency-key": "corrupted" };
    await server.search(wallet.test, question, headers);
    await db.owner.query("update pb.idempotency set answer = '\\x00' where wallet_id = $1 and mode = 'test'", [
      walletId,
    ]);
    return server.search(wallet.test, question, headers);
  },
  upstream_error: () => searchOf("status_503"),
  upstream_invalid_response: () => searchOf("truncated_json"),
  upstream_unreachable: () => searchOf("reset_before_headers"),
  payment_processor_unavailable: async () => {
    // No server listens on port 1.
    const noStripe = replaceConstants({ stripeUrl: "http://127.0.0.1:1" });
    return topUp(await startServer({ PENNYBLACK_STRIPE_SECRET_KEY: "sk_test_12345678", ...noStripe }));
  },
  overloaded: () => overload(),
  shutting_down: async () => {
    const stopping = await startServer();
    stopping.app.refuseRequests();
    return stopping.search(wallet.live, question);
  },
  ledger_unavailable: async () => {
    await db.owner.query("revoke execute on function pb.hold from pennyblack_ledger");
    const calls = upstream.requests.length;
    const reply = await server.search(poor.live, question);
    await db.owner.query("grant execute on function pb.hold to pennyblack_ledger");
    assert.equal(upstream.requests.length, calls, "the upstream was called without a hold");
    return reply;
  },
  upstream_not_configured: async () => {
    const bare = await startServer({ PENNYBLACK_SEARXNG_URL: "" });
    return bare.search(wallet.live, question);
  },
  payments_not_configured: () => topUp(server),
  receipts_not_configured: async () => {
    const bare = await startServer({ PENNYBLACK_SIGNING_KEYS: "" });
    return bare.manage(wallet.management, "GET", `/v1/searches/${walletId}/receipt`);
  },
  // A real timeout takes 9 seconds; find-hits.test.ts tests it with a shorter deadline.
  upstream_timeout: () => server.search(wallet.test, { query: "test:upstream_timeout" }),
  link_not_valid: () => inConsole(openBrowser(server), "POST", "sign-in/token", { token: "nonsense" }),
  session_required: () => inConsole(openBrowser(server), "GET", `wallets/${walletId}/keys`),
  csrf_refused: async () => {
    const reply = await server.request("/console/api/sign-out", { method: "POST" });
    pathOf.set(reply, "/console/api/sign-out");
    return reply;
  },
  insufficient_role: async () => {
    const { browser, walletId: own } = await signInAs("viewer");
    return inConsole(browser, "PUT", `wallets/${own}/wallet/alerts`, {});
  },
  reauthentication_required: async () => {
    const { browser, walletId: own, email } = await signInAs("developer");
    await makeStale(db, email);
    return inConsole(browser, "POST", `wallets/${own}/keys`, { mode: "live", name: "late" });
  },
  sign_up_closed: async () => {
    const { browser } = await signInAs("viewer");
    return inConsole(browser, "POST", "accounts", { account_name: "Another", person_name: "" });
  },
  last_owner: async () => {
    const { browser, walletId: own, personId } = await signInAs("owner");
    return inConsole(browser, "DELETE", `wallets/${own}/members/${personId}`);
  },
  access_token_invalid: () => callMcp(provider.settings, "e30.e30.e30"),
  app_not_connected: async () =>
    callMcp(provider.settings, await provider.forgeToken({ sub: "stranger", aud: "http://search.test/mcp" })),
  identity_provider_unavailable: () =>
    callMcp({ ...provider.settings, PENNYBLACK_OIDC_ISSUER: "http://127.0.0.1:1" }, "e30.e30.e30"),
};

async function callMcp(settings: Record<string, string>, token: string): Promise<Reply> {
  const withProvider = await startServer(settings);
  const reply = await withProvider.request("/mcp", { method: "POST", headers: { authorization: `Bearer ${token}` } });
  pathOf.set(reply, "/mcp");
  return reply;
}

async function searchWithKey(options: Partial<NewKey>, headers: Record<string, string> = {}): Promise<Reply> {
  return server.search((await createTestKey(db, { walletId, ...options })).key, question, headers);
}

/** Signs in a person with that role in a new account. */
async function signInAs(role: Role): Promise<{ browser: Browser; walletId: string; personId: string; email: string }> {
  const email = someone(role);
  const { accountId, walletId: own } = await openTestAccount(db, role === "owner" ? email : someone("boss"));
  if (role !== "owner") await addTestMember(db, accountId, email, role);
  const browser = await signInTo(db, server, email);
  const { body } = await browser.get("session");
  return { browser, walletId: own, personId: body.person.id, email };
}

async function inConsole(browser: Browser, method: string, path: string, body?: unknown): Promise<Reply> {
  const reply = method === "GET" ? await browser.get(path) : await browser.send(method, path, body);
  pathOf.set(reply, `/console/api/${path}`);
  return reply;
}

function topUp(at: TestServer): Promise<Reply> {
  const headers = { "idempotency-key": "top-up" };
  return at.manage(wallet.management, "POST", "/v1/wallet/top-ups", { amount: "20.00" }, headers);
}

async function searchOf(behaviour: Parameters<typeof upstream.behave>[0]): Promise<Reply> {
  await upstream.behave(behaviour);
  const reply = await server.search(wallet.live, question);
  await upstream.behave("ok");
  return reply;
}

/** Calls `act` while a search of the key waits for its upstream. */
async function whileSearching(key: string, act: () => Promise<Reply>, headers = {}): Promise<Reply> {
  await upstream.behave("ok_when_released");
  upstream.requests.length = 0;
  const first = server.search(key, question, headers);
  await until("the upstream is called", () => upstream.requests.length === 1);
  const reply = await act();
  upstream.release();
  assert.equal((await first).status, 200);
  await upstream.behave("ok");
  return reply;
}

/** Fills all slots of a server. A wallet can have a quarter of them. */
async function overload(): Promise<Reply> {
  const small = await startServer(replaceConstants({ maxInFlight: 16 }));
  const wallets = await Promise.all(Array.from({ length: 4 }, () => createWallet("1.00")));
  await upstream.behave("ok_when_released");
  upstream.requests.length = 0;
  const searches = Array.from({ length: 16 }, (_, index) => small.search(wallets[index % 4]?.live ?? "", question));
  await until("all are in flight", () => upstream.requests.length === 16);
  const reply = await small.search(wallet.live, question);
  upstream.release();
  for (const { status } of await Promise.all(searches)) assert.equal(status, 200);
  await upstream.behave("ok");
  return reply;
}

const produced = new Map<ProblemCode, Reply>();

for (const code of problemCodes) {
  test(`${code} has the documented status, members and headers`, async () => {
    const reply = await cause[code]();
    produced.set(code, reply);
    const [status, retryable, members, headers] = table[code];
    const body = assertProblem(reply, code, instances[code] ?? pathOf.get(reply));
    assert.equal(reply.status, status);
    assert.equal(body["retryable"], retryable);
    for (const member of members) assert.ok(member in body, `no member ${member}`);
    for (const header of headers) assert.ok(reply.headers.has(header), `no header ${header}`);
    if (reply.headers.has("retry-after"))
      assert.match(reply.headers.get("retry-after") ?? "", /^([1-9]|[1-9]\d|1[01]\d|120)$/);
    // Retry-After only where a retry can help.
    if (!retryable) assert.equal(reply.headers.get("retry-after"), null);
  });
}

test("each input error has a JSON Pointer, a code and a detail", () => {
  for (const code of ["malformed_json", "invalid_request", "query_too_long", "conflicting_credentials"] as const) {
    const errors: Record<string, string>[] = (produced.get(code) ?? assert.fail()).body.errors;
    assert.ok(errors.length > 0);
    for (const fault of errors) {
      assert.deepEqual(Object.keys(fault), ["pointer", "code", "detail"]);
      assert.match(fault["pointer"] ?? "", /^#(\/[^/]+)?$/);
    }
  }
});

test("insufficient_balance links to the top-up page", () => {
  const { body, headers } = produced.get("insufficient_balance") ?? assert.fail();
  assert.deepEqual([body.balance, body.price, body.currency], ["0.00", "0.01", "usd"]);
  assert.equal(body.top_up.url, "https://pay.search.test/top-up");
  assert.equal(headers.get("link"), '<https://pay.search.test/top-up>; rel="payment"');
});

test("balance_reserved reports the balance and the price", () => {
  const { body } = produced.get("balance_reserved") ?? assert.fail();
  assert.deepEqual([body.balance, body.price], ["0.01", "0.01"]);
});

test("both 429 problems return the rate limit headers", () => {
  const { headers } = produced.get("rate_limited") ?? assert.fail();
  assertRateLimitHeaders(headers, 1);
  assert.match(headers.get("ratelimit") ?? "", /r=0/);
  assertRateLimitHeaders(produced.get("concurrency_limited")?.headers ?? new Headers(), 1000);
});

test("internal_error reveals no internals", () => {
  const { text } = produced.get("internal_error") ?? assert.fail();
  assert.doesNotMatch(text, /stack|decipher|auth tag|Invalid|\.ts|node_modules|Error:/);
});

test("a test query returns any problem code with the same members and headers", async () => {
  for (const code of problemCodes) {
    const reply = await server.search(wallet.test, { query: `test:${code}` });
    const body = assertProblem(reply, code);
    const [, , members, headers] = table[code];
    // Test mode calls no upstream, so upstream_invalid_response has no upstream status.
    for (const member of members) {
      if (code !== "upstream_invalid_response") assert.ok(member in body, `${code}: ${member}`);
    }
    for (const header of headers) assert.ok(reply.headers.has(header), `${code}: ${header}`);
    assert.equal(reply.headers.has("retry-after"), table[code][1] && code !== "internal_error", code);
    const real = Object.keys(produced.get(code)?.body ?? assert.fail(code));
    const extra = Object.keys(body).filter((member) => !real.includes(member));
    assert.deepEqual(extra, [], `${code}: a test query returns members that the real problem does not have`);
  }
});

test("no problem leaves a hold behind", async () => {
  assert.equal((await server.readMoney(wallet.management)).held, "0.00");
});
