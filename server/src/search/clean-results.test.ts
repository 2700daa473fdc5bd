import assert from "node:assert/strict";
import { test } from "node:test";
import { fc } from "../../test/support/data/fast-check.ts";
import { lensOf } from "../../test/support/data/lens-of.ts";
import type { Hit } from "../providers/provider.ts";
import { createRanking } from "../ranking/ranking.ts";
import { cleanResults, type SearchResult } from "./clean-results.ts";

function clean(hits: readonly Hit[]): SearchResult[] {
  return cleanResults(hits).map((result) => result.toPlain());
}

function cleanTitle(title: string): string {
  return cleanResults([{ title, url: "https://example.org/", snippet: "" }])[0]?.title ?? "";
}

function cleanUrl(url: string): string | undefined {
  return cleanResults([{ title: "", url, snippet: "" }])[0]?.url;
}

test("a result has four strings, and its source is the hostname", () => {
  assert.deepEqual(clean([{ title: " A  title\n", url: "https://www.Example.org:8080/a b", snippet: "Some\ttext" }]), [
    { title: "A title", url: "https://www.example.org:8080/a%20b", snippet: "Some text", source: "example.org" },
  ]);
});

test("uses the hostname if the title is empty", () => {
  assert.equal(cleanTitle(""), "example.org");
  assert.equal(cleanTitle(" <b>\u200B</b> "), "example.org");
});

test("drops results without a valid http or https URL, or with credentials in it", () => {
  const rejected = [
    "javascript:alert(1)",
    "java\nscript:alert(1)",
    "data:text/html,x",
    "ftp://example.org/",
    "file:///etc/passwd",
    "//example.org/",
    "example.org",
    "",
    "https://",
    "https://user@example.org/",
    "https://user:password@example.org/",
    "https://:password@example.org/",
    "https://example.org:99999/",
  ];
  for (const url of rejected) assert.equal(cleanUrl(url), undefined, url);
});

test("drops results whose URL is longer than 2,048 characters, as returned", () => {
  const base = "https://example.org/";
  const longest = base + "a".repeat(2_048 - base.length);
  assert.equal(cleanUrl(longest), longest);
  assert.equal(cleanUrl(`${longest}a`), undefined);
  assert.equal(cleanUrl(`${base}${"a".repeat(50_000)}`), undefined);
  // The limit applies after percent-encoding, which turns one character into up to twelve.
  assert.equal(cleanUrl(`${base}${"é".repeat(338)}`)?.length, 2_048);
  assert.equal(cleanUrl(`${base}${"é".repeat(339)}`), undefined);
  const hits = [`${longest}a`, base].map((url) => ({ title: "", url, snippet: "" }));
  assert.deepEqual(
    cleanResults(hits).map(({ url }) => url),
    [base],
  );
});

test("drops a URL that is too long, or has an impossible host, without parsing it", (context) => {
  const parse = context.mock.method(URL, "parse");
  const rejected = [
    `https://example.org/${"a".repeat(2_029)}`,
    `http://${`${" ".repeat(258)}/`.repeat(3_900)}`,
    `https://${"a".repeat(64)}.example/`,
    `https://${"\u4e00".repeat(64)}.example/`,
    `https://${"\u4e00.".repeat(127)}example/`,
    `https:/\\\t ${"a.".repeat(127)}example/`,
    `https://user:${"a".repeat(300)}@example.org/`,
  ];
  for (const url of rejected) assert.equal(cleanUrl(url), undefined, url.slice(0, 80));
  assert.equal(parse.mock.callCount(), 0);
  const longestHost = `${`${"a".repeat(61)}.`.repeat(4)}co`;
  for (const host of [longestHost, `${"a".repeat(63)}.example`, `${"\u4e00".repeat(15)}.example`])
    assert.notEqual(cleanUrl(`https://${host}:8443/${"b".repeat(300)}`), undefined, host);
});

test("cleans only the start of a text that is far longer than the returned part", () => {
  const tags = "<b>".repeat(200);
  assert.equal(cleanTitle(`${tags.slice(3)}Title`), "Tit");
  assert.equal(cleanTitle(`${tags}Title`), "example.org");
  assert.equal(cleanTitle(`${"x ".repeat(299)}y\u{1f600}`), `${"x ".repeat(149)}x`);
});

