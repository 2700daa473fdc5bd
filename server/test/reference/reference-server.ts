import { readFileSync } from "node:fs";
import type { ReferenceExample } from "../../src/api-docs/reference-example.ts";
import { openIncident } from "../../src/status/status.ts";
import { seedSignedLedger } from "../evidence/seed-ledger.ts";
import { testAct } from "../support/data/test-act.ts";
import { fakeKey, startFakeStripe } from "../support/payments/fake-stripe.ts";
import { replaceConstants } from "../support/replace-constants.ts";
import { createTestDatabase } from "../support/services/database.ts";
import { createTestWallet, startTestServer, type TestServer } from "../support/services/server.ts";
import { startHostileUpstream } from "../support/upstreams/hostile-upstream.ts";
import { type OpenapiDocument, type Operation, readOperations } from "../tenants/read-operations.ts";
import { type Tenant, type TenantRequest, tenantRequests } from "../tenants/tenant-requests.ts";

/** A request of the reference, with values for everything it needs. */
export interface PreparedRequest extends Omit<TenantRequest, "key"> {
  operation: Operation;
  key: string | undefined;
}

export interface ReferenceServer {
  server: TestServer;
  /** Operations with samples, which are all but the one that only Stripe can call. */
  operations: readonly Operation[];
  /** Creates what a request needs, such as the key that it revokes. */
  prepare: (operation: Operation) => Promise<PreparedRequest>;
  /** Sends a request and returns it with its response. */
  record: (request: PreparedRequest) => Promise<ReferenceExample>;
  close: () => Promise<void>;
}

export const examplesFile = new URL("../../src/api-docs/reference-examples.json", import.meta.url);

/** Requests whose values make a better example than those of tenant-requests.ts. */
const requests: Record<string, TenantRequest> = {
  createSearch: { body: { query: "postgresql advisory locks", n: 2 } },
  listEntries: { query: { limit: "2" } },
  listSearches: { query: { limit: "2" } },
  getUsage: { query: { by: "day", group: "key,outcome" } },
  listActivity: { query: { act: "key" } },
  getLens: { path: { name: "programming" } },
  inspectLens: { path: { name: "programming" }, query: { url: "https://www.postgresql.org/docs/" } },
  getProblemPage: { path: { code: "insufficient_balance" } },
  createTopUp: { headers: { "Idempotency-Key": "top-up-2026-11-16" }, body: { amount: "20.00" } },
  createWebhook: { body: { url: "https://hooks.example/pennyblack", events: ["wallet.low_balance"] } },
  createBudget: { body: { mode: "live", name: "research team", amount: "25.00", period: "week" } },
  createKey: { body: { mode: "live", name: "research agent", budget: { day: "1.00" } } },
  rotateKey: { body: { grace_seconds: 3600 } },
  updateWebhook: { body: { description: "Alerts for the finance team" } },
  setAutoTopUp: { body: { threshold: "5.00", amount: "20.00", monthly_cap: "100.00" } },
  setAlerts: { body: { email: "billing@example.org", low_balance: "5.00" } },
  setEndUserSettings: { body: { ids: "hashed" } },
};

