import assert from "node:assert/strict";
import { createPublicKey, createSecretKey, generateKeyPairSync } from "node:crypto";
import { createServer } from "node:http";
import { after, test } from "node:test";
import { UnsecuredJWT } from "jose";
import { choosePort } from "../../src/dev/choose-port.ts";
import { createFixture } from "../fixture.ts";
import { until } from "../support/assertions/until.ts";
import type { McpClient } from "../support/clients/mcp-clients.ts";
import { type SignedInApp, signInApp } from "../support/clients/mcp-oauth-client.ts";
import { closeAfter } from "../support/close-after.ts";
import { addTestMember, type Browser, openBrowser, openTestAccount, someone } from "../support/console-fixture.ts";
import { lockWallet } from "../support/data/lock-wallet.ts";
import { listen } from "../support/services/listen.ts";
import { startOpenidProvider, type Visitor } from "../support/services/openid-provider.ts";
import type { Reply, TestServer } from "../support/services/server.ts";

// POST /mcp with access tokens of a real OpenID Connect provider, and the official MCP client with its own OAuth flow.

const port = await choosePort({ host: "127.0.0.1" });
const publicUrl = `http://127.0.0.1:${port}`;
const resource = `${publicUrl}/mcp`;
const provider = await startOpenidProvider(publicUrl);
const { db, server, startServer, assertBooksBalance } = await createFixture({
  PORT: String(port),
  PENNYBLACK_PUBLIC_URL: publicUrl,
  PENNYBLACK_TRUSTED_PROXIES: "127.0.0.1",
  ...provider.settings,
});
const clients: McpClient[] = [];
after(async () => {
  await Promise.all(clients.map((client) => client.close()));
  await provider.close();
});

interface Person {
  email: string;
  accountId: string;
  walletId: string;
  browser: Browser;
  visitor: Visitor;
}

/** A person with an account and 1.00 USD, signed in to the console through the provider. */
async function openPerson(name: string): Promise<Person> {
  const email = someone(name);
  const { accountId, walletId } = await openTestAccount(db, email);
  const visitor: Visitor = { email, cookies: new Map(), logins: 0 };
  return { email, accountId, walletId, visitor, browser: await signIn(visitor) };
}

async function signIn(visitor: Visitor): Promise<Browser> {
  const browser = openBrowser(server);
  const { headers } = await browser.get("sign-in/oidc?fresh=1");
  const answer = await provider.visit(headers.get("location") ?? "", visitor);
  const { headers: done } = await browser.open(answer.slice(publicUrl.length));
  assert.equal(done.get("location"), `${publicUrl}/console`);
  return browser;
}

async function send({ browser, walletId }: Person, method: string, path: string, body?: unknown): Promise<Reply> {
  const reply = await browser.send(method, `wallets/${walletId}/${path}`, body, { origin: publicUrl });
  assert.ok(reply.status < 300, reply.text);
  return reply;
}

function turnOn(person: Person, day = "1.00"): Promise<Reply> {
  return send(person, "PUT", "apps", { budget: { day } });
}

async function connect(app: SignedInApp): Promise<McpClient> {
  const client = await app.connect();
  clients.push(client);
  return client;
}

function signInAppOf({ visitor }: Person): Promise<SignedInApp> {
  return signInApp(publicUrl, (url) => provider.visit(url, visitor));
}

const listTools = { jsonrpc: "2.0", id: 1, method: "tools/list" };

async function post(token: string, message: object = listTools, at: TestServer = server): Promise<Reply> {
  const reply = await at.request("/mcp", {
    method: "POST",
    headers: {
      authorization: `Bearer ${token}`,
      "content-type": "application/json",
      accept: "application/json, text/event-stream",
    },
    body: JSON.stringify(message),
  });
  const event = /^data: (.*)$/m.exec(reply.text)?.[1];
  return { ...reply, body: reply.body ?? (event && JSON.parse(event)) };
}

function search(token: string, run?: object, at: TestServer = server): Promise<Reply> {
  const params = { name: "web_search", arguments: { query: "cats", ...(run && { run }) } };
  return post(token, { jsonrpc: "2.0", id: 1, method: "tools/call", params }, at);
}

