import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import type { Reply, TestWallet } from "../support/services/server.ts";

// A request for each route with parameters. A new route with a path parameter, a body or an id parameter fails
// two-tenants.test.ts until it has an entry in this table.

export interface Tenant extends TestWallet {
  /** Part of the name of everything the tenant owns, so that responses to other tenants can be searched for it. */
  mark: string;
  /** Sends a request with the management key. */
  manage: (method: string, path: string, body?: unknown, headers?: Record<string, string>) => Promise<Reply>;
  /** The Request-Id of a paid search. */
  paidSearch: string;
}

/** A valid request: the tenant it was created for gets 2xx. */
export interface TenantRequest {
  /** A value for each path parameter. */
  path?: Record<string, string>;
  /** A value for each parameter that identifies a resource, such as request_id. Cursors are tested separately. */
  query?: Record<string, string>;
  headers?: Record<string, string>;
  body?: unknown;
  /** A key of the tenant with the scope of the route. Default: its search or management key. */
  key?: string;
}

/** Creates the rows the request needs. A list needs at least two. */
export type CreateRequest = (tenant: Tenant) => Promise<TenantRequest>;

export const tenantRequests: Record<string, CreateRequest> = {
  "POST /v1/search": async () => ({ body: { query: "cats" } }),
  "GET /v1/wallet/entries": async ({ paidSearch }) => ({ query: { request_id: paidSearch } }),
  "GET /v1/searches": async (tenant) => {
    await searchInRun(tenant, tenant.mark);
    return { query: { key_id: tenant.liveKeyId } };
  },
  "GET /v1/searches/{id}": async ({ paidSearch }) => ({ path: { id: paidSearch } }),
  "GET /v1/searches/{id}/receipt": async ({ paidSearch }) => ({ path: { id: paidSearch } }),
  "GET /v1/runs": async (tenant) => {
    for (const end of ["a", "b"]) await searchInRun(tenant, `${tenant.mark}-${end}`);
    return {};
  },
  "GET /v1/activity": listOwnChanges,
  "GET /v1/activity.jsonl": listOwnChanges,
  "POST /v1/keys": async ({ mark }) => ({ body: { mode: "live", name: `${mark} agent`, budget: { day: "1.00" } } }),
  "GET /v1/keys/{id}": async (tenant) => ({ path: { id: await createKey(tenant) } }),
  "PATCH /v1/keys/{id}": async (tenant) => ({
    path: { id: await createKey(tenant) },
    body: { searches_per_second: 5 },
  }),
  "DELETE /v1/keys/{id}": async (tenant) => ({ path: { id: await createKey(tenant) } }),
  "POST /v1/keys/{id}/rotate": async (tenant) => ({
    path: { id: await createKey(tenant) },
    body: { grace_seconds: 0 },
  }),
  "GET /v1/budgets": async (tenant) => {
    for (let count = 0; count < 2; count += 1) await createBudget(tenant);
    return {};
  },
  "POST /v1/budgets": async ({ mark }) => ({ body: budgetOf(mark) }),
  "GET /v1/budgets/{id}": async (tenant) => ({ path: { id: await createBudget(tenant) } }),
  "PATCH /v1/budgets/{id}": async (tenant) => ({ path: { id: await createBudget(tenant) }, body: { amount: "2.00" } }),
  "DELETE /v1/budgets/{id}": async (tenant) => ({ path: { id: await createBudget(tenant) } }),
  "POST /v1/wallet/top-ups": async ({ mark }) => ({
    headers: { "idempotency-key": `${mark} ${randomUUID()}` },
    body: { amount: "20.00" },
  }),
  "GET /v1/wallet/top-ups": async (tenant) => {
    for (let count = 0; count < 2; count += 1) await openTopUp(tenant);
    return {};
  },
  "GET /v1/wallet/top-ups/{id}": async (tenant) => ({ path: { id: await openTopUp(tenant) } }),
  "GET /v1/wallet/top-ups/{id}/receipt": async (tenant) => ({ path: { id: await openTopUp(tenant) } }),
  "PUT /v1/wallet/auto-top-up": async () => ({
    body: { threshold: "5.00", amount: "20.00", daily_cap: "40.00", monthly_cap: "100.00" },
  }),
  "PUT /v1/wallet/end-users": async () => ({ body: { ids: "hashed" } }),
  "PUT /v1/wallet/alerts": async ({ mark }) => ({ body: { email: `${mark}@example.org`, low_balance: "1.00" } }),
  "POST /v1/webhooks": async ({ mark }) => ({ body: { url: `https://hooks.example/${mark}` } }),
  "POST /v1/key/budget-requests": async (tenant) => {
    const budget = await createBudget(tenant);
    const agent = {
      mode: "live",
      name: `${tenant.mark} agent`,
      budgets: [budget],
      scopes: ["search", "budgets:request"],
    };
    const { body } = await tenant.manage("POST", "/v1/keys", agent);
    return { key: body.key, body: { budget, amount: "1.00", hours: 24 } };
  },
  "GET /v1/webhooks/{id}": async (tenant) => ({ path: { id: await findHook(tenant) } }),
  "PATCH /v1/webhooks/{id}": async (tenant) => ({ path: { id: await findHook(tenant) }, body: { enabled: true } }),
  "DELETE /v1/webhooks/{id}": async (tenant) => ({ path: { id: await createHook(tenant) } }),
  "POST /v1/webhooks/{id}/rotate-secret": async (tenant) => ({ path: { id: await findHook(tenant) } }),
  "POST /v1/webhooks/{id}/test": async (tenant) => ({ path: { id: await findHook(tenant) } }),
  "GET /v1/webhooks/{id}/deliveries": async (tenant) => {
    const id = await findHook(tenant);
    for (let count = 0; count < 2; count += 1) await tenant.manage("POST", `/v1/webhooks/${id}/test`);
    return { path: { id } };
  },
  "POST /v1/webhooks/deliveries/{id}/replay": async (tenant) => {
    const id = await findHook(tenant);
    await tenant.manage("POST", `/v1/webhooks/${id}/test`);
    const { body } = await tenant.manage("GET", `/v1/webhooks/${id}/deliveries`);
    return { path: { id: body.deliveries[0].id } };
  },
};

