import assert from "node:assert/strict";
import { type TestContext, test } from "node:test";
import { roles, withRole } from "../../src/db/roles.ts";
import { createDatabase, createFixture } from "../fixture.ts";
import { closeAfter } from "../support/close-after.ts";
import { rawRequest, sendRaw } from "../support/raw-http.ts";
import { startTestServer, testEnvironment } from "../support/services/server.ts";
import { failServerProcess } from "../support/services/server-process.ts";
import { TcpProxy } from "../support/services/tcp-proxy.ts";

// Start-up checks, the two listeners, and draining.

const { db, server, startServer } = await createFixture();

test("all configuration errors are reported together, without values", async () => {
  const marker = "hunter2-secret-value";
  const { exitCode, output } = await failServerProcess({
    DATABASE_URL: `mysql://user:${marker}@db/x`,
    PENNYBLACK_SECRET: marker,
    PENNYBLACK_KEY_PEPPERS: `1:${marker}`,
    PENNYBLACK_SEARXNG_URL: `https://user:${marker}@search/`,
    PENNYBLACK_PUBLIC_URL: `ftp://${marker}`,
    PENNYBLACK_SERACH_URL: marker,
    PORT: `80${marker}`,
    PENNYBLACK_SERVERS: "-1",
    PENNYBLACK_LOG_LEVEL: marker,
    PENNYBLACK_TRUSTED_PROXIES: marker,
    REDIS_URL: marker,
  });
  assert.equal(exitCode, 1);
  const { faults } = JSON.parse(output) as { faults: string[] };
  for (const name of [
    "DATABASE_URL",
    "PENNYBLACK_TENANT_DATABASE_URL",
    "PENNYBLACK_SECRET",
    "PENNYBLACK_KEY_PEPPERS",
    "PENNYBLACK_SEARXNG_URL",
    "PENNYBLACK_PUBLIC_URL",
    "PENNYBLACK_SERACH_URL is not a known setting",
    "PORT",
    "PENNYBLACK_SERVERS",
    "PENNYBLACK_LOG_LEVEL",
    "PENNYBLACK_TRUSTED_PROXIES",
    "REDIS_URL",
  ]) {
    assert.ok(
      faults.some((fault) => fault.startsWith(name)),
      name,
    );
  }
  assert.equal(faults.length, 12);
  assert.ok(!output.includes(marker), output);
});

const anyPort = { PORT: "0", PENNYBLACK_OPS_PORT: "0" };

/** The reason a server with these settings rejects its database. */
async function rejection(settings: Record<string, string>, t: TestContext): Promise<string> {
  return (await (await startServer(settings, t)).app.checkDatabase()) ?? "accepted";
}

