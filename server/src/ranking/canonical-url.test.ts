import assert from "node:assert/strict";
import { test } from "node:test";
import { fc } from "../../test/support/data/fast-check.ts";
import { canonicalPage, canonicalUrl, fromAnyAddress } from "./canonical-url.ts";

const onePage = [
  "https://example.org/a/b",
  "http://example.org/a/b",
  "https://www.example.org/a/b",
  "https://EXAMPLE.org./a/b/",
  "https://example.org:443/a/b#part",
  "http://example.org:80/a/b?",
  "https://example.org/a/b//?utm_source=x&UTM_Medium=y&gclid=1&fbclid=2&msclkid=3&mc_eid=4&igshid=5",
  "https://example.org/a/./c/../b",
];

test("equivalent URLs of a page have the same key", () => {
  for (const url of onePage) assert.equal(canonicalUrl(url), "https://example.org/a/b", url);
});

test("ignores the order and encoding of parameters, but not their values", () => {
  assert.equal(canonicalUrl("https://example.org/?b=2&a=x%20y"), canonicalUrl("https://example.org/?a=x+y&b=2"));
  assert.notEqual(canonicalUrl("https://example.org/?a=1"), canonicalUrl("https://example.org/?a=2"));
  assert.notEqual(canonicalUrl("https://example.org/?a=1&a=2"), canonicalUrl("https://example.org/?a=2&a=1"));
});

test("different pages have different keys", () => {
  const pages = [
    "https://example.org/",
    "https://example.org/a",
    "https://example.org/A",
    "https://example.org:8443/",
    "https://sub.example.org/",
    "https://example.org/?id=1",
    "https://example.org/?ref=1",
    "https://example.com/",
    "https://www.com/",
    "https://com/",
  ];
  assert.equal(new Set(pages.map(canonicalUrl)).size, pages.length);
});

test("canonicalization is idempotent", () => {
  const hosts = "example.org www.example.org www.www.example.org www.com www.www.com 127.0.0.1 [::1] bücher.example";
  const host = fc.constantFrom(...hosts.split(" "));
  const port = fc.constantFrom("", ":80", ":443", ":8080");
  const path = fc.webPath({ size: "small" });
  const parameters = fc.webQueryParameters({ size: "small" });
  const url = fc
    .tuple(fc.constantFrom("http", "https"), host, port, path, parameters)
    .map(([scheme, name, number, rest, query]) => `${scheme}://${name}${number}${rest}?${query}&utm_source=x#end`);
  fc.assert(fc.property(url, (address) => canonicalUrl(canonicalUrl(address)) === canonicalUrl(address)));
});

test("the fast path and the URL parser produce the same key", () => {
  const piece = fc.string({
    unit: fc.constantFrom(...Array.from("aZ09-._~%&=+/?#:@!$'()*,;2eE\u00e9 ")),
    maxLength: 24,
  });
  const hosts = "example.org www.example.co.uk www.www.com a-b.example xn--bcher-kva.example 1.2.3.4 EXAMPLE.org";
  const host = fc.constantFrom(...hosts.split(" "));
  const parameter = fc
    .tuple(fc.constantFrom("a", "b", "UTM_x", "gclid", "q"), fc.constantFrom("", "1", "x.y", "*", "a+b", "="))
    .map((pair) => pair.join("="));
  const query = fc.array(parameter, { maxLength: 4 }).map((parameters) => `?${parameters.join("&")}`);
  const [scheme, slash] = [fc.constantFrom("http://", "https://"), fc.constantFrom("", "/")];
  const address = fc
    .tuple(scheme, host, slash, piece, fc.oneof(query, fc.constant("")))
    .map((parts) => parts.join(""))
    .filter((text) => URL.canParse(text) && URL.parse(text)?.username === "");
  fc.assert(
    fc.property(address, (text) => assert.deepEqual(canonicalPage(text), fromAnyAddress(text))),
    { numRuns: 3_000 },
  );
});

test("the host has no port and the path no query", () => {
  const split = (address: string) => Object.values(canonicalPage(address)).slice(1);
  assert.deepEqual(split("http://www.example.org:8080/a/b/?c=d"), ["example.org", "/a/b"]);
  assert.deepEqual(split("https://[::1]:8443/?/x"), ["[::1]", "/"]);
});

test("a query of more than 500 characters is compared unchanged", () => {
  const long = `b=1&a=2&utm_source=x&c=${"d".repeat(480)}`;
  for (const address of [`https://example.org/?${long}`, `https://example.org/?${long}%20`]) {
    assert.equal(canonicalUrl(address), address);
    assert.equal(fromAnyAddress(address).key, address);
  }
  assert.equal(canonicalUrl("https://example.org/?b=1&a=2&utm_source=x"), "https://example.org/?a=2&b=1");
});
