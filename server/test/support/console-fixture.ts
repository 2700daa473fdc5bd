import assert from "node:assert/strict";
import { randomInt, randomUUID } from "node:crypto";
import { acceptInvitation, invite, type OpenedAccount, type Role, signUp } from "../../src/accounts/accounts.ts";
import { makeSignInLink } from "../../src/console/console.ts";
import { createFixture, type Fixture } from "../fixture.ts";
import { testAct } from "./data/test-act.ts";
import type { TestDatabase } from "./services/database.ts";
import { type Reply, type TestServer, testPepper } from "./services/server.ts";

export interface ConsoleFixture extends Fixture {
  /** An account with an owner, a wallet with a small balance and its first keys. */
  openAccount(email: string): Promise<OpenedAccount>;
  addMember(accountId: string, email: string, role: Role): Promise<string>;
  /** A browser that is signed in with a link. */
  signIn(email: string): Promise<Browser>;
  /** A browser that is not signed in. */
  openBrowser(): Browser;
}

/** Stores cookies and sends the headers that the console's pages send. */
export interface Browser {
  cookies: Map<string, string>;
  /** The value of the session cookie. */
  token(): string;
  /** The path is relative to /console/api/. */
  get(path: string): Promise<Reply>;
  send(method: string, path: string, body?: unknown, headers?: Record<string, string>): Promise<Reply>;
  /** Any path of the server. Redirects are not followed. */
  open(path: string, init?: RequestInit): Promise<Reply>;
}

export const publicUrl = "http://search.test";

export async function createConsoleFixture(settings: Record<string, string> = {}): Promise<ConsoleFixture> {
  // Each browser has its own address in X-Forwarded-For.
  const fixture = await createFixture({ PENNYBLACK_TRUSTED_PROXIES: "127.0.0.1", ...settings });
  const { db, server } = fixture;
  return {
    ...fixture,
    openAccount: (email) => openTestAccount(db, email),
    addMember: (accountId, email, role) => addTestMember(db, accountId, email, role),
    signIn: (email) => signInTo(db, server, email),
    openBrowser: () => openBrowser(server),
  };
}

export function openTestAccount(db: TestDatabase, email: string): Promise<OpenedAccount> {
  const request = { email, personName: "Ada", accountName: `Account of ${email}`, act: testAct };
  return signUp(db.owner, { ...request, openingCredit: 1_000_000n }, { pepper: testPepper });
}

export async function addTestMember(db: TestDatabase, accountId: string, email: string, role: Role): Promise<string> {
  const made = await invite(db.owner, { accountId, email, role });
  const joined = await acceptInvitation(db.owner, { token: made?.token ?? "", name: "" });
  return joined?.personId ?? assert.fail("not joined");
}

export async function signInTo(db: TestDatabase, server: Pick<TestServer, "url">, email: string): Promise<Browser> {
  const browser = openBrowser(server);
  const reply = await browser.send("POST", "sign-in/token", { token: await makeToken(db, email) });
  assert.equal(reply.status, 200, reply.text);
  return browser;
}

/** The token of a sign-in link for an existing person. */
export async function makeToken(db: TestDatabase, email: string): Promise<string> {
  const link = await makeSignInLink(db.owner, { email, publicUrl, ttlMinutes: 15, act: testAct });
  assert.ok(link, `no person has the address ${email}`);
  return tokenIn(link);
}

export function tokenIn(text: string): string {
  return /#token=([\w-]+)/.exec(text)?.[1] ?? assert.fail(`no token in: ${text}`);
}

/** Moves the sign-in of a person's sessions fifteen minutes into the past. */
export async function makeStale(db: TestDatabase, email: string): Promise<void> {
  const { rowCount } = await db.owner.query(
    `update pb.sessions set authenticated_at = clock_timestamp() - interval '15 minutes'
     where person_id = (select id from pb.people where email = $1)`,
    [email],
  );
  assert.ok(rowCount);
}

export function openBrowser(server: Pick<TestServer, "url">): Browser {
  const cookies = new Map<string, string>();
  const address = `10.${randomInt(256)}.${randomInt(256)}.${randomInt(256)}`;
  async function open(path: string, init: RequestInit = {}): Promise<Reply> {
    const headers = new Headers(init.headers);
    headers.set("x-forwarded-for", address);
    if (cookies.size > 0) headers.set("cookie", [...cookies].map((pair) => pair.join("=")).join("; "));
    const response = await fetch(server.url + path, { ...init, headers, redirect: "manual" });
    for (const line of response.headers.getSetCookie()) {
      const [, name = "", value = ""] = /^([^=]+)=([^;]*)/.exec(line) ?? [];
      if (/Max-Age=0\b/.test(line)) cookies.delete(name);
      else cookies.set(name, value);
    }
    const text = await response.text();
    const isJson = /\bjson\b/.test(response.headers.get("content-type") ?? "");
    return { status: response.status, headers: response.headers, text, body: isJson ? JSON.parse(text) : undefined };
  }
  return {
    cookies,
    token: () => cookies.get("pennyblack") ?? assert.fail("not signed in"),
    open,
    get: (path) => open(`/console/api/${path}`),
    send: (method, path, body, headers = {}) =>
      open(`/console/api/${path}`, {
        method,
        headers: {
          "x-pennyblack-csrf": "1",
          origin: publicUrl,
          "sec-fetch-site": "same-origin",
          ...(body !== undefined && { "content-type": "application/json" }),
          ...headers,
        },
        ...(body !== undefined && { body: typeof body === "string" ? body : JSON.stringify(body) }),
      }),
  };
}

/** An e-mail address that no other test uses. */
export function someone(name: string): string {
  return `${name}.${randomUUID().slice(0, 8)}@console.test`;
}
