import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, test } from "node:test";
import { brotliDecompressSync, gunzipSync } from "node:zlib";
import { compressFiles } from "../../../tools/compress-files.ts";
import { httpServerOptions } from "../../test/support/services/http-server-options.ts";
import { createHttpServer } from "../http/http-server.ts";
import { docsRoutes } from "./docs-site.ts";

const parent = mkdtempSync(join(tmpdir(), "pennyblack-docs-"));
const folder = join(parent, "dist");
mkdirSync(join(folder, "assets"), { recursive: true });
mkdirSync(join(folder, "problems"));
const inline = "document.title";
const files = {
  "index.html": "home",
  "404.html": "not here",
  "errors.html": `<script src="/docs/assets/app.js"></script><script id="a">${inline}</script>`,
  "errors.md": "# Errors",
  "problems/index.html": "problems",
  "assets/app.js": "much ".repeat(500),
  ".hidden.md": "secret",
  "notes.exe": "no",
  "../secret.md": "secret",
};
for (const [name, text] of Object.entries(files)) writeFileSync(join(folder, name), text);
compressFiles(folder);

const events: string[] = [];
const options = httpServerOptions(docsRoutes(folder));
const server = createHttpServer({
  ...options,
  admission: { ...options.admission, enter: () => () => events.push("slot free") },
  onResponse: () => events.push("response sent"),
});

after(async () => {
  await server.close();
  rmSync(parent, { recursive: true });
});

const get = (url: string, headers = {}) => server.inject({ method: "GET", url, headers });

test("serves a page with and without .html, and its Markdown source", async () => {
  for (const url of ["/docs/errors", "/docs/errors.html", "/docs/errors?x=1"]) {
    const { statusCode, headers, body } = await get(url);
    assert.deepEqual(
      [statusCode, headers["content-type"], body],
      [200, "text/html; charset=utf-8", files["errors.html"]],
    );
  }
  const markdown = await get("/docs/errors.md");
  assert.deepEqual([markdown.body, markdown.headers["content-type"]], ["# Errors", "text/markdown; charset=utf-8"]);
  assert.equal((await get("/docs/")).body, "home");
  assert.equal((await get("/docs/problems/")).body, "problems");
});

test("HEAD returns the headers of a page without the page", async () => {
  for (const url of ["/docs/errors", "/docs/assets/app.js", "/docs/nothing"]) {
    const [page, head] = [await get(url), await server.inject({ method: "HEAD", url })];
    assert.deepEqual([head.statusCode, head.body], [page.statusCode, ""], url);
    for (const name of ["content-type", "content-length", "etag"])
      assert.equal(head.headers[name], page.headers[name], `${url}: ${name}`);
  }
});

test("redirects a folder without a trailing slash", async () => {
  for (const url of ["/docs", "/docs/problems"]) {
    const { statusCode, headers } = await get(url);
    assert.deepEqual([statusCode, headers.location], [308, `${url}/`]);
  }
});

test("serves only files of the build, regardless of the path", async () => {
  const paths = [
    "nothing",
    "../secret.md",
    "%2e%2e/secret.md",
    "..%2fsecret.md",
    "assets/../../secret.md",
    "notes.exe",
    ".hidden.md",
    "assets/app.js.br",
    "%00",
  ];
  for (const path of paths) {
    const { statusCode, body } = await get(`/docs/${path}`);
    assert.equal(statusCode, 404, path);
    assert.notEqual(body, "secret", path);
  }
  assert.equal((await get("/docs/nothing")).body, "not here");
  assert.equal((await server.inject({ method: "POST", url: "/docs/errors" })).statusCode, 405);
});

test("the content security policy allows only the scripts of the page", async () => {
  const policy = String((await get("/docs/errors")).headers["content-security-policy"]);
  const hash = createHash("sha256").update(inline).digest("base64");
  assert.ok(policy.includes(`script-src 'self' 'sha256-${hash}';`), policy);
  assert.ok(!policy.includes("script-src 'unsafe"), policy);
  assert.match(policy, /default-src 'none'.*frame-ancestors 'none'/);
});

test("caches hashed assets for a year and revalidates everything else", async () => {
  assert.equal((await get("/docs/assets/app.js")).headers["cache-control"], "public, max-age=31536000, immutable");
  const first = await get("/docs/errors");
  assert.equal(first.headers["cache-control"], "public, no-cache");
  const second = await get("/docs/errors", { "if-none-match": String(first.headers.etag) });
  assert.deepEqual([second.statusCode, second.body], [304, ""]);
  const missing = await get("/docs/nothing", { "if-modified-since": new Date(Date.now() + 60_000).toUTCString() });
  assert.deepEqual([missing.statusCode, missing.body], [404, "not here"]);
});

test("sends the compressed file that the browser accepts", async () => {
  const text = files["assets/app.js"];
  const encodings = { br: brotliDecompressSync, gzip: gunzipSync };
  for (const [encoding, decompress] of Object.entries(encodings)) {
    const { headers, rawPayload } = await get("/docs/assets/app.js", { "accept-encoding": encoding });
    assert.deepEqual([headers["content-encoding"], decompress(rawPayload).toString()], [encoding, text]);
  }
  const { headers, body } = await get("/docs/assets/app.js");
  assert.deepEqual([headers["content-encoding"], headers.vary, body], [undefined, "accept-encoding", text]);
});

test("a browser that reads slowly does not occupy a slot", async () => {
  events.length = 0;
  await get("/docs/errors");
  assert.deepEqual(events, ["slot free", "response sent"]);
});
