import assert from "node:assert/strict";
import { test } from "node:test";
import { readFixture, switchOn } from "../../test/support/upstreams/provider-fixtures.ts";
import { serper } from "./serper.ts";

const provider = switchOn(serper);

function sent(n: number, page: number): unknown {
  return JSON.parse(provider.request({ query: "cats", n }, page).body ?? "");
}

test("twenty results are two paid pages of ten", () => {
  assert.deepEqual(sent(5, 1), { q: "cats", num: 5, page: 1 });
  assert.deepEqual(sent(20, 1), { q: "cats", num: 10, page: 1 });
  assert.deepEqual(sent(20, 2), { q: "cats", num: 10, page: 2 });
  assert.deepEqual(
    [1, 10, 11, 20].map((n) => provider.costMicros(n)),
    [1_000n, 1_000n, 2_000n, 2_000n],
  );
});

test("only an empty page is the last one", () => {
  const found = provider.response(readFixture("serper", "ok"));
  assert.ok(found.ok && found.more && found.hits.length < 10);
  const nothing = provider.response(readFixture("serper", "empty"));
  assert.ok(nothing.ok && !nothing.more);
});
