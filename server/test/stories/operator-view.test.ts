import assert from "node:assert/strict";
import { test } from "node:test";
import { createFixture } from "../fixture.ts";
import { prepareRefusal } from "../support/assertions/assert-recorded.ts";
import { addTestMember, someone } from "../support/console-fixture.ts";
import { registeredRoutes } from "../support/registered-routes.ts";
import { operators, operatorToken, type Reply } from "../support/services/server.ts";

// The owner's console for operators: the same answers, only reads, and none before the view is recorded.

const { db, server, createWallet } = await createFixture(({ operatorUrl }) => ({
  PENNYBLACK_OPERATOR_DATABASE_URL: operatorUrl,
  PENNYBLACK_OPERATORS: operators,
}));
const prefix = "/console/api/wallets/{walletId}";
const served = registeredRoutes({ app: { http: server.app.ops } }).filter((route) => route.includes("/console/api"));
const views = served.filter((route) => route.includes(prefix) && route.startsWith("GET "));
await prepareRefusal(db.owner);

function view(walletId: string, path: string, token = operatorToken): Promise<Reply> {
  const headers = { authorization: `Bearer ${token}` };
  return server.request(`/console/api/wallets/${walletId}${path}`, { headers }, server.opsUrl);
}

async function countLooks(walletId: string): Promise<number> {
  const { rows } = await db.owner.query<{ count: number }>(
    "select count(*)::integer as count from pb.changes where wallet_id = $1 and act = 'account.view' and operator = 'alice'",
    [walletId],
  );
  return rows[0]?.count ?? 0;
}

test("operators can only read, and every read of the owner's console is served", () => {
  assert.deepEqual(
    served.filter((route) => !/^(?:GET|HEAD) /.test(route)),
    [],
  );
  const ofOwners = registeredRoutes(server).filter((route) => route.startsWith(`GET ${prefix}`));
  const missing = ofOwners.filter((route) => !views.includes(route));
  // The connected apps belong to the sign-in of a person, and only a person can decide requests for a higher budget.
  assert.deepEqual(missing, [`GET ${prefix}/apps`, `GET ${prefix}/budget-requests`]);
  assert.ok(views.length > 20);
});

for (const name of views) {
  test(`${name}: a view is recorded before anything is read`, async () => {
    const { walletId } = await createWallet("0.05");
    const path = name.slice(`GET ${prefix}`.length).replaceAll(/\{\w+\}/g, crypto.randomUUID());
    assert.equal((await view(walletId, path, "not-a-token")).status, 401);
    await db.owner.query("alter table pb.changes enable trigger zz_refuse");
    const refused = await view(walletId, path);
    await db.owner.query("alter table pb.changes disable trigger zz_refuse");
    assert.deepEqual([refused.status, refused.body.code], [500, "internal_error"]);
    assert.equal(await countLooks(walletId), 0);
    const { status } = await view(walletId, path);
    assert.ok([200, 404, 503].includes(status), String(status));
    await view(walletId, path);
    assert.equal(await countLooks(walletId), 1);
  });
}

test("an operator reads what the owner reads", async () => {
  const { walletId, live, liveKeyId, management } = await createWallet("1.00");
  const { headers } = await server.search(live, { query: "cats" });
  const id = headers.get("request-id");
  for (const path of [
    "/wallet",
    "/wallet/entries",
    "/keys",
    `/keys/${liveKeyId}`,
    "/searches",
    `/searches/${id}`,
    "/runs",
    "/wallet/alerts",
  ]) {
    const own = await server.manage(management, "GET", `/v1${path}`);
    const seen = await view(walletId, path);
    assert.deepEqual([seen.status, seen.body], [200, own.body], path);
  }
  const csv = await view(walletId, "/wallet/entries.csv");
  assert.equal(csv.text, (await server.manage(management, "GET", "/v1/wallet/entries.csv")).text);
  const other = await createWallet("1.00");
  assert.equal((await view(other.walletId, `/searches/${id}`)).status, 404);
});

test("an operator sees the members and the wallet as a viewer, and a wallet that does not exist is not found", async () => {
  const { walletId } = await createWallet("1.00");
  const { rows } = await db.owner.query<{ account_id: string }>("select account_id from pb.wallets where id = $1", [
    walletId,
  ]);
  const email = someone("quay");
  await addTestMember(db, rows[0]?.account_id ?? "", email, "owner");
  const { members, invitations } = (await view(walletId, "/members")).body;
  assert.deepEqual([members[0].email, members[0].role, members[0].you, invitations], [email, "owner", false, []]);
  const membership = (await view(walletId, "")).body;
  assert.deepEqual([membership.id, membership.role, membership.suspended], [walletId, "viewer", false]);
  for (const unknown of [crypto.randomUUID(), "none"]) assert.equal((await view(unknown, "/keys")).status, 404);
  const session = await server.request(
    "/console/api/session",
    { headers: { authorization: `Bearer ${operatorToken}` } },
    server.opsUrl,
  );
  assert.deepEqual([session.body.operator, session.body.person, session.body.wallets], ["alice", null, []]);
});