async function readBalance({ walletId }: Person): Promise<bigint> {
  const { rows } = await db.owner.query(
    "select credited_micros - debited_micros as left from pb.wallets where id = $1",
    [walletId],
  );
  return rows[0]?.["left"];
}

function forge(claims: Record<string, unknown>, options?: Parameters<typeof provider.forgeToken>[1]): Promise<string> {
  return provider.forgeToken({ aud: resource, ...claims }, options);
}

const challenge = `resource_metadata="${publicUrl}/.well-known/oauth-protected-resource/mcp"`;

function assertChallenged(reply: Reply, code: string, fault: RegExp): void {
  assert.deepEqual([reply.status, reply.body.code], [401, code], reply.text);
  assert.match(reply.body.detail, fault);
  const header = reply.headers.get("www-authenticate") ?? "";
  assert.ok(header.endsWith(challenge), header);
  assert.equal(header.includes('error="invalid_token"'), code !== "authentication_required", header);
}

test("the official client signs in, searches within the daily budget, and is rejected once disconnected", async () => {
  const ada = await openPerson("ada");
  await turnOn(ada, "0.02");
  const app = await signInAppOf(ada);
  const client = await connect(app);
  const found = await client.call("web_search", { query: "penny black" });
  assert.equal(found.isError, false, found.text);
  const { charge, balance, key_budgets: budgets } = found.structured;
  assert.deepEqual([charge, balance, budgets[0].period, budgets[0].left], ["0.01", "0.99", "day", "0.01"]);
  assert.equal((await client.call("get_balance")).structured.key_budgets[0].left, "0.01");
  await client.call("web_search", { query: "cats" });
  const spent = await client.call("web_search", { query: "dogs" });
  assert.match(spent.text, /Daily key budget left: 0\.00 of 0\.02 USD.*Reason: key_budget_spent/s);
  assert.equal(await readBalance(ada), 980_000n);

  const { body: list } = await send(ada, "GET", "apps");
  assert.deepEqual(
    list.apps.map(({ client_id: id, email, you }: Record<string, unknown>) => [id, email, you]),
    [[app.clientId, ada.email, true]],
  );
  const [{ key_id: keyId }] = list.apps;
  await send(ada, "PATCH", `keys/${keyId}`, { name: "Research", budget: { day: "0.03" } });
  assert.equal((await client.call("web_search", { query: "dogs" })).isError, false);
  const rotation = await ada.browser.send(
    "POST",
    `wallets/${ada.walletId}/keys/${keyId}/rotate`,
    { grace_seconds: 0 },
    {
      origin: publicUrl,
    },
  );
  assert.equal(rotation.body.code, "key_not_active");

  await send(ada, "DELETE", `keys/${keyId}`);
  await until("the server rejects the app", async () => (await post(app.token)).status === 401);
  assertChallenged(await post(app.token), "access_token_invalid", /disconnected/);
  // A new token does not connect it again; the person must allow it.
  const newToken = await forge({ sub: ada.email, client_id: app.clientId });
  assertChallenged(await post(newToken), "access_token_invalid", /disconnected/);
  await send(ada, "POST", `apps/${keyId}/allow`);
  await until("the app connects again", async () => (await post(app.token)).status === 200);
  assert.notEqual((await send(ada, "GET", "apps")).body.apps[0].key_id, keyId);
  assert.ok(!server.logged().includes(app.token.slice(-40)), "a token is in the log");
  await assertBooksBalance();
});

test("the apps of a person share one daily budget", async () => {
  const ada = await openPerson("ada");
  const bob = await openPerson("bob");
  for (const person of [ada, bob]) await turnOn(person, "0.02");
  const appOf = ({ email }: Person, name: string) => forge({ sub: email, client_id: name });
  const [first, second, ofBob] = await Promise.all([appOf(ada, "first"), appOf(ada, "second"), appOf(bob, "first")]);
  for (const token of [first, second]) assert.ok(!(await search(token)).body.result.isError);
  assert.match((await search(first)).body.result.content[0].text, /key_budget_spent/);
  assert.ok(!(await search(ofBob)).body.result.isError, "another person has another budget");
  await turnOn(ada, "0.03");
  assert.ok(!(await search(second)).body.result.isError, "a raised budget applies to apps that are connected");
  assert.match((await search(first)).body.result.content[0].text, /key_budget_spent/);

  const { body: list } = await send(ada, "GET", "apps");
  await send(ada, "PATCH", `keys/${list.apps[0].key_id}`, { budget: { day: "0.05" } });
  assert.equal((await send(ada, "GET", "apps")).body.settings.budget.day, "0.05");
  await send(ada, "DELETE", "apps");
  await turnOn(ada, "0.04");
  const third = await appOf(ada, "third");
  assert.ok(!(await search(third)).body.result.isError);
  assert.match(
    (await search(third)).body.result.content[0].text,
    /key_budget_spent/,
    "also after apps were turned off",
  );
  assert.equal(await readBalance(ada), 960_000n);
});