export async function startReferenceServer(): Promise<ReferenceServer> {
  const db = await createTestDatabase();
  const upstream = await startHostileUpstream();
  const stripe = await startFakeStripe();
  const server = await startTestServer(db, {
    PENNYBLACK_SEARXNG_URL: upstream.url,
    PENNYBLACK_SECURITY_CONTACT: "mailto:security@example.org",
    PENNYBLACK_STRIPE_SECRET_KEY: fakeKey,
    ...replaceConstants({ stripeUrl: stripe.url }),
  });
  const {
    wallets: [proven],
  } = await seedSignedLedger(db);
  const wallet = await createTestWallet(db, "20.00");
  await db.owner.query("update pb.wallets set name = 'Acme Research' where id = $1", [wallet.walletId]);
  const paid = await server.search(wallet.live, { query: "cats" }, { "search-run": "nightly-report; max=0.50" });
  await db.owner.query(
    `insert into pb.usage_days (day, wallet_id, key_id, mode, category, outcome, was_held, searches, charged_micros)
     select current_date - days, $1, $2, 'live', '', 'ok', true, 140 + days, 10000 * (140 + days)
     from generate_series(1, 2) days`,
    [wallet.walletId, wallet.liveKeyId],
  );
  const tenant: Tenant = {
    ...wallet,
    mark: "nightly-report",
    manage: (...request) => server.manage(wallet.management, ...request),
    paidSearch: paid.headers.get("request-id") ?? "",
  };
  await tenant.manage("PUT", "/v1/wallet/alerts", requests["setAlerts"]?.body);
  await tenant.manage("PUT", "/v1/wallet/auto-top-up", requests["setAutoTopUp"]?.body);
  await tenant.manage("POST", "/v1/webhooks", requests["createWebhook"]?.body);
  const incident = {
    title: "Searches fail",
    impact: "outage",
    text: "A replica takes over.",
    openedAt: undefined,
  } as const;
  await openIncident(db.operator, testAct, incident);
  const document = (await server.request("/openapi.json")).body as OpenapiDocument;
  const operations = readOperations(document).filter(({ path }) => path !== "/v1/payments/stripe/webhook");

  async function prepare(operation: Operation): Promise<PreparedRequest> {
    const { operationId } = operation.described;
    const created = (await tenantRequests[operation.name]?.(tenant)) ?? {};
    const searchOrManage = operation.scope === "search" ? wallet.test : wallet.management;
    // Only the wallets of the signed ledger have closed hours.
    const key = operationId === "getWalletProof" ? proven?.management : (created.key ?? searchOrManage);
    return {
      ...created,
      ...requests[operationId],
      operation,
      key: operation.isPublic ? undefined : key,
    };
  }

  return {
    server,
    operations,
    prepare,
    record: (request) => record(server, request),
    async close() {
      await server.close();
      await upstream.close();
      await stripe.close();
      await db.drop();
    },
  };
}

async function record(server: TestServer, request: PreparedRequest): Promise<ReferenceExample> {
  const { operation, key, path = {}, query = {}, headers = {}, body } = request;
  const filled = operation.path.replaceAll(/\{(\w+)\}/g, (_, name: string) => path[name] ?? "");
  const search = new URLSearchParams(query).toString();
  const reply = await server.request(search === "" ? filled : `${filled}?${search}`, {
    method: operation.method,
    headers: {
      ...(key !== undefined && { authorization: `Bearer ${key}` }),
      ...(body !== undefined && { "content-type": "application/json" }),
      ...headers,
    },
    ...(body !== undefined && { body: JSON.stringify(body) }),
  });
  const isShown = operation.path !== "/openapi.json" && !reply.headers.get("content-type")?.startsWith("text/html");
  const response: unknown = reply.body ?? shortenText(reply.text);
  return {
    ...(Object.keys(path).length > 0 && { path }),
    ...(Object.keys(query).length > 0 && { query }),
    ...(Object.keys(headers).length > 0 && { headers }),
    ...(body !== undefined && { body }),
    status: reply.status,
    ...(isShown && { response: toExample(response) }),
  };
}

function shortenText(text: string): string {
  const lines = text.trimEnd().split("\n");
  return lines.length <= 12 ? text.trimEnd() : [...lines.slice(0, 12), "..."].join("\n");
}

/** Shortens lists and long strings, replaces secrets, and gives the servers their public names. */
function toExample(value: unknown): unknown {
  if (Array.isArray(value)) return (typeof value[0] === "object" ? value.slice(0, 2) : value).map(toExample);
  if (typeof value === "object" && value !== null) {
    return Object.fromEntries(Object.entries(value).map(([name, member]) => [name, toExample(member)]));
  }
  if (typeof value !== "string") return value;
  const text = value
    .replaceAll("http://search.test", "https://pennyblack.example")
    .replaceAll("https://checkout.test/", "https://checkout.stripe.com/")
    .replaceAll(/\b(pb_[a-z]+_)\w{30,}/g, "$1...")
    .replaceAll(/\bwhsec_[\w+/=]+/g, "whsec_...");
  return text.length > 200 && !text.includes("\n") ? `${text.slice(0, 60)}...` : text;
}

export function readExamples(): Record<string, ReferenceExample> {
  return JSON.parse(readFileSync(examplesFile, "utf8")) as Record<string, ReferenceExample>;
}
