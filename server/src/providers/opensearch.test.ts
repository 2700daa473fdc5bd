import assert from "node:assert/strict";
import { test } from "node:test";
import { switchOn } from "../../test/support/upstreams/provider-fixtures.ts";
import { opensearch } from "./opensearch.ts";

test("searches the configured fields and does not fetch the full text", () => {
  const fields = { title: "heading", url: "link", snippet: "page.text" };
  const call = switchOn(opensearch, { fields }).request({ query: "title:cats AND *", n: 15 }, 1);
  assert.equal(call.url, "https://upstream.example:8443/prefix/_search");
  assert.deepEqual(JSON.parse(call.body ?? ""), {
    size: 15,
    track_total_hits: false,
    _source: ["heading", "link"],
    query: { multi_match: { query: "title:cats AND *", fields: ["heading^2", "page.text"] } },
    highlight: {
      pre_tags: [""],
      post_tags: [""],
      fields: { "page.text": { fragment_size: 300, number_of_fragments: 1, no_match_size: 300 } },
    },
  });
});

test("a key with a colon is user and password, any other is an API key", () => {
  const authorization = (key: string) =>
    switchOn(opensearch, { key }).request({ query: "cats", n: 10 }, 1).headers["authorization"];
  assert.equal(authorization("reader:pass:word"), `Basic ${Buffer.from("reader:pass:word").toString("base64")}`);
  assert.equal(authorization("aWQ6a2V5"), "ApiKey aWQ6a2V5");
});

test("reads a dotted name as a flat field or a nested object", () => {
  const fields = { title: "page.title", url: "page.url", snippet: "page.text" };
  const hits = [
    { _source: { page: { title: "Nested", url: "https://example.org/1" } }, highlight: { "page.text": ["One."] } },
    { _source: { "page.title": "Flat", "page.url": "https://example.org/2" }, highlight: { "page.text": ["Two."] } },
  ];
  const body = JSON.stringify({ timed_out: false, _shards: { failed: 0 }, hits: { hits } });
  assert.deepEqual(switchOn(opensearch, { fields }).response({ status: 200, headers: {}, body }), {
    ok: true,
    more: false,
    hits: [
      { title: "Nested", url: "https://example.org/1", snippet: "One." },
      { title: "Flat", url: "https://example.org/2", snippet: "Two." },
    ],
  });
});
