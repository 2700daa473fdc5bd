import assert from "node:assert/strict";
import { mkdirSync, mkdtempSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, test } from "node:test";
import { httpServerOptions } from "../../test/support/services/http-server-options.ts";
import { createHttpServer } from "../http/http-server.ts";
import { docsRoutes } from "./docs-site.ts";
import { landingRoute } from "./landing-route.ts";
import { publicRoutes } from "./public-routes.ts";

const parent = mkdtempSync(join(tmpdir(), "pennyblack-pages-"));
const folder = join(parent, "dist");
const state = { hasDocs: false, checks: 0, fault: undefined as string | undefined };

const server = createHttpServer(
  httpServerOptions([
    landingRoute({
      publicUrl: "http://search.test",
      version: "1.2.3",
      hasConsole: true,
      async whyNotReady() {
        state.checks += 1;
        return state.fault;
      },
    }),
    ...publicRoutes({
      publicUrl: "http://search.test",
      securityContact: undefined,
      hasDocs: () => state.hasDocs,
      jwks: undefined,
      readOpenapi: () => Buffer.alloc(0),
    }),
    ...docsRoutes(folder),
  ]),
);

after(async () => {
  await server.close();
  rmSync(parent, { recursive: true });
});

const get = (url: string, headers = {}) => server.inject({ method: "GET", url, headers });

test("the landing page has links as HTML for browsers and as JSON for other clients", async () => {
  const page = await get("/", { accept: "text/html,application/xhtml+xml,*/*;q=0.8" });
  assert.equal(page.headers["content-type"], "text/html; charset=utf-8");
  assert.equal(page.headers["vary"], "accept");
  assert.match(String(page.headers["content-security-policy"]), /^default-src 'none';.*style-src 'sha256-/);
  for (const link of ["/docs/", "/docs/quickstart", "/console", "/status", "/openapi.json", "/llms.txt"]) {
    assert.ok(page.body.includes(`href="${link}"`), link);
  }
  assert.ok(page.body.includes("curl http://search.test/v1/search"));
  assert.doesNotMatch(page.body, /<script|style=/);
  assert.deepEqual((await get("/")).json(), {
    name: "Pennyblack",
    version: "1.2.3",
    status: "operational",
    docs: "http://search.test/docs/",
    openapi: "http://search.test/openapi.json",
    status_page: "http://search.test/status",
    console: "http://search.test/console",
    llms: "http://search.test/llms.txt",
  });
});

test("requests to the landing page share one check of the database", async () => {
  state.fault = "The database is unavailable.";
  await Promise.all(Array.from({ length: 20 }, () => get("/")));
  assert.equal(state.checks, 1);
});

test("a problem page redirects to the docs if they are built, and is a plain page otherwise", async () => {
  const plain = await get("/problems/rate_limited");
  assert.deepEqual([plain.statusCode, plain.body.includes("429 rate_limited")], [200, true]);
  state.hasDocs = true;
  const { statusCode, headers } = await get("/problems/rate_limited");
  assert.deepEqual([statusCode, headers.location], [302, "/docs/problems/rate_limited"]);
  assert.equal((await get("/problems/nonsense")).statusCode, 404);
});

test("the docs are served as soon as they are built, and again after the folder was replaced", async () => {
  const missing = await get("/docs/");
  assert.deepEqual([missing.statusCode, missing.headers["refresh"]], [404, "3"]);
  assert.match(missing.body, /npm run docs:build/);
  for (const text of ["first", "second"]) {
    const stage = join(parent, text);
    mkdirSync(stage);
    writeFileSync(join(stage, "index.html"), text);
    if (text === "second") renameSync(folder, join(parent, "old"));
    renameSync(stage, folder);
    assert.equal((await get("/docs/")).body, text);
  }
});