test("the metadata names the resource and the provider, and requests without credentials are sent there", async () => {
  for (const path of ["", "/mcp"]) {
    const { status, body } = await server.request(`/.well-known/oauth-protected-resource${path}`);
    assert.deepEqual([status, body.resource, body.authorization_servers], [200, resource, [provider.issuer]]);
    assert.deepEqual(body.bearer_methods_supported, ["header"]);
  }
  assertChallenged(await server.request("/mcp", { method: "POST" }), "authentication_required", /no API key/);
  assertChallenged(await post("pb_live_nonsense"), "api_key_invalid", /API key/);
  const { headers } = await server.request("/v1/search", { method: "POST" });
  assert.equal(headers.get("www-authenticate"), 'Bearer realm="search"', "other routes accept no tokens");
});

test("an app spends nothing before its person has chosen a wallet", async () => {
  const ada = await openPerson("ada");
  const app = await signInAppOf(ada);
  const refused = await search(app.token);
  assert.deepEqual([refused.status, refused.body.code], [403, "app_not_connected"]);
  assert.equal(refused.body.connect_url, `${publicUrl}/console/apps`);
  assert.equal(refused.headers.get("www-authenticate"), null, "signing in again would not help");
  await turnOn(ada);
  await until("the app is connected", async () => (await search(app.token)).status === 200);
  await send(ada, "DELETE", "apps");
  assert.equal((await search(app.token)).status, 200, "turning it off stops only new apps");
  assert.equal((await search(await forge({ sub: ada.email, client_id: "new" }))).status, 403);
  assert.equal((await search(await forge({ sub: "stranger" }))).status, 403);
});

test("rejects tokens that are not for this server, from another issuer, expired or not signed by the provider", async () => {
  const ada = await openPerson("ada");
  await turnOn(ada);
  const claims = { sub: ada.email };
  assert.equal((await post(await forge(claims))).status, 200, "the unchanged token works");
  const now = Math.floor(Date.now() / 1_000);
  const other = generateKeyPairSync("rsa", { modulusLength: 2_048 }).privateKey;
  const publicPem = createPublicKey(provider.signingKey).export({ type: "spki", format: "pem" });
  const publicSecret = createSecretKey(Buffer.from(publicPem));
  const cases: [name: string, token: string, fault: RegExp][] = [
    ["another audience", await forge({ ...claims, aud: `${publicUrl}/other` }), /another audience/],
    ["the audience of the console", await forge({ ...claims, aud: "console" }), /another audience/],
    ["no audience", await forge({ ...claims, aud: undefined }), /aud/],
    ["another issuer", await forge({ ...claims, iss: "https://evil.test" }), /another issuer/],
    ["expired", await forge({ ...claims, exp: now - 60 }), /expired/],
    ["no expiry", await forge({ ...claims, exp: undefined }), /`exp`/],
    ["not yet valid", await forge({ ...claims, nbf: now + 600 }), /`nbf`/],
    ["another key", await forge(claims, { key: other }), /not a valid token/],
    ["an unknown key", await forge(claims, { header: { kid: "unknown" } }), /not a valid token/],
    [
      "HS256 with the public key",
      await forge(claims, { key: publicSecret, header: { alg: "HS256" } }),
      /not a valid token/,
    ],
    [
      "no signature",
      new UnsecuredJWT({ iss: provider.issuer, aud: resource, exp: now + 60, ...claims }).encode(),
      /not a valid/,
    ],
    ["too long", await forge({ ...claims, padding: "x".repeat(7_000) }), /more than 8192/],
    ["an ID token by its type", await forge({ ...claims, typ: "ID" }), /not a bearer access token/],
    ["a logout token", await forge(claims, { header: { typ: "logout+jwt" } }), /not a bearer access token/],
    ["bound to a key", await forge({ ...claims, cnf: { jkt: "x" } }), /not a bearer access token/],
    ["no client", await forge({ ...claims, client_id: undefined }), /`client_id`/],
    ["no person", await forge({ sub: undefined }), /`sub`/],
    ["a long subject", await forge({ sub: "x".repeat(256) }), /`sub`/],
    ["a client with control characters", await forge({ ...claims, client_id: "a\nb" }), /`client_id`/],
    ["changed claims", changeClaims(await forge({ sub: "mallory" }), { sub: ada.email }), /not a valid token/],
  ];
  const { token: issued, idToken } = await signInAppOf(ada);
  assert.equal((await post(issued)).status, 200, "the token of the provider works");
  cases.push(["the ID token of the provider", idToken, /another audience/]);
  for (const [name, token, fault] of cases) {
    const reply = await search(token);
    assert.equal(reply.status, 401, name);
    assertChallenged(reply, "access_token_invalid", fault);
    assert.ok(!reply.text.includes(token.slice(0, 60)), "the token is not repeated");
  }
  assert.equal(await readBalance(ada), 1_000_000n);
});