/** Two changes of one key by the management key. */
async function listOwnChanges(tenant: Tenant): Promise<TenantRequest> {
  const id = await createKey(tenant);
  await tenant.manage("PATCH", `/v1/keys/${id}`, { searches_per_second: 5 });
  const { body } = await tenant.manage("GET", "/v1/key");
  return { query: { subject_id: id, actor_id: body.id } };
}

async function searchInRun({ manage, live }: Tenant, run: string): Promise<void> {
  await manage("POST", "/v1/search", { query: "cats" }, { "x-api-key": live, "search-run": `${run}; max=1.00` });
}

async function openTopUp({ manage, mark }: Tenant): Promise<string> {
  const headers = { "idempotency-key": `${mark} ${randomUUID()}` };
  const { body } = await manage("POST", "/v1/wallet/top-ups", { amount: "20.00" }, headers);
  return body.id;
}

async function findHook(tenant: Tenant): Promise<string> {
  const { status, body } = await tenant.manage("GET", "/v1/webhooks");
  assert.equal(status, 200, JSON.stringify(body));
  return body.endpoints[0]?.id ?? (await createHook(tenant));
}

async function createHook({ manage, mark }: Tenant): Promise<string> {
  const { body } = await manage("POST", "/v1/webhooks", { url: `https://hooks.example/${mark}` });
  return body.id;
}

const budgetOf = (mark: string) => ({ mode: "live", name: `${mark} budget`, amount: "1.00", period: "week" });

async function createBudget({ manage, mark }: Tenant): Promise<string> {
  const { body } = await manage("POST", "/v1/budgets", budgetOf(mark));
  return body.id;
}

async function createKey({ manage, mark }: Tenant): Promise<string> {
  const { body } = await manage("POST", "/v1/keys", { mode: "live", name: `${mark} key`, budget: { total: "1.00" } });
  return body.id;
}