test("a server refuses to start as superuser or owner on any of its connections", async (t) => {
  const superuser = withRole(db.ledgerUrl, "ledger").replace(roles.ledger, "postgres");
  for (const variable of ["DATABASE_URL", "PENNYBLACK_TENANT_DATABASE_URL"]) {
    assert.match(await rejection({ [variable]: superuser }, t), /postgres is a superuser/);
    assert.match(await rejection({ [variable]: db.ownerUrl }, t), /pennyblack_owner owns the ledger's schema/);
  }
  const { exitCode, output } = await failServerProcess({ ...testEnvironment(db), ...anyPort, DATABASE_URL: superuser });
  assert.equal(exitCode, 1);
  assert.match(output, /postgres is a superuser/);
});

test("a server does not start with an outdated, too new or unreachable database", async (t) => {
  const other = await createDatabase(t);
  const server = closeAfter(await startTestServer(other), t);
  assert.equal(await server.app.checkDatabase(), undefined);
  await other.owner.query("update pb.schema_version set version = version + 5");
  assert.equal(await server.app.checkDatabase(), undefined, "the newer schema supports this release");
  await other.owner.query(
    "create or replace function pb.serves_since() returns integer language sql immutable return 1000",
  );
  assert.match((await server.app.checkDatabase()) ?? "", /no longer serves releases before version 1000/);
  assert.equal((await fetch(`${server.opsUrl}/readyz`)).status, 200, "a running server continues");
  await other.owner.query("delete from pb.schema_version");
  assert.match((await server.app.checkDatabase()) ?? "", /has schema version 0; this release needs version \d+/);
  const readyz = await fetch(`${server.opsUrl}/readyz`);
  assert.equal(readyz.status, 503);
  const { reason: unready } = (await readyz.json()) as { reason: string };
  assert.match(unready, /^The database has schema version 0; this release needs version \d+\.$/);
  const { exitCode, output } = await failServerProcess({ ...testEnvironment(other), ...anyPort });
  assert.equal(exitCode, 1);
  assert.match(output, /schema version 0.*npm run migrate/);

  const missing = withRole(db.ledgerUrl.replace(db.name, "no_such_database"), "ledger", "a-password-marker");
  const reason = await rejection({ DATABASE_URL: missing }, t);
  assert.match(reason, /cannot be used \((3D000|08P01)\)/, "08P01 behind PgBouncer");
  assert.ok(!reason.includes("a-password-marker"));
});

test("a server names the database URL that it cannot use", async (t) => {
  const missing = withRole(db.ledgerUrl.replace(db.name, "no_such_database"), "ledger", "a-password-marker");
  for (const name of ["TENANT", "PAYMENTS", "OPERATOR", "PEOPLE"]) {
    const variable = `PENNYBLACK_${name}_DATABASE_URL`;
    const reason = await rejection({ [variable]: missing }, t);
    assert.match(
      reason,
      new RegExp(`^${variable} cannot be used \\((3D000|08P01)\\)\\. Check its address and password`),
    );
    assert.ok(!reason.includes("a-password-marker"));
  }
});

test("a server that loses its database during the start-up checks exits with a sentence", async (t) => {
  const { hostname, port } = new URL(db.ledgerUrl);
  for (const words of ["pb.read_identity", "pb.secrets_in_use"]) {
    const proxy = closeAfter(new TcpProxy({ host: hostname, port: Number(port) }), t);
    await proxy.listen();
    // Not only the one request: a periodic report can send the words before the check does.
    const lost = proxy.cutRequest(words).then(() => proxy.close());
    const { exitCode, output } = await failServerProcess({
      ...testEnvironment(db),
      ...anyPort,
      DATABASE_URL: proxy.through(db.ledgerUrl),
    });
    assert.ok(proxy.cuts > 0, output);
    await lost;
    assert.equal(exitCode, 1, output);
    // The log can report an idle connection that failed as well.
    assert.match(
      output,
      /"faults":\["DATABASE_URL cannot be used \(.+\)\. Check its address and password, then run: npm run migrate"\]/,
    );
    assert.doesNotMatch(output, /^\s+at /m, "no stack trace");
  }
});

test("a server without its databases stays ready, so that a failover does not take every server out of service", async (t) => {
  const { hostname, port } = new URL(db.ledgerUrl);
  const proxy = closeAfter(new TcpProxy({ host: hostname, port: Number(port) }), t);
  await proxy.listen();
  const remote = await startServer(
    {
      DATABASE_URL: proxy.through(db.ledgerUrl),
      PENNYBLACK_TENANT_DATABASE_URL: proxy.through(db.tenantUrl),
      PENNYBLACK_PEOPLE_DATABASE_URL: proxy.through(db.peopleUrl),
    },
    t,
  );
  assert.equal(await remote.app.checkDatabase(), undefined);
  await proxy.close();
  for (let probe = 0; probe < 3; probe += 1) {
    assert.equal((await fetch(`${remote.opsUrl}/readyz`)).status, 200);
  }
});

test("health and metrics are on the internal listener only, and the API is not on it", async () => {
  for (const path of ["/livez", "/readyz", "/metrics"]) {
    assert.equal((await fetch(server.opsUrl + path)).status, 200, path);
    assert.equal((await server.request(path)).status, 404, path);
    assert.equal((await sendRaw(server.url, rawRequest(`GET ${path}`, ["X-Forwarded-For: 127.0.0.1"]))).status, 404);
  }
  for (const path of ["/v1/search", "/v1/wallet", "/openapi.json"]) {
    assert.equal((await fetch(server.opsUrl + path)).status, 404, path);
  }
  assert.match(await server.readMetrics(), /^# TYPE pennyblack_ledger_waiting gauge$/m);
});

test("a draining server is alive, not ready, and closes each connection after its response", async () => {
  server.app.startDraining();
  assert.equal((await fetch(`${server.opsUrl}/livez`)).status, 200);
  const readyz = await fetch(`${server.opsUrl}/readyz`);
  assert.deepEqual([readyz.status, await readyz.json()], [503, { status: "not ready", reason: "stopping" }]);
  const reply = await server.request("/openapi.json");
  assert.deepEqual([reply.status, reply.headers.get("connection")], [200, "close"]);
});