test("shows no half of a tag, an entity or a character where a long text is cut", () => {
  // A text is cut after 600 characters: 190 tags and 30 more.
  const cutAfter = (end: string): string => `${"<b>".repeat(190)}${end.padStart(30, ".")}`;
  for (const half of ["<span class", "</spa", "<!-- no", "&am", "&#x1f60", "&", "&lt;img src=x"])
    assert.match(cleanTitle(`${cutAfter(`Title ${half}`)}x>`), /^\.+Title$/, half);
  assert.match(cleanTitle(cutAfter("Title\u{1f600}").replace("<b>", "<br>")), /^\.+Title$/);
  assert.match(cleanTitle(`${cutAfter("a <")} b, c > d`), /^\.+a <$/);
  assert.match(cleanTitle(cutAfter("Q &")), /^\.+Q &$/, "not cut");
});

test("encodes or removes hidden characters in URLs", () => {
  assert.equal(cleanUrl("https://example.org/\u202Egnp.exe"), "https://example.org/%E2%80%AEgnp.exe");
  assert.equal(cleanUrl("https://ex\u200Bample.org/"), "https://example.org/");
  assert.equal(cleanUrl("https://bücher.example/"), "https://xn--bcher-kva.example/");
});

test("decodes entities once", () => {
  assert.equal(cleanTitle("Q&amp;A &#8211; caf&eacute; &quot;x&quot;"), 'Q&A – café "x"');
  assert.equal(cleanTitle("how to write &amp;amp;amp;"), "how to write &amp;amp;");
  assert.equal(cleanTitle("AT&T ?a=1&copy=2 &bogus;"), "AT&T ?a=1&copy=2 &bogus;");
});

test("removes tags without splitting words or joining lines", () => {
  assert.equal(cleanTitle("un<b>believ</b>able<br/>news<p class='x'>today</p>"), "unbelievable news today");
  assert.equal(cleanTitle("a <!-- hidden --> b <!-- to the end"), "a b");
  assert.equal(cleanTitle("<!DOCTYPE html><HTML>Hello <SCRIPT src=x>"), "Hello");
  assert.equal(cleanTitle("&lt;script&gt;alert(1)&lt;/script&gt;"), "alert(1)");
});

test("keeps source code and arithmetic", () => {
  const texts = [
    "vector<int> and map<string, vector<T>>",
    "Result<(), Box<dyn Error>>",
    "#include <stdio.h>",
    "if (a < b && c > d)",
    "1<2>0",
    "(?<!foo)bar(?<name>x)",
  ];
  for (const text of texts) assert.equal(cleanTitle(text), text);
  assert.equal(cleanTitle("Map<String, List<Object>> and Option<A>"), "Map<String, List< Object>> and Option< A>");
});

test("removing a tag never leaves another tag", () => {
  for (const text of [
    "<scr<b>ipt>alert(1)</scr</b>ipt>",
    "<scr\u200Bipt>",
    "<scr&#x200B;ipt>",
    "<scr\u0000ipt>",
    "<<b>script>",
    "<img src=x onerror=alert(1) ",
    "<img src=x title='<b>'",
    "<!<!-- x -->-- y",
    "<ScRiPt>",
    "<svg/onload=alert(1)>",
  ]) {
    assert.doesNotMatch(cleanTitle(text), /<(script|img|svg|!--|\/)/i, text);
  }
});

test("removes invisible and bidirectional characters", () => {
  assert.equal(cleanTitle("a\u202Eb\u2066c\u2069\u200F\u061Cd"), "abcd");
  assert.equal(cleanTitle("in\u200Bvis\u200Cib\u2060le\uFEFF\u00AD"), "invisible");
  assert.equal(cleanTitle("ok\u{E0001}\u{E0069}\u{E0067}\u{E007F}\u{E0100}\uFE0F"), "ok");
  assert.equal(cleanTitle("nul\u0000 bell\u0007 escape\u001B[31m \u0085\u009B"), "nul bell escape[31m");
  assert.equal(cleanTitle("lone \uD83D and \uDE00 but 😀"), "lone and but 😀");
  assert.equal(cleanTitle("&#x202E;&#8203;&zwj;x"), "x");
  // Two lone surrogates around a tag would form a character of the tag block.
  assert.equal(cleanTitle("a\uDB40<b>\uDC41b"), "ab");
});

test("truncates by code points", () => {
  const [result] = cleanResults([{ title: "😀".repeat(301), url: "https://example.org/", snippet: "é".repeat(1001) }]);
  assert.equal(result?.title, "😀".repeat(300));
  assert.equal(result?.snippet, "é".repeat(1000));
  assert.equal(cleanTitle(`${"x".repeat(299)} y`), "x".repeat(299));
  assert.doesNotMatch(cleanTitle(`${"x".repeat(298)}<bold`), /<b$/);
});

