import assert from "node:assert/strict";
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, test } from "node:test";
import { compressFiles } from "../../../tools/compress-files.ts";
import { rawRequest, sendRaw } from "../../test/support/raw-http.ts";
import { httpServerOptions } from "../../test/support/services/http-server-options.ts";
import { createHttpServer } from "../http/http-server.ts";
import { siteRoutes } from "./console-site.ts";

const folder = mkdtempSync(join(tmpdir(), "pennyblack-console-"));
const script = `console.log("${"much ".repeat(500)}");`;
mkdirSync(join(folder, "assets"));
writeFileSync(join(folder, "index.html"), '<meta property="csp-nonce" nonce="PENNYBLACK_NONCE"><p>Console</p>');
writeFileSync(join(folder, "operator.html"), "<p>For operators</p>");
writeFileSync(join(folder, "assets", "main-4f2a.js"), script);
writeFileSync(join(folder, "stamp.svg"), "<svg/>");
writeFileSync(join(folder, "notes.txt"), "not for the browser");
writeFileSync(join(folder, ".hidden.js"), "not for the browser");
compressFiles(folder);

const http = createHttpServer(httpServerOptions(siteRoutes(folder, "index.html")));
const url = await http.listen({ host: "127.0.0.1", port: 0 });

after(async () => {
  await http.close();
  rmSync(folder, { recursive: true });
});

test("serves the page for every path, with a policy that allows only script files of this origin", async () => {
  const nonces = new Set<string>();
  for (const path of ["/console", "/console/", "/console/keys", "/console/a/b?c=d"]) {
    const response = await fetch(url + path);
    const text = await response.text();
    assert.equal(response.status, 200, path);
    assert.equal(response.headers.get("cache-control"), "no-cache");
    const [, nonce = ""] = /nonce="([^"]+)"><p>Console/.exec(text) ?? assert.fail(text);
    nonces.add(nonce);
    assert.equal(
      response.headers.get("content-security-policy"),
      `default-src 'none'; script-src 'self'; style-src 'self' 'nonce-${nonce}'; style-src-attr 'unsafe-inline'; img-src 'self' data:; font-src 'self'; connect-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'`,
    );
  }
  assert.equal(nonces.size, 4, "a nonce was used twice");
});

test("sends the compressed file that the browser accepts, and caches hashed assets forever", async () => {
  for (const [accepted, encoding] of [
    ["gzip, deflate, br", "br"],
    ["gzip;q=0.8, br;q=0", "gzip"],
    ["identity", null],
  ] as const) {
    const response = await fetch(`${url}/console/assets/main-4f2a.js`, { headers: { "accept-encoding": accepted } });
    assert.equal(response.headers.get("content-encoding"), encoding);
    assert.equal(response.headers.get("cache-control"), "public, max-age=31536000, immutable");
    assert.equal(response.headers.get("vary"), "accept-encoding");
    assert.equal(response.headers.get("content-type"), "application/javascript; charset=utf-8");
    const length = Number(response.headers.get("content-length"));
    assert.ok(encoding === null ? length === script.length : length < 200, `${accepted}: ${length} bytes`);
    assert.equal(await response.text(), script);
  }
  const svg = await fetch(`${url}/console/stamp.svg`);
  assert.equal(svg.headers.get("cache-control"), "public, no-cache");
  // Not with fetch, which adds "Cache-Control: no-cache".
  const cached = { "if-none-match": svg.headers.get("etag") ?? "" };
  const again = await http.inject({ method: "GET", url: "/console/stamp.svg", headers: cached });
  assert.equal(again.statusCode, 304);
});

test("does not serve the operator page, missing assets, API paths or files outside the folder", async () => {
  for (const path of [
    "/console/assets/main-0000.js",
    "/console/api",
    "/console/api/nonsense",
    "/console/assets/../../x",
  ]) {
    const { status, text } = await sendRaw(url, rawRequest(`GET ${path}`, ["Connection: close"]));
    assert.ok(status === 404 || text.includes("Console"), `${path}: ${status}`);
    if (!path.includes("..")) assert.equal(status, 404, path);
  }
  for (const path of [
    "/console/operator.html",
    "/console/notes.txt",
    "/console/.hidden.js",
    "/console/..%2f..%2fetc%2fpasswd",
    "/console/%2e%2e/x",
  ]) {
    const { text } = await sendRaw(url, rawRequest(`GET ${path}`, ["Connection: close"]));
    assert.doesNotMatch(text, /For operators|not for the browser|root:/, path);
  }
});
