import { randomBytes } from "node:crypto";
import { mintKey } from "../../../src/keys/key-format.ts";
import { type NewKey, revokeKey } from "../../../src/keys/keys.ts";
import { startFakeStripe } from "../../support/payments/fake-stripe.ts";
import { webhookSettings } from "../../support/payments/payment-fixture.ts";
import { createTestDatabase, type TestDatabase } from "../../support/services/database.ts";
import { startOpenidProvider } from "../../support/services/openid-provider.ts";
import { createTestKey, createTestWallet } from "../../support/services/server.ts";
import { startBreakableUpstream } from "./breakable-upstream.ts";
import { openSessions, someAddress } from "./console-sessions.ts";
import { launchServer } from "./launch-server.ts";
import type { Tenant } from "./tenant.ts";

/** A server of its own process over a test database, with payments, operators, Redis and an upstream that can break. */
export interface FuzzFixture {
  db: TestDatabase;
  addresses: Record<"public" | "internal", { port: number }>;
  /** What the words of inputs stand for. New tenants from time to time keep their lists short. */
  tenants: Tenant[];
  renewTenants(): Promise<void>;
  /** What the server wrote last, for a failure's report. */
  serverOutput(): string;
  hasEnded(): boolean;
  close(): Promise<void>;
}

export const tenantCount = 24;
const operatorToken = randomBytes(24).toString("hex");

export async function openFuzzFixture(): Promise<FuzzFixture> {
  const db = await createTestDatabase();
  // Whether what was committed outlives a crash is not asked here, and waiting for the disk is most of a small change.
  await db.owner.query(`alter database ${db.name} set synchronous_commit = off`);
  const upstream = await startBreakableUpstream();
  const stripe = await startFakeStripe();
  const openid = await startOpenidProvider("http://search.test");
  const server = await launchServer(db, {
    ...webhookSettings(stripe.url),
    ...openid.settings,
    PENNYBLACK_SIGN_UP: "open",
    // Letters are queued; nobody sends them.
    PENNYBLACK_SMTP_URL: "smtp://127.0.0.1:1",
    PENNYBLACK_MAIL_FROM: "fuzz@search.test",
    PENNYBLACK_SEARXNG_URL: upstream.url,
    PENNYBLACK_OPERATOR_DATABASE_URL: db.operatorUrl,
    PENNYBLACK_OPERATORS: `fuzz:${operatorToken}`,
    PENNYBLACK_SECURITY_CONTACT: "mailto:security@search.test",
    // Each input comes from an address of its own choice, or its wrong keys would soon be met with 429 alone.
    PENNYBLACK_TRUSTED_PROXIES: "127.0.0.1",
    PENNYBLACK_LOG_LEVEL: "error",
    REDIS_URL: process.env["PENNYBLACK_TEST_REDIS_URL"] ?? "redis://127.0.0.1:6379",
  });
  const fixture: FuzzFixture = {
    db,
    addresses: {
      public: { port: Number(new URL(server.url).port) },
      internal: { port: Number(new URL(server.opsUrl).port) },
    },
    tenants: [],
    async renewTenants() {
      const tenants: Tenant[] = [];
      while (tenants.length < tenantCount) tenants.push(await createTenant(db, server.url));
      fixture.tenants = tenants;
    },
    serverOutput: () => server.output().slice(-4_000),
    hasEnded: () => server.process.exitCode !== null || server.process.signalCode !== null,
    async close() {
      server.process.kill("SIGTERM");
      await server.ended;
      await Promise.all([upstream.close(), stripe.close(), openid.close()]);
      await db.drop();
    },
  };
  await fixture.renewTenants();
  return fixture;
}

async function createTenant(db: TestDatabase, url: string): Promise<Tenant> {
  const [rich, poor, suspended, victim] = [
    await createTestWallet(db, "100000.00"),
    await createTestWallet(db, "0.00"),
    await createTestWallet(db, "1.00"),
    await createTestWallet(db, "1.00"),
  ];
  await db.owner.query("update pb.wallets set suspended_at = now() where id = $1", [suspended.walletId]);
  const key = async (wanted: Partial<NewKey>): Promise<{ id: string; key: string }> =>
    createTestKey(db, { walletId: rich.walletId, mode: "live", name: "fuzz", ...wanted });
  const revoked = await key({});
  await revokeKey(db.owner, { walletId: rich.walletId, keyId: revoked.id });
  const manage = (path: string, body?: unknown): Promise<string> => createThing(url + path, rich.management, body);
  const hookId = await manage("/v1/webhooks", { url: "https://hooks.example/" });
  const fast = { searchesPerSecond: 100_000, searchesInFlight: 100_000 };
  const live = [await key(fast), await key(fast)];
  const test = await key({ ...fast, mode: "test" });
  return {
    ...(await openSessions(db, rich.walletId)),
    live: live.map((each) => each.key),
    liveId: live.map((each) => each.id),
    test: [test.key],
    testId: [test.id],
    mgmt: [rich.management],
    poor: [poor.live],
    suspended: [suspended.live, suspended.management],
    revoked: [revoked.key],
    expired: [(await key({ expiresAt: new Date(0) })).key],
    elsewhere: [(await key({ allowedIps: ["192.0.2.0/24"] })).key],
    scopeless: [(await key({ mode: "mgmt", scopes: ["wallet:read"] })).key],
    operator: [operatorToken],
    victimId: [victim.walletId],
    keyId: [(await key({})).id],
    hookId: [hookId],
    deliveryId: [await manage(`/v1/webhooks/${hookId}/test`)],
    topUpId: [await manage("/v1/wallet/top-ups", { amount: "20.00" })],
  };
}

async function createThing(url: string, key: string, body: unknown): Promise<string> {
  const headers = {
    "x-api-key": key,
    "content-type": "application/json",
    "idempotency-key": randomBytes(9).toString("hex"),
  };
  const response = await fetch(url, {
    method: "POST",
    headers,
    ...(body !== undefined && { body: JSON.stringify(body) }),
  });
  const { id } = (await response.json()) as { id?: string };
  if (response.status === 503) return createThing(url, key, body);
  if (id === undefined) throw new Error(`${url} was answered ${response.status}`);
  return id;
}

/** Words that are made anew each time, and what stands in where a tenant has nothing yet. */
export const madeUp: Record<string, () => string> = {
  unknown: () => mintKey("live"),
  anybody: someAddress,
  broken: () => `${mintKey("live").slice(0, -1)}_`,
};
