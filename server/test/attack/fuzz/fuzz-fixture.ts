import { randomBytes } from "node:crypto";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { choosePort } from "../../../src/dev/choose-port.ts";
import { mintKey } from "../../../src/keys/key-format.ts";
import { type NewKey, revokeKey } from "../../../src/keys/keys.ts";
import { startFakeStripe } from "../../support/payments/fake-stripe.ts";
import { webhookSettings } from "../../support/payments/payment-fixture.ts";
import { createTestDatabase, type TestDatabase } from "../../support/services/database.ts";
import { startOpenidProvider } from "../../support/services/openid-provider.ts";
import { createTestKey, createTestWallet } from "../../support/services/server.ts";
import { type BreakableUpstream, startBreakableUpstream } from "./breakable-upstream.ts";
import { createAddress, openSessions } from "./console-sessions.ts";
import { type CpuMeter, cpuProbe, openCpuMeter } from "./cost/cpu-meter.ts";
import { launchServer } from "./launch-server.ts";
import type { Tenant } from "./tenant.ts";

/** A server process with a test database, payments, operators, Redis and an upstream that can fail. */
export interface FuzzFixture {
  db: TestDatabase;
  addresses: Record<"public" | "internal", { port: number }>;
  /** The values of placeholders. Tenants are replaced from time to time to limit the number of their rows. */
  tenants: Tenant[];
  renewTenants(): Promise<void>;
  upstream: BreakableUpstream;
  /** The CPU time of the server. */
  cpu: CpuMeter;
  /** The last output of the server, for the report of a failure. */
  serverOutput(): string;
  hasEnded(): boolean;
  close(): Promise<void>;
}

export const tenantCount = 24;
const operatorToken = randomBytes(24).toString("hex");

export async function openFuzzFixture(): Promise<FuzzFixture> {
  const db = await createTestDatabase();
  // Durability is not tested here, and waiting for fsync would take most of the time.
  await db.owner.query(`alter database ${db.name} set synchronous_commit = off`);
  const upstream = await startBreakableUpstream();
  const stripe = await startFakeStripe();
  const openid = await startOpenidProvider("http://search.test");
  const folder = await mkdtemp(join(tmpdir(), "pennyblack-fuzz-"));
  const fleet = join(folder, "fleet.json");
  // A cell that is not reachable, with a token file that does not exist.
  await writeFile(fleet, JSON.stringify({ cells: [{ name: "eu1", url: "http://127.0.0.1:1", tokenFile: "token" }] }));
  const probePort = await choosePort({ host: "127.0.0.1" });
  const settings = {
    ...webhookSettings(stripe.url),
    ...openid.settings,
    PENNYBLACK_SIGN_UP: "open",
    // E-mails are queued and not sent.
    PENNYBLACK_SMTP_URL: "smtp://127.0.0.1:1",
    PENNYBLACK_MAIL_FROM: "fuzz@search.test",
    PENNYBLACK_SEARXNG_URL: upstream.url,
    PENNYBLACK_OPERATOR_DATABASE_URL: db.operatorUrl,
    PENNYBLACK_OPERATORS: `fuzz:${operatorToken}`,
    PENNYBLACK_FLEET: fleet,
    PENNYBLACK_SECURITY_CONTACT: "mailto:security@search.test",
    // Each input has its own client address; otherwise the limit of invalid keys would return 429.
    PENNYBLACK_TRUSTED_PROXIES: "127.0.0.1",
    PENNYBLACK_LOG_LEVEL: "error",
    REDIS_URL: process.env["PENNYBLACK_TEST_REDIS_URL"] ?? "redis://127.0.0.1:6379",
    CPU_PROBE_PORT: String(probePort),
  };
  const server = await launchServer(db, settings, [cpuProbe]);
  const cpu = await openCpuMeter(probePort);
  const fixture: FuzzFixture = {
    db,
    upstream,
    cpu,
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
      cpu.close();
      server.process.kill("SIGTERM");
      await server.ended;
      await Promise.all([upstream.close(), stripe.close(), openid.close()]);
      await rm(folder, { recursive: true });
      await db.drop();
    },
  };
  await fixture.renewTenants();
  return fixture;
}

async function createTenant(db: TestDatabase, url: string): Promise<Tenant> {
  const [funded, empty, suspended, victim] = [
    await createTestWallet(db, "100000.00"),
    await createTestWallet(db, "0.00"),
    await createTestWallet(db, "1.00"),
    await createTestWallet(db, "1.00"),
  ];
  await db.owner.query("update pb.wallets set suspended_at = now() where id = $1", [suspended.walletId]);
  const key = async (options: Partial<NewKey>): Promise<{ id: string; key: string }> =>
    createTestKey(db, { walletId: funded.walletId, mode: "live", name: "fuzz", ...options });
  const revoked = await key({});
  await revokeKey(db.owner, { walletId: funded.walletId, keyId: revoked.id });
  const manage = (path: string, body?: unknown): Promise<string> => createResource(url + path, funded.management, body);
  const hookId = await manage("/v1/webhooks", { url: "https://hooks.example/" });
  const fast = { searchesPerSecond: 100_000, searchesInFlight: 100_000 };
  const live = [await key(fast), await key(fast)];
  const test = await key({ ...fast, mode: "test" });
  return {
    ...(await openSessions(db, funded.walletId)),
    live: live.map((each) => each.key),
    liveId: live.map((each) => each.id),
    test: [test.key],
    testId: [test.id],
    mgmt: [funded.management],
    empty: [empty.live],
    suspended: [suspended.live, suspended.management],
    revoked: [revoked.key],
    expired: [(await key({ expiresAt: new Date(0) })).key],
    elsewhere: [(await key({ allowedIps: ["192.0.2.0/24"] })).key],
    scopeless: [(await key({ mode: "mgmt", scopes: ["wallet:read"] })).key],
    operator: [operatorToken],
    victimId: [victim.walletId],
    keyId: [(await key({})).id],
    budgetId: [await manage("/v1/budgets", { mode: "live", name: "fuzz", amount: "1.00", period: "week" })],
    hookId: [hookId],
    deliveryId: [await manage(`/v1/webhooks/${hookId}/test`)],
    topUpId: [await manage("/v1/wallet/top-ups", { amount: "20.00" })],
  };
}

async function createResource(url: string, key: string, body: unknown): Promise<string> {
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
  if (response.status === 503) return createResource(url, key, body);
  if (id === undefined) throw new Error(`${url} returned ${response.status}`);
  return id;
}

/** Placeholders with a new value each time, used where a tenant has none. */
export const generatedValues: Record<string, () => string> = {
  unknown: () => mintKey("live"),
  address: createAddress,
  broken: () => `${mintKey("live").slice(0, -1)}_`,
};
