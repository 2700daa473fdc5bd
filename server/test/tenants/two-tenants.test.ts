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
import { findGaps, namesThing, type OpenapiDocument, type Operation, readOperations } from "./read-operations.ts";
import { type Tenant, type TenantRequest, tenantRequests } from "./tenant-requests.ts";

// Every route of openapi.json, asked by a stranger for what is another tenant's: with its ids, its cursors and its
// bodies. A stranger learns nothing and changes nothing, and the same request by its owner succeeds, so that a refusal
// means something.

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

async function makeRequest(operation: Operation): Promise<TenantRequest> {
  const made = (await tenantRequests[operation.name]?.(owner)) ?? {};
  for (const name of operation.inPath) assert.ok(made.path?.[name], `the request has no "${name}" for its path`);
  for (const name of operation.inQuery.filter(namesThing))
    assert.ok(made.query?.[name], `the request has no "${name}"`);
  return made;
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

/** Nothing of the owner's may be in an answer, unless the stranger brought it along. */
function assertNothingOf(rows: string[], reply: Reply, brought: string): void {
  const answer = [reply.text, ...[...reply.headers].map((header) => header.join(": "))].join("\n");
  assert.ok(!answer.includes(owner.mark), `the answer has "${owner.mark}": ${answer}`);
  for (const id of new Set(rows.join("\n").match(uuid))) {
    assert.ok(brought.includes(id) || !answer.includes(id), `the answer has the owner's ${id}: ${answer}`);
  }
}

/** The same request for something that does not exist. */
function withUnknownIds(request: TenantRequest): TenantRequest {
  const strange = Object.entries(request.query ?? {}).map(([name, value]) => [
    name,
    value.replaceAll(uuid, () => randomUUIDv7()),
  ]);
  return { ...request, ...(request.query && { query: Object.fromEntries(strange) }) };
}

function tellable({ status, body }: Reply): unknown {
  return [status, { ...body, request_id: undefined }];
}

test("every route that takes an id or a body has a request in tenant-requests.ts", () => {
  assert.ok(operations.length > 10);
  assert.deepEqual(findGaps(operations, tenantRequests), []);
});

test("a route without such a request is named, with what to do about it; so is a request without a route", () => {
  const parameters = [
    { name: "id", in: "path" },
    { name: "search_id", in: "query" },
    { name: "limit", in: "query" },
  ];
  const planted = readOperations({
    paths: {
      "/v1/hooks/{id}": { put: { security: [{}], parameters, requestBody: {} } },
      "/v1/hooks": { get: { security: [{}], parameters: [{ name: "cursor", in: "query" }] } },
      "/page/{name}": { get: { parameters: [{ name: "name", in: "path" }] } },
    },
  });
  assert.deepEqual(findGaps(planted, { "GET /v1/gone": async () => ({}) }), [
    'PUT /v1/hooks/{id} takes the path parameter "id" and the parameter "search_id" and a body, and nobody has tried it with another tenant\'s. Add a line "PUT /v1/hooks/{id}" with a request of the tenant it is given to server/test/tenants/tenant-requests.ts.',
    "GET /v1/gone is in tenant-requests.ts, but openapi.json has no such route.",
  ]);
});

for (const operation of operations.filter(({ isPublic }) => !isPublic)) {
  const isList = operation.inQuery.includes("cursor");
  const rightKey = ({ live, management }: Tenant): string => (operation.scope === "search" ? live : management);

  test(`${operation.name} tells a stranger nothing and does nothing for them`, async () => {
    const request = await makeRequest(operation);
    const before = await readRows(db, owner);
    const brought = JSON.stringify(request);
    // A stranger would write their own names; the ids stay.
    const asStranger = JSON.parse(brought.replaceAll(owner.mark, stranger.mark)) as TenantRequest;

    for (const key of [stranger.management, stranger.live, stranger.test]) {
      const reply = await send(operation, asStranger, key);
      assert.ok(reply.status < 500, reply.text);
      assertNothingOf(before, reply, brought);
      if (asStranger.query) {
        const unknown = await send(operation, withUnknownIds(asStranger), key);
        assert.deepEqual(tellable(reply), tellable(unknown), "another's id does not answer like one that is nobody's");
      }
      if (operation.inPath.length === 0) continue;
      // Their management key may do everything, so that it is not the scope that keeps them out.
      const allowed = key === rightKey(stranger) ? [404] : [401, 403, 404];
      assert.ok(allowed.includes(reply.status), `${reply.status} instead of ${allowed.join(", ")}: ${reply.text}`);
    }
    for (const key of [undefined, `${owner.management.slice(0, -1)}_`, revoked]) {
      assert.equal((await send(operation, request, key)).status, 401);
    }
    assert.deepEqual(await readRows(db, owner), before, "a row of the owner's has changed");

    const own = await send(operation, request, rightKey(owner));
    assert.ok(own.status >= 200 && own.status < 300, `the owner's own request failed: ${own.text}`);
  });

  if (!isList) continue;
  test(`${operation.name} shows a stranger with another's cursor their own rows at most`, async () => {
    const { query, ...request } = await makeRequest(operation);
    const others = Object.fromEntries(Object.entries(query ?? {}).filter(([name]) => !namesThing(name)));
    const page = (more: object): TenantRequest => ({ ...request, query: { ...others, ...more } });
    const first = await send(operation, page({ limit: "1" }), rightKey(owner));
    const { next_cursor: cursor } = first.body;
    assert.ok(cursor, `the owner has no second page: let the request of this route make two rows. ${first.text}`);
    const second = await send(operation, page({ limit: "1", cursor }), rightKey(owner));
    assert.equal(second.status, 200, second.text);
    assert.notEqual(second.text, first.text);
    // Whole pages: rows of both tenants lie beyond the cursor.
    for (const asked of [page({}), page({ cursor })]) {
      const reply = await send(operation, asked, rightKey(stranger));
      assert.ok(reply.status < 500, reply.text);
      assertNothingOf(await readRows(db, owner), reply, JSON.stringify(asked.path ?? {}));
    }
  });
}