/** Replaces claims and keeps the signature. */
function changeClaims(token: string, changes: Record<string, unknown>): string {
  const [header, payload = "", signature] = token.split(".");
  const claims = { ...JSON.parse(Buffer.from(payload, "base64url").toString()), ...changes };
  return [header, Buffer.from(JSON.stringify(claims)).toString("base64url"), signature].join(".");
}

test("a person who leaves the account or becomes a viewer loses their apps", async () => {
  const owner = await openPerson("owner");
  for (const [method, body] of [
    ["DELETE", undefined],
    ["PATCH", { role: "viewer" }],
  ] as const) {
    const email = someone("member");
    const personId = await addTestMember(db, owner.accountId, email, "developer");
    const visitor: Visitor = { email, cookies: new Map(), logins: 0 };
    const member: Person = { ...owner, email, visitor, browser: await signIn(visitor) };
    await turnOn(member);
    const token = await forge({ sub: email });
    assert.equal((await search(token)).status, 200);
    const before = await readBalance(owner);
    await send(owner, method, `members/${personId}`, body);
    // A server may still have the key in its cache. The hold checks it again.
    await search(token);
    assert.equal(await readBalance(owner), before);
    await until("the server rejects the app", async () => (await post(token)).status !== 200);
    assert.equal((await search(token)).body.code, "app_not_connected");
    const { rowCount } = await db.owner.query(
      "select from pb.connected_apps where client_id = 'forged' and wallet_id = $1",
      [owner.walletId],
    );
    assert.equal(rowCount, 0);
  }
});

test("a new subject with the same address does not take over the apps of the previous one", async () => {
  const ada = await openPerson("ada");
  await turnOn(ada);
  const token = await forge({ sub: ada.email });
  assert.equal((await search(token)).status, 200);
  const successor = `successor of ${ada.email}`;
  provider.emails.set(successor, ada.email);
  await signIn({ email: successor, cookies: new Map(), logins: 0 });
  const before = await readBalance(ada);
  await search(token);
  assert.equal(await readBalance(ada), before, "the hold finds the key revoked");
  await until("the token of the previous subject is rejected", async () => (await post(token)).status === 403);
  assert.equal((await search(await forge({ sub: successor }))).status, 200);

  // The successor now has another address, and is another person here.
  const bob = await openPerson("bob");
  provider.emails.set(successor, bob.email);
  await signIn({ email: successor, cookies: new Map(), logins: 0 });
  await until(
    "the apps of the other person end",
    async () => (await post(await forge({ sub: successor }))).status === 403,
  );
});

