import assert from "node:assert/strict";
import { randomBytes, randomUUIDv7 } from "node:crypto";
import { Writable } from "node:stream";
import { type App, createApp } from "../../../src/app.ts";
import { readConfig, serverSettings } from "../../../src/config/config.ts";
import { createKey, type NewKey } from "../../../src/keys/keys.ts";
import { type Micros, parseUsd } from "../../../src/lib/money.ts";
import { createSecrets } from "../../../src/lib/secrets.ts";
import { adapters } from "../../../src/providers/providers.ts";
import { createLog, type Log } from "../../../src/telemetry/log.ts";
import { topUpBatch } from "../../../src/wallet/statements.ts";
import { readReplaced, replaceConstants, replaceUrls } from "../replace-constants.ts";
import type { TestDatabase } from "./database.ts";
import { withPgBouncer } from "./pgbouncer.ts";

export interface TestServer {
  url: string;
  opsUrl: string;
  /** All log lines of this server. */
  logged: () => string;
  /** A string or bytes are sent as they are, other values as JSON. */
  search(key: string, body: unknown, headers?: Record<string, string>, signal?: AbortSignal): Promise<Reply>;
  /** The base URL is that of the public listener by default. */
  request(path: string, init?: RequestInit, base?: string): Promise<Reply>;
  /** A JSON request with a key, which is usually a management key. */
  manage(key: string, ...request: ManageRequest): Promise<Reply>;
  /** Balance and held amount as a management key sees them. */
  readMoney(managementKey: string): Promise<Money>;
  /** The items of all pages of a list. The path contains the limit, which each page is checked against. */
  readPages(key: string, path: string): Promise<Reply["body"][]>;
  /** An operator request on the internal listener: POST with a body, otherwise GET. The path is below /operator/. */
  operate(path: string, body?: unknown, token?: string): Promise<Reply>;
  /** The metrics of the internal listener. */
  readMetrics(): Promise<string>;
  /** For actions without a route, such as draining. */
  app: App;
  close(): Promise<void>;
}

export type ManageRequest = [method: string, path: string, body?: unknown, headers?: Record<string, string>];

export interface Reply {
  status: number;
  headers: Headers;
  text: string;
  // oxlint-disable-next-line typescript/no-explicit-any -- tests read answers of every shape.
  body: any;
}

export interface Money {
  balance: string;
  held: string;
}

export const operatorToken = "an-operator-token-of-forty-characters-ok";
/** The operator alice, whose token `operate` sends. */
export const operators = `alice:${operatorToken}`;

const testSecret = randomBytes(32);
/** The secret of test servers. */
export const testSecrets = createSecrets([testSecret]);
export const testSigningSeed = randomBytes(32);
export const testPepper = { version: 1, bytes: randomBytes(32) };

/** The test, its upstream and its server share an event loop, which is late whenever the machine is busy. */
const patient = replaceConstants({
  overloadedAfterMs: 3_600_000,
  databaseRequestMs: 60_000,
  redisTimeoutMs: 3_600_000,
});

