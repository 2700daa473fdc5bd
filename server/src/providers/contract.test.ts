// The contract of every provider. A new adapter in the list is tested automatically. The name of a fixture decides how it
// must be parsed.

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import { fc } from "../../test/support/data/fast-check.ts";
import { readFixtures, switchOn, testKey, testUrl } from "../../test/support/upstreams/provider-fixtures.ts";
import type { Category, FailureReason, Provider, UpstreamCall, UpstreamReply, UpstreamSearch } from "./provider.ts";
import { adapters } from "./providers.ts";
import { readReply } from "./read-reply.ts";

const required = ["ok", "empty", "malformed", "throttled", "bad-credential", "empty-account"];

// By prefix of the fixture's name. Checked before `empty`, because of `empty-account`.
const failures: readonly (readonly [string, FailureReason])[] = [
  ["bad-credential", "credential"],
  ["empty-account", "account_empty"],
  ["throttled", "throttled"],
  ["refused", "status"],
  ["json-off", "status"],
  ["down", "status"],
  ["invalid", "invalid_response"],
  ["engines-failed", "invalid_response"],
];

const categories: (Category | undefined)[] = [undefined, "programming", "research", "gov", "business"];
const possibleReasons = new Set(["status", "credential", "account_empty", "throttled", "invalid_response"]);

test("the docs have a row about the terms of each provider", () => {
  const page = readFileSync(new URL("../../../docs/providers.md", import.meta.url), "utf8");
  const rows = [...page.matchAll(/^\| `(\w+)` \|/gm)].map(([, name]) => name);
  assert.deepEqual(
    rows,
    adapters.map(({ name }) => name),
  );
});

test("provider names are unique, and every provider has the six required fixtures", () => {
  assert.equal(new Set(adapters.map(({ name }) => name)).size, adapters.length);
  for (const adapter of adapters) {
    assert.match(adapter.name, /^[a-z]+$/, "the name is part of a setting's name");
    assert.equal(switchOn(adapter).name, adapter.name);
    const names = readFixtures(adapter.name).map(({ name }) => name);
    assert.deepEqual(
      required.filter((name) => !names.includes(name)),
      [],
      adapter.name,
    );
  }
});

