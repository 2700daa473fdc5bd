import assert from "node:assert/strict";
import { randomUUIDv7 } from "node:crypto";
import { after, test } from "node:test";
import { revokeKey } from "../../src/keys/keys.ts";
import { startFakeStripe } from "../support/payments/fake-stripe.ts";
import { stripeSettings } from "../support/payments/payment-fixture.ts";
import { createTestDatabase } from "../support/services/database.ts";
import { createTestKey, type Reply, startTestServer } from "../support/services/server.ts";
import { startHostileUpstream } from "../support/upstreams/hostile-upstream.ts";
import { openTenant, readRows } from "./open-tenant.ts";
import { findGaps, namesResource, type OpenapiDocument, type Operation, readOperations } from "./read-operations.ts";
import { type Tenant, type TenantRequest, tenantRequests } from "./tenant-requests.ts";

// Calls every route of openapi.json as another tenant, with the owner's ids, cursors and bodies. The responses reveal
// nothing and no row changes. The same request succeeds for the owner, which shows that the request is valid.

const db = await createTestDatabase();
const upstream = await startHostileUpstream();
const stripe = await startFakeStripe();
const server = await startTestServer(db, { PENNYBLACK_SEARXNG_URL: upstream.url, ...stripeSettings(stripe.url) });
const owner = await openTenant(db, server, "of-amber");
const stranger = await openTenant(db, server, "of-cobalt");
const operations = readOperations((await server.request("/openapi.json")).body as OpenapiDocument);

const { id: revokedId, key: revoked } = await createTestKey(db, {
  walletId: owner.walletId,
  mode: "mgmt",
  name: `${owner.mark} revoked`,
});
await revokeKey(db.owner, { walletId: owner.walletId, keyId: revokedId });

after(async () => {
  await server.close();
  await upstream.close();
  await stripe.close();
  await db.drop();
});

async function createRequest(operation: Operation): Promise<TenantRequest> {
  const created = (await tenantRequests[operation.name]?.(owner)) ?? {};
  for (const name of operation.inPath) assert.ok(created.path?.[name], `the request has no "${name}" for its path`);
  for (const name of operation.inQuery.filter(namesResource))
    assert.ok(created.query?.[name], `the request has no "${name}"`);
  return created;
}

function send(operation: Operation, request: TenantRequest, key: string | undefined): Promise<Reply> {
  const path = operation.path.replaceAll(/\{(\w+)\}/g, (_, name: string) => request.path?.[name] ?? "");
  const query = new URLSearchParams(request.query).toString();
  const body = request.body === undefined ? undefined : JSON.stringify(request.body);
  return server.request(path + (query && `?${query}`), {
    method: operation.method,
    headers: {
      ...(key !== undefined && { authorization: `Bearer ${key}` }),
      ...(body !== undefined && { "content-type": "application/json" }),
      ...request.headers,
    },
    ...(body !== undefined && { body }),
  });
}

const uuid = /[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}/g;

/** The response must not contain data of the owner, except what the request contained. */
function assertRevealsNothing(rows: string[], reply: Reply, sent: string): void {
  const answer = [reply.text, ...[...reply.headers].map((header) => header.join(": "))].join("\n");
  assert.ok(!answer.includes(owner.mark), `the response contains "${owner.mark}": ${answer}`);
  for (const id of new Set(rows.join("\n").match(uuid))) {
    assert.ok(sent.includes(id) || !answer.includes(id), `the response contains the owner's ${id}: ${answer}`);
  }
}

/** The same request with ids that do not exist. */
function withUnknownIds(request: TenantRequest): TenantRequest {
  const unknown = Object.entries(request.query ?? {}).map(([name, value]) => [
    name,
    value.replaceAll(uuid, () => randomUUIDv7()),
  ]);
  return { ...request, ...(request.query && { query: Object.fromEntries(unknown) }) };
}

function comparable({ status, body }: Reply): unknown {
  return [status, { ...body, request_id: undefined }];
}

test("every route that takes an id or a body has a request in tenant-requests.ts", () => {
  assert.ok(operations.length > 10);
  assert.deepEqual(findGaps(operations, tenantRequests), []);
});

