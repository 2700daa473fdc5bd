import assert from "node:assert/strict";
import { randomBytes } from "node:crypto";
import { test } from "node:test";
import { createSecrets } from "../lib/secrets.ts";
import { createOperators } from "./operator-auth.ts";

const alice = { name: "alice", token: "a".repeat(40) };
const bob = { name: "bob", token: "b".repeat(40) };
const anySecrets = () => createSecrets([randomBytes(32)]);
const secrets = anySecrets();
const own = { "x-pennyblack-csrf": "1", host: "ops.test:9090" };

function open(operators = [alice, bob], options: { secrets?: typeof secrets; now?: () => number } = {}) {
  return createOperators({ operators, secrets, ...options });
}

const cookieOf = (setCookie: string): string => setCookie.split(";")[0] ?? "";
const session = cookieOf(open().openSession(alice));
const nameOf = (operators: ReturnType<typeof open>, headers: Record<string, string>, method = "GET") =>
  operators.find({ method, headers })?.name;

test("accepts a token or a session cookie, and nothing else", () => {
  assert.equal(nameOf(open(), { authorization: `Bearer ${bob.token}` }), "bob");
  assert.equal(nameOf(open(), { cookie: `a=b; ${session}; c=d` }), "alice");
  const [, value = ""] = session.split("=");
  const [name, until, signature = ""] = value.split("~");
  const forged = [
    "",
    "alice",
    [name, until, ""].join("~"),
    [name, Number(until) + 1, signature].join("~"),
    ["bob", until, signature].join("~"),
    [name, until, `${signature.slice(0, -1)}${signature.endsWith("A") ? "B" : "A"}`].join("~"),
    [name, "1e99", signature].join("~"),
  ];
  for (const value of forged)
    assert.equal(nameOf(open(), { cookie: `pennyblack_operator=${value}` }), undefined, value);
  // An invalid token is rejected even with a valid cookie.
  assert.equal(nameOf(open(), { authorization: "Bearer wrong", cookie: session }), undefined);
});

test("a session ends when the operator, the token or the secret changes, and after eight hours", () => {
  const cookie = { cookie: session };
  assert.equal(nameOf(open([bob]), cookie), undefined);
  assert.equal(nameOf(open([{ ...alice, token: "c".repeat(40) }, bob]), cookie), undefined);
  assert.equal(nameOf(open([alice], { secrets: anySecrets() }), cookie), undefined);
  assert.equal(createOperators({ operators: [alice] }).find({ method: "GET", headers: cookie }), undefined);
  const hours = (count: number) => ({ now: () => Date.now() + count * 3_600_000 });
  assert.equal(nameOf(open([alice], hours(7.99)), cookie), "alice");
  assert.equal(nameOf(open([alice], hours(8.01)), cookie), undefined);
});

test("with a cookie, changes need the CSRF header and our own origin", () => {
  const post = (headers: Record<string, string>) => nameOf(open(), { cookie: session, ...headers }, "POST");
  assert.equal(post(own), "alice");
  assert.equal(post({ ...own, origin: "http://ops.test:9090", "sec-fetch-site": "same-origin" }), "alice");
  assert.equal(post({ host: own.host }), undefined);
  assert.equal(post({ ...own, "x-pennyblack-csrf": "0" }), undefined);
  assert.equal(post({ ...own, origin: "http://evil.test" }), undefined);
  assert.equal(post({ ...own, origin: "null" }), undefined);
  assert.equal(post({ ...own, "sec-fetch-site": "cross-site" }), undefined);
  assert.equal(post({ ...own, "sec-fetch-site": "same-site" }), undefined);
  // A token needs no CSRF protection: browsers do not send it automatically.
  assert.equal(nameOf(open(), { authorization: `Bearer ${bob.token}` }, "POST"), "bob");
});

test("the cookie is HttpOnly and SameSite=Strict", () => {
  const attributes = open().openSession(alice).split("; ").slice(1);
  assert.deepEqual(attributes, ["Max-Age=28800", "Path=/", "HttpOnly", "SameSite=Strict"]);
});

test("a session signed under another listed secret is valid", () => {
  const [former, first] = [randomBytes(32), randomBytes(32)];
  const setCookie = open([alice], { secrets: createSecrets([former]) }).openSession(alice);
  const cookie = { cookie: cookieOf(setCookie) };
  assert.equal(nameOf(open([alice], { secrets: createSecrets([first, former]) }), cookie), alice.name);
  assert.equal(nameOf(open([alice], { secrets: createSecrets([first]) }), cookie), undefined);
});
