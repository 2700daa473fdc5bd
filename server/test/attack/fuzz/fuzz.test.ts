import assert from "node:assert/strict";
import { once } from "node:events";
import { type AddressInfo, createServer } from "node:net";
import { test } from "node:test";
import { stripeSettings } from "../../support/payments/payment-fixture.ts";
import { registeredRoutes } from "../../support/registered-routes.ts";
import { createTestDatabase } from "../../support/services/database.ts";
import { startTestServer } from "../../support/services/server.ts";
import { checkResponse, describeInput } from "./check-response.ts";
import type { Input } from "./inputs.ts";
import { readOperations } from "./operations.ts";
import { runFuzz } from "./run-fuzz.ts";
import { type Exchange, openLane, renderInput, sendAlone } from "./wire.ts";

// Tests that the fuzzer finds violations, and a short run over every route. Long form: `npm run fuzz -- --inputs 1000000`.

const operation = readOperations().find(({ name }) => name === "POST /v1/search");
assert.ok(operation);
const input: Input = {
  operation,
  tenant: 0,
  pick: 0,
  method: "POST",
  target: "/v1/search",
  headers: [["authorization", "Bearer {{live}}"]],
  body: '{"query":"it\'s 100%"}',
  chunks: undefined,
  mutation: undefined,
};

function answer(status: number, headers: string, body = "{}"): Exchange {
  return { kind: "answered", answers: [{ status, head: `http/1.1 ${status}\r\n${headers}`, body: Buffer.from(body) }] };
}

const good = "request-id: 1\r\ncontent-type: application/problem+json\r\nwallet-charge: 0.00;currency=usd";

test("an unexpected 5xx, a charge for an error, an undocumented format and a hang are failures", () => {
  assert.equal(checkResponse(input, answer(400, good)), undefined);
  assert.match(checkResponse(input, answer(503, good)) ?? "", /unexpected 503/);
  assert.equal(checkResponse({ ...input, body: '{"query":"test:upstream_503"}' }, answer(503, good)), undefined);
  assert.match(checkResponse(input, answer(400, good.replace("0.00", "0.01"))) ?? "", /charge/);
  assert.match(checkResponse(input, answer(400, good.replace("problem+json", "html"))) ?? "", /undocumented format/);
  assert.match(checkResponse(input, answer(400, good, "{")) ?? "", /JSON/);
  assert.match(checkResponse(input, answer(400, good.replace("request-id", "id"))) ?? "", /Request-Id/);
  assert.match(checkResponse(input, { kind: "hung", received: "" }) ?? "", /in time/);
  assert.match(checkResponse(input, { kind: "closed" }) ?? "", /closed/);
});

test("a server that does not respond or closes the connection is detected in bounded time", async () => {
  const silent = createServer((socket) => void socket.on("error", () => socket.destroy()));
  const closing = createServer((socket) => void socket.destroy());
  for (const server of [silent, closing]) await once(server.listen(0, "127.0.0.1"), "listening");
  const [silentPort, closingPort] = [silent, closing].map((server) => (server.address() as AddressInfo).port);
  const lane = openLane(silentPort ?? 0, 50);
  assert.equal((await lane.send(renderInput(input), true)).kind, "hung");
  assert.equal((await sendAlone(closingPort ?? 0, renderInput(input), 60_000)).kind, "closed");
  lane.close();
  for (const server of [silent, closing]) server.close();
});

test("a failure is reported as a command that reproduces it", () => {
  assert.equal(
    describeInput(input, renderInput(input)),
    `curl -gsi --path-as-is -X 'POST' -H 'authorization: Bearer {{live}}' --data-binary ` +
      String.raw`@<(printf '{\x22query\x22:\x22it\x27s 100%%\x22}') 'http://localhost:8080/v1/search'`,
  );
});

test("every route of both listeners and of the console is fuzzed", async () => {
  const db = await createTestDatabase();
  const server = await startTestServer(db, {
    PENNYBLACK_OPERATOR_DATABASE_URL: db.operatorUrl,
    PENNYBLACK_OPERATORS: `fuzz:${"x".repeat(40)}`,
    PENNYBLACK_SECURITY_CONTACT: "mailto:security@search.test",
    PENNYBLACK_OIDC_ISSUER: "http://127.0.0.1:1",
    PENNYBLACK_OIDC_CLIENT_ID: "console",
    ...stripeSettings("http://127.0.0.1:1"),
  });
  const fuzzed = new Set(readOperations().map(({ name }) => name));
  // The landing page, the pages of the docs and the console, and MCP, which mcp-fuzz.test.ts covers, with its metadata.
  const isPage = (route: string): boolean =>
    /^(?:GET|HEAD) (?:\/$|\/(?:docs|console)(?:\/(?!api\/)|$)|\*$)|^POST \/mcp$|^GET \/\.well-known\/oauth-/.test(
      route,
    );
  for (const http of [server.app.http, server.app.ops]) {
    const served = registeredRoutes({ app: { http } }).filter((route) => !isPage(route));
    assert.ok(served.length > 10);
    assert.deepEqual(
      served.filter((route) => !fuzzed.has(route) && !fuzzed.has(route.replace("HEAD ", "GET "))),
      [],
    );
  }
  await server.close();
  await db.drop();
});

test("4,000 inputs cause no unexpected 5xx, no hang, no charge for an error, and the ledger reconciles", async () => {
  const report = await runFuzz({ inputs: 4_000, seed: 1, case: /\/v1\/lenses/ });
  assert.deepEqual([...report.failures.values()], []);
  assert.equal(report.sent, 4_000);
  assert.ok(report.charged > 50, `${report.charged} charged`);
  // So few inputs miss some routes by chance. From 50,000 on, a route without a success is a failure.
  assert.ok(report.unreached.length <= 16, report.unreached.join(", "));
});
