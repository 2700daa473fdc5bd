import assert from "node:assert/strict";
import { existsSync, readFileSync } from "node:fs";
import { test } from "node:test";
import { gzipSync } from "node:zlib";

const dist = new URL("../../../console/dist/", import.meta.url);

for (const page of ["index.html", "operator.html"]) {
  test(`the first load of ${page} has at most 250 kB of compressed JavaScript`, () => {
    assert.ok(existsSync(new URL(page, dist)), "the console is not built: npm run console:build");
    const html = readFileSync(new URL(page, dist), "utf8");
    const scripts = [...html.matchAll(/(?:src|href)="\/console\/(assets\/[^"]+\.js)"/g)].map((match) => match[1] ?? "");
    assert.ok(scripts.length > 0, "the page has no scripts");
    const bytes = scripts.reduce((sum, path) => sum + gzipSync(readFileSync(new URL(path, dist))).length, 0);
    assert.ok(bytes <= 250_000, `${bytes} bytes`);
  });

  test(`${page} has no inline scripts`, () => {
    const html = readFileSync(new URL(page, dist), "utf8");
    assert.doesNotMatch(html, /<script(?![^>]*\ssrc=)/);
    assert.doesNotMatch(html, /\son\w+=/);
  });
}