test("cleans a megabyte of broken markup in linear time", () => {
  for (const piece of ["<b", "<!--", "<!-- -->", "<scr<b>ipt>", "&lt;", "<", " ", "</", "<a <a>"]) {
    const text = piece.repeat((1024 * 1024) / piece.length);
    const before = process.threadCpuUsage();
    cleanTitle(text);
    // CPU time, which other processes hardly change. It takes milliseconds; in quadratic time it would be minutes.
    assert.ok(process.threadCpuUsage(before).user < 5_000_000, piece);
  }
});

// Pieces that are likely to interact, and arbitrary characters.
const markup = "< > </ <b <b> </b> <script script> scr ipt <!-- --> <!doctype / = bold".split(" ");
const entities = "&lt; &#60; &#x202e; &zwj;".split(" ");
const hidden = ["\u200B", "\u202E", "\u{E0041}", "\uDB40", "\uDC41", "\uFEFF", "\u0000"];
const space = [" ", "\n", "\t", "\u00A0"];
const nearTheLimit = ["x".repeat(290), "😀".repeat(150), "y".repeat(985)];
const piece = fc.oneof(
  fc.constantFrom(...markup, ...entities, ...hidden, ...space, ...nearTheLimit),
  fc.string({ unit: "binary", maxLength: 5 }),
);
const text = fc.array(piece, { maxLength: 30 }).map((pieces) => pieces.join(""));

const forbidden =
  /[\p{Cc}\p{Surrogate}\p{Bidi_Control}\p{Variation_Selector}\u00AD\u180E\u200B-\u200F\u2060-\u2064\uFEFF\u{E0000}-\u{E007F}]/u;

test("the output is clean for any input", () => {
  fc.assert(
    fc.property(text, text, (title, snippet) => {
      const [result] = cleanResults([{ title, url: "https://example.org/", snippet }]);
      assert.ok(result !== undefined);
      assert.ok(Array.from(result.title).length <= 300 && Array.from(result.snippet).length <= 1000);
      for (const cleaned of [result.title, result.snippet]) {
        assert.doesNotMatch(cleaned, forbidden);
        assert.doesNotMatch(cleaned, /^\s|\s$|\s\s|[^\S ]/);
        assert.doesNotMatch(cleaned, /<\/?(b|script)([\s/>]|$)|<!--|<!doctype/i);
      }
    }),
    { numRuns: 3000 },
  );
});

test("cleaning is idempotent", () => {
  // Without ampersands, because a second pass would decode entities again.
  const plain = text.map((raw) => raw.replaceAll("&", ""));
  fc.assert(
    fc.property(plain, plain, fc.webUrl({ withQueryParameters: true, withFragments: true }), (title, snippet, url) => {
      const once = clean([{ title, url, snippet }]);
      assert.deepEqual(clean(once), once);
    }),
    { numRuns: 3000 },
  );
});

test("collapses white space in text of any script", () => {
  const unit = fc.constantFrom(" ", " ", "a", ".", "\t", "\n", "\u00A0", "\u3000", "\u2028", "é", "😀");
  const ascii = fc.constantFrom(" ", " ", "a", ".", "~", "!");
  fc.assert(
    fc.property(fc.oneof(fc.string({ unit }), fc.string({ unit: ascii })), (title) => {
      assert.equal(cleanTitle(title), title.replace(/\s+/g, " ").trim() || "example.org");
    }),
    { numRuns: 3000 },
  );
});

test("results that are cleaned on demand rank like results cleaned in advance", () => {
  const lens = lensOf("$tier=A,site=b.example,why=x\n$cap=E,site=d.example,why=y");
  const ranking = createRanking(() => new Map([["base", lens]]));
  const words = fc.constantFrom(...shared, ...shared.map((shown) => shown.replaceAll(" ", "  <b>\u200B</b>&#32;")));
  const url = fc.constantFrom("a", "b", "c", "d").map((site) => `https://${site}.example/`);
  const hit = fc.record({ title: text, url: fc.tuple(url, fc.nat(9)).map((parts) => parts.join("")), snippet: words });
  fc.assert(
    fc.property(fc.array(hit, { maxLength: 20 }), fc.integer({ min: 1, max: 20 }), (hits, n) => {
      const onDemand = ranking
        .rank({ results: cleanResults(hits), n, query: "" })
        .results.map((result) => result.toPlain());
      assert.deepEqual(onDemand, ranking.rank({ results: clean(hits), n, query: "" }).results);
    }),
    { numRuns: 1000 },
  );
});

const shared = ["port", "crane"].map((word) => Array.from({ length: 20 }, (_, index) => `${word}${index}`).join(" "));