test("people, apps and runs of different wallets are apart", async () => {
  const [ada, bob] = [await openPerson("ada"), await openPerson("bob")];
  await turnOn(ada);
  await turnOn(bob);
  const run = { id: "report", max: "0.01" };
  const [tokenOfAda, tokenOfBob] = [await forge({ sub: ada.email }), await forge({ sub: bob.email })];
  for (const token of [tokenOfAda, tokenOfBob]) assert.equal((await search(token, run)).body.result.isError, undefined);
  assert.match((await search(tokenOfBob, run)).body.result.content[0].text, /run_budget_spent/);
  assert.deepEqual([await readBalance(ada), await readBalance(bob)], [990_000n, 990_000n]);
  const { body: list } = await send(ada, "GET", "apps");
  const ofAda = list.apps[0].key_id;
  const stolen = await bob.browser.send("POST", `wallets/${bob.walletId}/apps/${ofAda}/allow`, undefined, {
    origin: publicUrl,
  });
  assert.equal(stolen.status, 404);
  assert.equal((await bob.browser.get(`wallets/${ada.walletId}/apps`)).status, 404);
});

test("a person can connect 20 apps, and parallel first requests connect one", async () => {
  const ada = await openPerson("ada");
  await turnOn(ada, "0.05");
  const token = await forge({ sub: ada.email, client_id: "https://app.example/client.json" });
  const second = await startServer({ PORT: "0" });
  // Both servers find no key and wait for the wallet.
  const lock = await lockWallet(db, ada, "no key update");
  const first = [server, second].map((at) => post(token, listTools, at));
  try {
    await until("a server waits for the wallet", async () => (await lock.waiting()) > 0, 10_000);
  } finally {
    await lock.release();
  }
  const searches = Array.from({ length: 8 }, (_, index) => search(token, undefined, index % 2 === 0 ? server : second));
  for (const { status } of await Promise.all([...first, ...searches])) assert.equal(status, 200);
  assert.equal(await readBalance(ada), 950_000n, "five searches are within the budget");
  const { body: keys } = await send(ada, "GET", "keys");
  const own = keys.keys.filter(({ start }: { start: string }) => start === "oauth");
  assert.deepEqual(
    own.map(({ name, mode, scopes }: Record<string, unknown>) => [name, mode, scopes]),
    [["app.example", "live", ["search", "wallet:read"]]],
  );
  for (let index = 1; index < 20; index += 1)
    assert.equal((await post(await forge({ sub: ada.email, client_id: `app ${index}` }))).status, 200);
  const refused = await post(await forge({ sub: ada.email, client_id: "app 20" }));
  assert.deepEqual([refused.status, refused.body.code], [403, "app_not_connected"]);
  assert.match(refused.body.detail, /limit of connected apps/);
});

test("an authorization code works once", async () => {
  const ada = await openPerson("ada");
  await turnOn(ada);
  const { exchange } = await signInAppOf(ada);
  assert.equal(exchange.body.get("resource"), resource);
  const replayed = await fetch(exchange.tokenUrl, { method: "POST", body: exchange.body });
  assert.deepEqual([replayed.status, ((await replayed.json()) as { error: string }).error], [400, "invalid_grant"]);
});

test("a provider that does not return its keys is 503", async (t) => {
  const broken = createServer((request, response) => {
    if (!request.url?.startsWith("/.well-known/")) return response.writeHead(500).end();
    const metadata = { issuer: url, authorization_endpoint: `${url}/auth`, jwks_uri: `${url}/jwks` };
    return response.setHeader("content-type", "application/json").end(JSON.stringify(metadata));
  });
  const { url } = closeAfter(await listen(broken), t);
  const cut = await startServer({ PORT: "0", PENNYBLACK_OIDC_ISSUER: url }, t);
  const { status, body } = await post(await forge({ sub: "stranger", iss: url }), listTools, cut);
  assert.deepEqual([status, body.code], [503, "identity_provider_unavailable"]);
});

test("an unavailable provider is 503, and API keys work without it", async (t) => {
  const settings = { PORT: "0", PENNYBLACK_OIDC_ISSUER: "http://127.0.0.1:1" };
  const cut = await startServer(settings, t);
  const ada = await openPerson("ada");
  const { status, body } = await post(await forge({ sub: ada.email }), listTools, cut);
  assert.deepEqual([status, body.code, body.retryable], [503, "identity_provider_unavailable", true]);
  const { body: created } = await send(ada, "POST", "keys", { mode: "test", name: "key" });
  assert.equal((await post(created.key, listTools, cut)).status, 200);
});
