import assert from "node:assert/strict";
import { test } from "node:test";
import { fc } from "../../test/support/data/fast-check.ts";
import { allowsHost, narrowPolicy, normalizeDomain, type SourcePolicy } from "./source-policy.ts";
import { parseWebUrl } from "./web-url.ts";

function allows(policy: Partial<SourcePolicy>, url: string): boolean {
  const { hostname } = parseWebUrl(url) ?? {};
  assert.ok(hostname !== undefined, url);
  return allowsHost({ block: [], ...policy }, hostname);
}

test("a domain includes its subdomains, and no other domain that ends with the same letters", () => {
  const block = ["example.com", "docs.example.org"];
  for (const url of [
    "https://example.com/",
    "https://www.example.com/",
    "http://a.b.example.com:8080/x",
    "https://EXAMPLE.com./",
    "https://example.com../",
    "https://docs.example.org/",
    "https://exam%70le.com/",
    "https://ｅｘａｍｐｌｅ.com/",
  ]) {
    assert.equal(allows({ block }, url), false, url);
    assert.equal(allows({ only: block }, url), true, url);
  }
  for (const url of [
    "https://notexample.com/",
    "https://example.com.evil.test/",
    "https://example.org/",
    "https://other.example/example.com",
    "https://other.example/?u=https://example.com",
    "https://192.0.2.1/",
    "https://[2001:db8::1]/",
  ]) {
    assert.equal(allows({ block }, url), true, url);
    assert.equal(allows({ only: block }, url), false, url);
  }
});

test("block takes precedence over only, and an empty list of only allows nothing", () => {
  const policy = { block: ["ads.example.com"], only: ["example.com"] };
  assert.equal(allows(policy, "https://example.com/"), true);
  assert.equal(allows(policy, "https://x.ads.example.com/"), false);
  assert.equal(allows({ only: [] }, "https://example.com/"), false);
  assert.equal(allows({}, "https://example.com/"), true);
});

test("an internationalized domain has one form, which is that of URLs", () => {
  for (const text of ["bücher.example", "BÜCHER.example", "xn--bcher-kva.example", "bu\u0308cher.example"]) {
    const normalized = normalizeDomain(text);
    assert.equal(normalized, "xn--bcher-kva.example", text);
    assert.equal(allows({ block: [normalized ?? ""] }, "https://www.bücher.example/"), false);
  }
  assert.equal(normalizeDomain("Example.COM."), "example.com");
  assert.equal(normalizeDomain("例え.テスト"), "xn--r8jz45g.xn--zckzah");
});

test("only domains and hosts are accepted", () => {
  for (const text of [
    "",
    "com",
    ".",
    ".com",
    "example..com",
    "*.example.com",
    "https://example.com",
    "example.com/path",
    "example.com:443",
    "user@example.com",
    "192.0.2.1",
    "1.2",
    "0x7f.1",
    "[::1]",
    "exa mple.com",
    "example.com\n",
    "-a.example",
    "a\u0000.example",
    `${"a".repeat(64)}.example`,
    `${"a.".repeat(200)}example`,
    "%65xample.com",
  ]) {
    assert.equal(normalizeDomain(text), undefined, text);
  }
});

const label = fc.constantFrom("a", "b", "c");
const domain = fc.array(label, { minLength: 1, maxLength: 3 }).map((labels) => [...labels, "test"].join("."));
const domains = fc.array(domain, { minLength: 1, maxLength: 4 });
const policy = fc
  .record({ block: fc.array(domain, { maxLength: 3 }), only: fc.option(domains, { nil: undefined }) })
  .map(({ block, only }): SourcePolicy => ({ block, ...(only && { only }) }));

test("a policy narrowed by a request allows exactly the hosts that both allow", () => {
  fc.assert(
    fc.property(policy, policy, domain, (own, requested, host) => {
      const narrowed = narrowPolicy(own, requested);
      assert.ok(narrowed);
      assert.equal(allowsHost(narrowed, host), allowsHost(own, host) && allowsHost(requested, host));
    }),
    { numRuns: 2_000 },
  );
  assert.deepEqual(narrowPolicy(undefined, { block: ["a.test"] }), { block: ["a.test"] });
  assert.deepEqual(narrowPolicy({ block: ["a.test"] }, undefined), { block: ["a.test"] });
  assert.equal(narrowPolicy(undefined, undefined), undefined);
});