test("a route without a request and a request without a route are reported with what to do", () => {
  const parameters = [
    { name: "id", in: "path" },
    { name: "search_id", in: "query" },
    { name: "limit", in: "query" },
  ];
  const planted = readOperations({
    paths: {
      "/v1/hooks/{id}": { put: { operationId: "a", parameters, requestBody: {} } },
      "/v1/hooks": { get: { operationId: "b", parameters: [{ name: "cursor", in: "query" }] } },
      "/page/{name}": { get: { operationId: "c", security: [], parameters: [{ name: "name", in: "path" }] } },
    },
  });
  assert.deepEqual(findGaps(planted, { "GET /v1/gone": async () => ({}) }), [
    'PUT /v1/hooks/{id} takes the path parameter "id" and the parameter "search_id" and a body, and is not tested with another tenant\'s. Add an entry "PUT /v1/hooks/{id}" with a valid request to server/test/tenants/tenant-requests.ts.',
    "GET /v1/gone is in tenant-requests.ts, but openapi.json has no such route.",
  ]);
});

for (const operation of operations.filter(({ isPublic }) => !isPublic)) {
  const isList = operation.inQuery.includes("cursor");
  const rightKey = ({ live, management }: Tenant): string => (operation.scope === "search" ? live : management);

  test(`${operation.name} reveals nothing to another tenant and changes nothing for it`, async () => {
    const request = await createRequest(operation);
    const before = await readRows(db, owner);
    const sent = JSON.stringify(request);
    // Another tenant would use its own names, with the ids of the owner.
    const asStranger = JSON.parse(sent.replaceAll(owner.mark, stranger.mark)) as TenantRequest;

    for (const key of [stranger.management, stranger.live, stranger.test]) {
      const reply = await send(operation, asStranger, key);
      assert.ok(reply.status < 500, reply.text);
      assertRevealsNothing(before, reply, sent);
      if (asStranger.query) {
        const unknown = await send(operation, withUnknownIds(asStranger), key);
        assert.deepEqual(
          comparable(reply),
          comparable(unknown),
          "the id of another tenant is treated like an unknown id",
        );
      }
      if (operation.inPath.length === 0) continue;
      // The management key has all scopes, so the rejection is not due to a missing scope.
      const allowed = key === rightKey(stranger) ? [404] : [401, 403, 404];
      assert.ok(allowed.includes(reply.status), `${reply.status} instead of ${allowed.join(", ")}: ${reply.text}`);
    }
    for (const key of [undefined, `${owner.management.slice(0, -1)}_`, revoked]) {
      assert.equal((await send(operation, request, key)).status, 401);
    }
    assert.deepEqual(await readRows(db, owner), before, "a row of the owner has changed");

    const own = await send(operation, request, request.key ?? rightKey(owner));
    assert.ok(own.status >= 200 && own.status < 300, `the owner's request failed: ${own.text}`);
  });

  if (!isList) continue;
  test(`${operation.name} returns only a tenant's own rows for the cursor of another`, async () => {
    const { query, ...request } = await createRequest(operation);
    const others = Object.fromEntries(Object.entries(query ?? {}).filter(([name]) => !namesResource(name)));
    const page = (more: object): TenantRequest => ({ ...request, query: { ...others, ...more } });
    const first = await send(operation, page({ limit: "1" }), rightKey(owner));
    const { next_cursor: cursor } = first.body;
    assert.ok(cursor, `the owner has no second page: the request of this route must create two rows. ${first.text}`);
    const second = await send(operation, page({ limit: "1", cursor }), rightKey(owner));
    assert.equal(second.status, 200, second.text);
    assert.notEqual(second.text, first.text);
    // Complete pages: rows of both tenants follow the cursor.
    for (const listed of [page({}), page({ cursor })]) {
      const reply = await send(operation, listed, rightKey(stranger));
      assert.ok(reply.status < 500, reply.text);
      assertRevealsNothing(await readRows(db, owner), reply, JSON.stringify(listed.path ?? {}));
    }
  });
}