/** A server in this process, on a free port and a test database. Settings override its environment. */
export async function startTestServer(db: TestDatabase, settings: Record<string, string> = {}): Promise<TestServer> {
  const lines: string[] = [];
  const write = (chunk: unknown, _encoding: string, done: () => void): void => {
    lines.push(String(chunk));
    done();
  };
  const log = createLog("debug", new Writable({ write }));
  const environment = await withPgBouncer({ ...testEnvironment(db), ...patient, ...settings });
  const app = createTestApp(environment, log);
  const url = await app.http.listen({ host: "127.0.0.1", port: Number(settings["PORT"] ?? 0) });
  const opsUrl = await app.ops.listen({ host: "127.0.0.1", port: 0 });

  async function request(path: string, init: RequestInit = {}, base = url): Promise<Reply> {
    const response = await fetch(base + path, init);
    const text = await response.text();
    const isJson = /\bjson\b/.test(response.headers.get("content-type") ?? "");
    return { status: response.status, headers: response.headers, text, body: isJson ? JSON.parse(text) : undefined };
  }

  const manage: TestServer["manage"] = (key, method, path, body, headers = {}) =>
    request(path, {
      method,
      headers: {
        "x-api-key": key,
        ...(body !== undefined && { "content-type": "application/json" }),
        ...headers,
      },
      ...(body !== undefined && { body: JSON.stringify(body) }),
    });

  return {
    url,
    opsUrl,
    logged: () => lines.join(""),
    request,
    manage,
    readMoney: async (managementKey) => {
      const { body } = await manage(managementKey, "GET", "/v1/wallet");
      return { balance: body.balance, held: body.held };
    },
    async readPages(key, path) {
      const items: unknown[] = [];
      for (let cursor = ""; ; ) {
        const { body } = await manage(key, "GET", path + cursor);
        const page = Object.values(body).find((value) => Array.isArray(value)) ?? [];
        assert.ok(page.length <= Number(/limit=(\d+)/.exec(path)?.[1]), path);
        items.push(...page);
        if (body.next_cursor === null) return items;
        cursor = `&cursor=${body.next_cursor}`;
      }
    },
    operate: (path, body, token = operatorToken) =>
      request(
        `/operator/${path}`,
        {
          method: body === undefined ? "GET" : "POST",
          headers: { authorization: `Bearer ${token}`, "content-type": "application/json" },
          ...(body !== undefined && { body: JSON.stringify(body) }),
        },
        opsUrl,
      ),
    readMetrics: async () => (await fetch(`${opsUrl}/metrics`)).text(),
    app,
    search: (key, body, headers = {}, signal) =>
      request("/v1/search", {
        method: "POST",
        headers: { authorization: `Bearer ${key}`, "content-type": "application/json", ...headers },
        body: typeof body === "string" || body instanceof Uint8Array ? body : JSON.stringify(body),
        ...(signal && { signal }),
      }),
    close: () => app.close(),
  };
}

function createTestApp(environment: Record<string, string>, log: Log): App {
  replaceUrls(environment);
  return createApp({ ...readConfig(adapters, serverSettings, environment), ...readReplaced(environment) }, log);
}

/** The settings of a server on a test database, in this process or in its own. */
export function testEnvironment(
  db: Pick<TestDatabase, "ledgerUrl" | "tenantUrl"> & Partial<Pick<TestDatabase, "paymentsUrl" | "peopleUrl">>,
): Record<string, string> {
  return {
    DATABASE_URL: db.ledgerUrl,
    PENNYBLACK_TENANT_DATABASE_URL: db.tenantUrl,
    ...(db.paymentsUrl !== undefined && { PENNYBLACK_PAYMENTS_DATABASE_URL: db.paymentsUrl }),
    ...(db.peopleUrl !== undefined && { PENNYBLACK_PEOPLE_DATABASE_URL: db.peopleUrl }),
    PENNYBLACK_SECRET: testSecret.toString("base64"),
    PENNYBLACK_KEY_PEPPERS: `1:${testPepper.bytes.toString("base64")}`,
    PENNYBLACK_SIGNING_KEYS: testSigningSeed.toString("base64"),
    PENNYBLACK_PUBLIC_URL: "http://search.test",
    // Tests search with test keys as fast as they can.
    ...replaceConstants({ drainMs: 0, walletTestRate: 100_000, walletTestInFlight: 100_000 }),
  };
}

export interface TestWallet {
  walletId: string;
  live: string;
  test: string;
  management: string;
  liveKeyId: string;
}

/** A wallet with a balance such as "0.05" and a key of each kind. */
export async function createTestWallet(db: Pick<TestDatabase, "owner">, balance: string): Promise<TestWallet> {
  const walletId = randomUUIDv7();
  await db.owner.query("insert into pb.wallets (id, name) values ($1, 'test')", [walletId]);
  const amount: Micros = parseUsd(balance) ?? 0n;
  if (amount > 0n) await topUpBatch(db.owner, "top_up", [{ paymentId: `initial-${walletId}`, walletId, amount }]);
  const live = await createTestKey(db, { walletId, mode: "live", name: "live" });
  const test = await createTestKey(db, { walletId, mode: "test", name: "test" });
  const management = await createTestKey(db, { walletId, mode: "mgmt", name: "management" });
  return { walletId, live: live.key, test: test.key, management: management.key, liveKeyId: live.id };
}

/** A live key unless the mode is given. */
export function createTestKey(
  db: Pick<TestDatabase, "owner">,
  key: Partial<NewKey> & Pick<NewKey, "walletId">,
): Promise<{ id: string; key: string }> {
  return createKey(db.owner, testPepper, { mode: "live", name: "test", ...key });
}