for (const adapter of adapters) {
  const provider = switchOn(adapter);

  test(`${adapter.name}: every fixture is parsed as its name says`, () => {
    for (const { name, source, reply } of readFixtures(adapter.name)) {
      assert.match(source, /^https:\/\/\S+\.\S+/, `${name} has no link to the vendor's documentation`);
      assertParsedAs(name, provider, reply);
    }
  });

  test(`${adapter.name}: its capabilities are plausible`, () => {
    assert.match(provider.documentation, /^https:\/\//);
    assert.ok(provider.queryLimit.characters > 0 && provider.queryLimit.characters <= 2048);
    assert.ok((provider.queryLimit.words ?? 1) > 0);
    assert.ok(provider.resultsPerPage * provider.maxPages >= 20, "cannot return twenty results");
    for (let n = 1; n <= 20; n += 1) {
      assert.ok(provider.costMicros(n) >= 0n);
      assert.ok(provider.costMicros(n) >= provider.costMicros(Math.max(1, n - 1)), `${n} results cost less than fewer`);
    }
  });

  test(`${adapter.name}: every request goes to the configured host, with the full query and the key in one header`, () => {
    for (const search of searchesFor(provider)) {
      for (let page = 1; page <= provider.maxPages; page += 1) {
        const call = provider.request(search, page);
        assertSafe(call, search.query, adapter.key === "none" ? 0 : 1);
        const sent = valuesOf(call);
        assert.ok(sent.includes(search.query), `the query was changed: ${search.query}`);
        if (provider.maxPages === 1) assert.ok(sent.includes(String(search.n)), `does not request ${search.n} results`);
      }
    }
  });

  test(`${adapter.name}: a source policy becomes its own parameters, within the limits of the vendor`, () => {
    const { domainFilter: filter } = provider;
    const search = { query: "cats", n: 10 };
    const plain = provider.request(search, 1);
    if (!filter) {
      assert.deepEqual(provider.request({ ...search, sources: { only: ["example.com"], block: [] } }, 1), plain);
      return;
    }
    const domains = (count: number) => Array.from({ length: count }, (_, index) => `site-${index}.example`);
    const longest = `${"a".repeat(63)}.${"b".repeat(63)}.${"c".repeat(63)}.example`;
    const [allowed, excluded] = [
      [...domains(filter.only - 1), longest],
      [...domains(filter.block - 1), longest],
    ];
    for (const [sources, listed] of [
      [{ only: allowed, block: [] }, allowed],
      [{ block: excluded }, excluded],
    ] as const) {
      const call = provider.request({ ...search, sources }, 1);
      assertSafe(call, search.query, 1);
      const sent = valuesOf(call);
      assert.ok(sent.includes(search.query), "the query was changed");
      const lines = new Set(sent.flatMap((value) => value.split("\n")).map((line) => line.replace(/^(?:-|.*=)/, "")));
      assert.deepEqual(
        listed.filter((domain) => !lines.has(domain)),
        [],
      );
    }
    assert.ok(valuesOf(plain).every((value) => !value.includes("example")));
  });

  if (provider.maxPages > 1) {
    test(`${adapter.name}: each page is a different request`, () => {
      const pages = Array.from({ length: provider.maxPages }, (_, index) =>
        JSON.stringify(provider.request({ query: "cats", n: 20 }, index + 1)),
      );
      assert.equal(new Set(pages).size, provider.maxPages);
    });
  }

  test(`${adapter.name}: no response makes it throw or turns an error into a success`, () => {
    fc.assert(
      fc.property(replies(adapter.name), (reply) => assertWellFormed(provider, reply)),
      { numRuns: 300 },
    );
  });

  test(`${adapter.name}: a failure never contains the API key, even if the upstream's response does`, () => {
    for (const { reply } of readFixtures(adapter.name)) {
      if (reply.status < 400) continue;
      const body = reply.body.startsWith("{")
        ? JSON.stringify(JSON.parse(reply.body, (_key, value) => (typeof value === "string" ? value + testKey : value)))
        : reply.body + testKey;
      const parsed = readReply(provider, { ...reply, body }, 0);
      assert.ok(!JSON.stringify(parsed).includes(testKey));
    }
  });
}

test("sends no authorization header without a key", () => {
  for (const adapter of adapters.filter(({ key }) => key === "optional")) {
    const { headers } = switchOn(adapter, { key: "" }).request({ query: "cats", n: 10 }, 1);
    assert.deepEqual(Object.keys(headers), ["content-type"]);
  }
});

function assertParsedAs(name: string, provider: Provider, reply: UpstreamReply): void {
  const parsed = readReply(provider, reply, 0);
  const failure = failures.find(([prefix]) => name.startsWith(prefix));

  if (failure) {
    assert.equal(parsed.ok ? "a success" : parsed.reason, failure[1], name);
  } else if (name.startsWith("ok")) {
    assert.ok(parsed.ok && parsed.hits.length > 0, `${name}: no hits`);
    const offsets = parsed.hits.map(({ url }) => reply.body.indexOf(JSON.stringify(url)));
    assert.ok(
      offsets.every((offset, index) => offset > (offsets[index - 1] ?? -1)),
      "not in the vendor's order",
    );
    assert.ok(parsed.hits.some(({ title }) => title !== "") && parsed.hits.some(({ snippet }) => snippet !== ""));
    if (provider.maxPages === 1) assert.equal(parsed.more, false);
  } else if (name.startsWith("empty")) {
    assert.deepEqual(parsed, { ok: true, hits: [], more: false }, name);
  } else {
    assert.ok(name.startsWith("malformed"), `no expectation for fixtures named ${name}`);
    if (parsed.ok) assert.notDeepEqual(parsed.hits, [], "the caller would pay for an empty result");
    assertWellFormed(provider, reply);
  }
}

function assertSafe(call: UpstreamCall, query: string, headersWithKey: number): void {
  const { href, host, pathname, username, password, hash } = new URL(call.url);
  assert.equal(call.url, href, "call-provider.ts expects a normalized URL");
  assert.equal(host, new URL(testUrl).host);
  assert.ok(pathname.startsWith(`${new URL(testUrl).pathname}/`));
  assert.equal(username + password + hash, "");
  assert.ok(!call.url.includes(testKey) && !call.body?.includes(testKey), "the key is outside the headers");
  assert.equal(call.method === "GET" && call.body !== undefined, false);

  const headers = Object.entries(call.headers);
  assert.equal(headers.filter(([, value]) => value.includes(testKey)).length, headersWithKey);
  for (const [name, value] of headers) {
    assert.match(name, /^[a-z-]+$/);
    assert.match(value, /^[\x20-\x7e]*$/);
    assert.ok(!value.includes(query));
  }
}

/** All values of a call: URL parameters, form fields, and strings and numbers of a JSON body. */
function valuesOf({ url, headers, body = "" }: UpstreamCall): string[] {
  const inUrl = [...new URL(url).searchParams.values()];
  if (headers["content-type"] !== "application/json") return [...inUrl, ...new URLSearchParams(body).values()];
  const inJson: string[] = [];
  JSON.parse(body, (_key, value: unknown) => {
    if (typeof value === "string" || typeof value === "number") inJson.push(String(value));
    return value;
  });
  return [...inUrl, ...inJson];
}

function searchesFor(provider: Provider): UpstreamSearch[] {
  const numbers = Array.from({ length: 20 }, (_, index) => index + 1);
  return queriesFor(provider).flatMap((query) =>
    categories.flatMap((category) => numbers.map((n) => ({ query, n, category }))),
  );
}

function queriesFor({ queryLimit: { characters, words = characters } }: Provider): string[] {
  const letters = ["漢", "\u{1F50E}", "é", "a"];
  const many = Math.min(words, Math.floor((characters + 1) / 2));
  return [
    `c++ & node.js #1 "quoted" 'too' 100% a=b;c \\ / {"q":"x"}`,
    "zażółć gęślą jaźń 検索 \u{1F50E} \u05E2\u05D1\u05E8\u05D9\u05EA",
    Array.from({ length: characters }, (_, index) => letters[index % letters.length]).join(""),
    Array.from({ length: many }, () => "漢").join(" "),
  ];
}

function assertWellFormed(provider: Provider, reply: UpstreamReply): void {
  for (const parsed of [provider.response(reply), readReply(provider, reply, 0)]) {
    if (reply.status >= 400) assert.equal(parsed.ok, false);
    if (parsed.ok) {
      assert.equal(typeof parsed.more, "boolean");
      for (const hit of parsed.hits) {
        assert.deepEqual(Object.keys(hit).toSorted(), ["snippet", "title", "url"]);
        assert.ok(Object.values(hit).every((text) => typeof text === "string"));
        assert.notEqual(hit.url, "");
      }
    } else {
      assert.ok(possibleReasons.has(parsed.reason), parsed.reason);
      const seconds = parsed.retryAfterSeconds ?? 0;
      assert.ok(Number.isSafeInteger(seconds) && seconds >= 0, `wait ${seconds} s`);
    }
  }
}

/** Arbitrary replies, and the vendor's fixtures with a few values replaced. */
function replies(provider: string): fc.Arbitrary<UpstreamReply> {
  const fixtures = readFixtures(provider).map(({ reply }) => reply);
  const mutated = fc
    .tuple(fc.constantFrom(...fixtures), fc.array(fc.tuple(fc.nat(), fc.jsonValue()), { minLength: 1, maxLength: 4 }))
    .map(([{ body }, changes]) => changes.reduce((text, [target, value]) => mutate(text, target, value), body));
  return fc.record({
    status: fc.oneof(fc.constantFrom(...fixtures.map(({ status }) => status)), fc.integer({ min: 200, max: 599 })),
    headers: fc.record({
      "content-type": fc.constantFrom("application/json", "text/html"),
      "x-ratelimit-reset": fc.oneof(fc.string(), fc.constantFrom("1, 2", "-1", "0", "1e9, 9999999999", ",")),
    }),
    body: fc.oneof(mutated, fc.json(), fc.string()),
  });
}

function mutate(text: string, target: number, replacement: unknown): string {
  if (!/^[[{]/.test(text)) return text.slice(0, target % (text.length + 1));
  let count = 0;
  JSON.parse(text, () => (count += 1));
  let index = -1;
  const mutated: unknown = JSON.parse(text, (_key, value: unknown) => {
    index += 1;
    return index === target % count ? replacement : value;
  });
  return JSON.stringify(mutated);
}
