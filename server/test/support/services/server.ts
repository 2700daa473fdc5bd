import { randomBytes, randomUUIDv7 } from "node:crypto";
import { Writable } from "node:stream";
import { type App, createApp } from "../../../src/app.ts";
import { readConfig, serverSettings } from "../../../src/config/config.ts";
import { createKey, type NewKey } from "../../../src/keys/keys.ts";
import { type Micros, parseUsd } from "../../../src/lib/money.ts";
import { createLog } from "../../../src/telemetry/log.ts";
import { topUpBatch } from "../../../src/wallet/statements.ts";
import type { TestDatabase } from "./database.ts";

export interface TestServer {
  url: string;
  opsUrl: string;
  /** Every line this server logged, for tests of what must not be there. */
  logged: () => string;
  search(key: string, body: unknown, headers?: Record<string, string>): Promise<Reply>;
  request(path: string, init?: RequestInit): Promise<Reply>;
  /** What a management key sees of its money. */
  readMoney(managementKey: string): Promise<Money>;
  /** The metrics of the internal listener. */
  readMetrics(): Promise<string>;
  /** For what no request can ask for: draining, refusing. */
  app: App;
  close(): Promise<void>;
}

export interface Reply {
  status: number;
  headers: Headers;
  text: string;
  // oxlint-disable-next-line typescript/no-explicit-any -- tests look into answers of every shape.
  body: any;
}

export interface Money {
  balance: string;
  held: string;
}

const testSecret = randomBytes(32).toString("base64");
export const testPepper = { version: 1, bytes: randomBytes(32) };

/** A server of this process, on a free port, over a test database. Settings override the environment it reads. */
export async function startTestServer(db: TestDatabase, settings: Record<string, string> = {}): Promise<TestServer> {
  const lines: string[] = [];
  const log = createLog(
    "debug",
    new Writable({
      write(chunk, _encoding, done) {
        lines.push(String(chunk));
        done();
      },
    }),
  );
  const app = createApp(readConfig(serverSettings, { ...testEnvironment(db), ...settings }), log);
  const url = await app.http.listen({ host: "127.0.0.1", port: Number(settings["PORT"] ?? 0) });
  const opsUrl = await app.ops.listen({ host: "127.0.0.1", port: 0 });

  async function request(path: string, init: RequestInit = {}): Promise<Reply> {
    const response = await fetch(url + path, init);
    const text = await response.text();
    const isJson = response.headers.get("content-type")?.includes("json");
    return { status: response.status, headers: response.headers, text, body: isJson ? JSON.parse(text) : undefined };
  }

  return {
    url,
    opsUrl,
    logged: () => lines.join(""),
    request,
    readMoney: async (managementKey) => {
      const { body } = await request("/v1/wallet", { headers: { "x-api-key": managementKey } });
      return { balance: body.balance, held: body.held };
    },
    readMetrics: async () => (await fetch(`${opsUrl}/metrics`)).text(),
    app,
    search: (key, body, headers = {}) =>
      request("/v1/search", {
        method: "POST",
        headers: { authorization: `Bearer ${key}`, "content-type": "application/json", ...headers },
        body: typeof body === "string" ? body : JSON.stringify(body),
      }),
    close: () => app.close(),
  };
}

/** The settings of a server over a test database, in this process or in one of its own. */
export function testEnvironment(
  db: Pick<TestDatabase, "ledgerUrl" | "tenantUrl"> & Partial<Pick<TestDatabase, "peopleUrl">>,
): Record<string, string> {
  return {
    DATABASE_URL: db.ledgerUrl,
    PENNYBLACK_TENANT_DATABASE_URL: db.tenantUrl,
    ...(db.peopleUrl !== undefined && { PENNYBLACK_PEOPLE_DATABASE_URL: db.peopleUrl }),
    PENNYBLACK_SECRET: testSecret,
    PENNYBLACK_KEY_PEPPERS: `1:${testPepper.bytes.toString("base64")}`,
    PENNYBLACK_PUBLIC_URL: "http://search.test",
    PENNYBLACK_DRAIN_MS: "0",
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

export function createTestKey(db: Pick<TestDatabase, "owner">, key: NewKey): Promise<{ id: string; key: string }> {
  return createKey(db.owner, testPepper, key);
}
