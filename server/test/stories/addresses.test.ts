import assert from "node:assert/strict";
import { readdirSync, readFileSync } from "node:fs";
import { test } from "node:test";
import { resolveReferences } from "../../src/api-docs/resolve-references.ts";
import { personProblems, problemCodes, problemRow } from "../../src/problems/problems.ts";
import { createFixture } from "../fixture.ts";
import { rawRequest, sendRaw } from "../support/raw-http.ts";
import { registeredRoutes } from "../support/registered-routes.ts";

// Routes: which exist, which need a key, and that the documents list the same.

const { server, createWallet } = await createFixture({
  PENNYBLACK_SECURITY_CONTACT: "mailto:security@search.test",
});
const wallet = await createWallet("0.05");

interface Operation {
  security?: unknown[];
  responses: Record<string, { content: Record<string, { examples?: Record<string, unknown> }> }>;
}

async function readOpenapi(): Promise<Record<string, Record<string, Operation>>> {
  return resolveReferences((await server.request("/openapi.json")).body).paths;
}

/** Without the landing page, the docs, the console, the compatibility endpoints and MCP, which are not part of the API. */
function apiRoutes(): string[] {
  const others = /^GET \/(?:docs(?:\/\*?)?)?$|^\w+ \/(?:console|compat)(?:\/|$)|^POST \/mcp$/;
  return registeredRoutes(server).filter((route) => !others.test(route));
}

test("openapi.json lists exactly the registered routes", async () => {
  const paths = await readOpenapi();
  const documented = Object.entries(paths).flatMap(([path, operations]) =>
    Object.keys(operations).map((method) => `${method.toUpperCase()} ${path}`),
  );
  assert.ok(documented.includes("POST /v1/search"));
  assert.deepEqual(documented.toSorted(), apiRoutes());
});

test("the openapi.json in the repository is the one the server serves", async () => {
  const inRepository = JSON.parse(readFileSync(new URL("../../../openapi.json", import.meta.url), "utf8"));
  const { body: served } = await server.request("/openapi.json");
  assert.deepEqual({ ...inRepository, servers: served.servers }, served);
});

/** Called without a key by the payment processor, which signs its requests. */
const signedRoute = "POST /v1/payments/stripe/webhook";

test("every route returns 401 without a key, unless it is public", async () => {
  const open: string[] = [];
  for (const route of apiRoutes()) {
    const [method = "", path = ""] = route.split(" ");
    const { status, body, headers } = await server.request(path.replaceAll(/\{\w+\}/g, "not_found"), { method });
    if (status !== 401) open.push(route);
    else
      assert.deepEqual(
        [body.code, headers.get("www-authenticate")],
        ["authentication_required", 'Bearer realm="search"'],
      );
  }
  assert.deepEqual(open, [
    "GET /.well-known/jwks.json",
    "GET /.well-known/security.txt",
    "GET /llms.txt",
    "GET /openapi.json",
    "GET /problems/{code}",
    "GET /status",
    "GET /status.json",
    "GET /v1/lenses",
    "GET /v1/lenses/{name}",
    "GET /v1/lenses/{name}/inspect",
    signedRoute,
  ]);
});

test("openapi.json requires a key exactly where the server does", async () => {
  for (const [path, operations] of Object.entries(await readOpenapi())) {
    for (const operation of Object.values(operations)) {
      const isOpen = !path.startsWith("/v1/") || path.startsWith("/v1/lenses") || signedRoute.endsWith(path);
      assert.deepEqual(operation.security, isOpen ? [] : undefined, path);
    }
  }
});

test("every problem code has a page on the server and a page in the docs, and there are no others", async () => {
  for (const code of problemCodes) {
    const { status, text, headers } = await server.request(`/problems/${code}`);
    assert.equal(status, 200);
    assert.match(headers.get("content-type") ?? "", /^text\/html/);
    assert.ok(text.includes(`${problemRow(code).status} ${code}`));
  }
  for (const code of ["nonsense", "constructor", "__proto__", "Not_found", "not_found/", "x".repeat(200)]) {
    assert.equal((await server.request(`/problems/${code}`)).status, 404, code);
  }
  const pages = readdirSync(new URL("../../../docs/problems/", import.meta.url)).map((file) =>
    file.replace(/\.md$/, ""),
  );
  assert.deepEqual(pages.toSorted(), [...problemCodes].toSorted());
});

test("/ has links for browsers and for programs", async () => {
  const page = await server.request("/", { headers: { accept: "text/html,*/*;q=0.8" } });
  assert.match(page.text, /href="\/docs\/".*href="\/console".*href="\/openapi\.json".*href="\/status">operational</s);
  const { body } = await server.request("/");
  assert.deepEqual([body.status, body.docs], ["operational", "http://search.test/docs/"]);
});

test("openapi.json documents every problem code, each under its status", async () => {
  const documented = new Map<string, string>();
  for (const operations of Object.values(await readOpenapi())) {
    for (const { responses } of Object.values(operations)) {
      for (const [status, response] of Object.entries(responses)) {
        const examples = response.content["application/problem+json"]?.examples ?? {};
        for (const code of Object.keys(examples)) documented.set(code, status);
      }
    }
  }
  // One code has no route, and the routes of the console and /mcp are not in the document.
  const elsewhere = ["method_not_allowed", ...Object.keys(personProblems)];
  assert.deepEqual(
    [...documented.keys()].toSorted(),
    problemCodes.filter((code) => !elsewhere.includes(code)).toSorted(),
  );
  for (const [code, status] of documented)
    assert.equal(Number(status), problemRow(code as (typeof problemCodes)[number]).status);
});

test("other methods on a known path return 405 with Allow, including OPTIONS and QUERY", async () => {
  for (const [path, allow, methods] of [
    ["/v1/search", "POST", ["GET", "HEAD", "PUT", "PATCH", "DELETE", "OPTIONS", "TRACE", "QUERY", "PROPFIND", "PURGE"]],
    ["/v1/wallet", "GET, HEAD", ["POST", "DELETE", "OPTIONS", "PUT"]],
    ["/v1/wallet/entries", "GET, HEAD", ["POST"]],
    ["/", "GET, HEAD", ["POST", "OPTIONS"]],
    ["/openapi.json", "GET, HEAD", ["POST", "OPTIONS"]],
    ["/problems/not_found", "GET, HEAD", ["POST", "DELETE"]],
    // A paid GET.
    ["/compat/brave/res/v1/web/search", "GET", ["HEAD", "POST"]],
  ] as const) {
    for (const method of methods) {
      const lines = ["Origin: https://elsewhere.test", `x-api-key: ${wallet.live}`];
      const { status, headers, text } = await sendRaw(server.url, rawRequest(`${method} ${path}?x=1`, lines));
      assert.equal(status, 405, `${method} ${path}`);
      assert.equal(headers.get("allow"), allow);
      // No CORS on /v1, not even for a preflight.
      assert.equal(headers.get("access-control-allow-origin"), null);
      if (method === "HEAD") assert.equal(text, "");
      else if (!path.startsWith("/compat/")) assert.equal(JSON.parse(text).code, "method_not_allowed");
    }
  }
});

test("HEAD returns the status and headers of GET, without the body", async () => {
  const varying = new Set(["request-id", "date", "ratelimit"]);
  const pages = ["/", "/docs", "/docs/quickstart", "/console", "/openapi.json", "/llms.txt", "/problems/not_found"];
  for (const path of [...pages, "/v1/lenses", "/v1/wallet", "/v1/wallet?x=1", "/.well-known/jwks.json", "/nowhere"]) {
    const [get, head] = await Promise.all(
      ["GET", "HEAD"].map((method) =>
        sendRaw(server.url, rawRequest(`${method} ${path}`, [`x-api-key: ${wallet.management}`])),
      ),
    );
    assert.ok(get && head);
    assert.deepEqual([head.status, head.text], [get.status, ""], path);
    const [expected, actual] = [get, head].map(({ headers }) =>
      [...headers].flatMap(([name, value]) => (varying.has(name) ? [] : [[name, value.replace(/'nonce-\S+'/, "")]])),
    );
    assert.deepEqual(actual, expected, path);
  }
});

test("a trailing slash, different case, doubled slash or unknown path returns 404 for any key and body", async () => {
  const paths = [
    "/v1/search/",
    "/V1/search",
    "/v1/Search",
    "//v1/search",
    "/v1//search",
    "/v1",
    "/v2/search",
    "/search",
  ];
  const odd = ["/v1/search;x", "/v1/search%2F", "/v1/search/..", "/%", "/%zz", "/v1/%c0%af", "*"];
  for (const path of [...paths, ...odd, "/livez", "/readyz", "/metrics", "/v1/keys/", "/favicon.ico"]) {
    for (const method of ["GET", "POST"]) {
      const lines = [`x-api-key: ${wallet.live}`, "Content-Type: garbage"];
      const { status, text } = await sendRaw(server.url, rawRequest(`${method} ${path}`, lines, "{"));
      assert.equal(status, 404, `${method} ${path}`);
      assert.equal(JSON.parse(text).code, "not_found");
      assert.equal(JSON.parse(text).instance, path);
    }
  }
});

test("llms.txt and security.txt are public", async () => {
  const llms = await server.request("/llms.txt");
  assert.equal(llms.status, 200);
  assert.match(llms.text, /POST http:\/\/search\.test\/v1\/search/);
  const security = await server.request("/.well-known/security.txt");
  assert.match(security.text, /^Contact: mailto:security@search\.test$/m);
  const expires = /^Expires: (.+)$/m.exec(security.text)?.[1] ?? "";
  assert.ok(Date.parse(expires) > Date.now() && Date.parse(expires) < Date.now() + 366 * 86_400_000);
});
