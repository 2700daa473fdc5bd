import { brotliCompressSync, deflateSync, gzipSync } from "node:zlib";

// Hostile content in answers that are valid HTTP.

/** Text that the upstream puts wherever it can. It must never appear in an answer or a log. */
export const upstreamText = "words-of-the-upstream-4e7a";

export function hitAt(url: string) {
  return { title: `About ${url}`, url, content: `What ${url} says.`, engine: upstreamText };
}

export function hitsBetween(first: number, last: number) {
  const count = Math.max(0, last - first + 1);
  return Array.from({ length: count }, (_, index) => hitAt(`https://example.org/page-${first + index}`));
}

/** Bodies of a 200 of type application/json. */
export const jsonTexts = {
  // Invalid answers.
  no_body: "",
  white_space: " \r\n\t ",
  truncated_json: `{"results": [{"title": "${upstreamText}`,
  json_text: JSON.stringify(upstreamText),
  json_list: JSON.stringify(hitsBetween(1, 3)),
  json_null: "null",
  two_answers: '{"results": []}{"results": []}',
  html: `<html><body>${upstreamText}</body></html>`,
  no_results: JSON.stringify({ answers: hitsBetween(1, 3), error: upstreamText }),
  wrong_types: JSON.stringify({
    results: { title: "an object, not a list", 0: hitAt("https://example.org/"), length: 1 },
  }),
  nulls: JSON.stringify({ results: null, unresponsive_engines: null }),
  results_of_null: JSON.stringify({ results: [null, null] }),
  results_of_text: JSON.stringify({ results: [upstreamText, upstreamText] }),
  results_in_prototype: `{"__proto__": {"results": ${JSON.stringify(hitsBetween(1, 3))}}}`,
  nested_for_ever: "[".repeat(1_000_000),
  engines_failed: JSON.stringify({ results: [], unresponsive_engines: [[upstreamText, "timeout"]] }),
  utf_16: Buffer.from(JSON.stringify({ results: hitsBetween(1, 3) }), "utf16le"),

  // Valid answers whose hits must be cleaned.
  empty: JSON.stringify({ results: [], unresponsive_engines: [] }),
  byte_order_mark: `\uFEFF${JSON.stringify({ results: hitsBetween(1, 3) })}`,
  deep_results: `{"results": [{"title": ${nested(5_000)}, "url": "https://example.org/page-1", "extra": ${nested(5_000)}}]}`,
  duplicate_names: `{"results": 7, "results": [{"url": "javascript:alert(1)", "url": "https://example.org/page-1"}]}`,
  prototype_names: `{"results": [{"__proto__": {"url": "https://example.org/polluted"}, "constructor": {"prototype": {"polluted": true}},
    "url": "https://example.org/page-1", "toString": 1, "hasOwnProperty": 1}], "__proto__": {"polluted": true}, "toJSON": 1}`,
  huge_numbers: `{"results": [{"title": 1e999, "content": -1e999, "url": "https://example.org/page-1", "score": ${"9".repeat(100_000)}}],
    "number_of_results": ${"9".repeat(100_000)}}`,
  invalid_utf_8: Buffer.concat([
    Buffer.from('{"results": [{"url": "https://example.org/page-1", "title": "bro'),
    Buffer.from([0xff, 0xc0, 0x80, 0xed, 0xa0, 0x80, 0xf8]),
    Buffer.from('ken"}]}'),
  ]),
  unusable_items: JSON.stringify({
    results: [null, 7, "text", [], { title: "no address" }, { url: 5 }, ...hitsBetween(1, 1)],
  }),
  poisonous_urls: JSON.stringify({
    results: [
      "javascript:alert(1)",
      " javascript:alert(1)",
      "java\nscript:alert(1)",
      "data:text/html,hello",
      "vbscript:x",
      "file:///etc/passwd",
      "blob:https://example.org/1",
      "https://user:password@example.org/",
      "https://user@example.org/",
      "ftp://example.org/",
      "//example.org/",
      "http://",
      "not a url",
      "https://example.org:99999/",
      "https://[::1/",
      `https://${"a".repeat(100_000)}\u0000.example/`,
    ]
      .map(hitAt)
      .concat(hitsBetween(1, 1)),
  }),
  poisonous_text: JSON.stringify({
    results: [
      {
        url: "https://example.org/text",
        title: "\u202Egnp.exe\u202C in\u200Bvisible \u{E0041}\u{E0042}<b>bold</b>",
        content: "<scr<b>ipt>alert(1)</script> &lt;img src=x onerror=alert(1)&gt; \uD800 lone\u0000",
      },
    ],
  }),
  // A naive cleaner takes quadratic time for each of these.
  long_texts: JSON.stringify({
    results: [
      { url: "https://example.org/page-1", title: "<".repeat(50_000), content: "<b ".repeat(5_000) },
      { url: "https://example.org/page-2", title: "&".repeat(50_000), content: "&lt;!--".repeat(5_000) },
      { url: "https://example.org/page-3", title: " \u200B".repeat(15_000), content: "word ".repeat(5_000) },
      { url: `https://example.org/${"a/".repeat(10_000)}?${"b=c&".repeat(10_000)}`, title: "\u{1F600}".repeat(5_000) },
    ],
  }),
  long_hosts: JSON.stringify({
    results: Array.from({ length: 120 }, (_, index) => {
      const letters = Array.from({ length: 1_000 }, (_, letter) => 0x4e00 + ((letter * 37 + index) % 20_000));
      return { url: `https://${String.fromCodePoint(...letters)}.example/` };
    }).concat(hitsBetween(1, 1)),
  }),
  thousand_results: JSON.stringify({
    results: Array.from({ length: 1_000 }, (_, index) => ({ url: `https://example.org/page-${index + 1}` })),
  }),
  ten_thousand_results: JSON.stringify({
    results: Array.from({ length: 10_000 }, (_, index) => ({ url: `https://example.org/page-${index + 1}` })),
  }),
  duplicates: JSON.stringify({
    results: [
      "https://example.org/page-1",
      "https://example.org/page-1",
      "http://example.org/page-1/",
      "https://www.example.org/page-1#top",
      "https://EXAMPLE.org:443/page-1?utm_source=x",
      "https://example.org/page-2",
    ].map(hitAt),
  }),
} satisfies Record<string, string | Buffer>;

/** Encoding and bytes, created on demand because most tests need none. */
export const compressedAnswers = {
  gzip: (): Compressed => ["gzip", gzipSync(JSON.stringify({ results: hitsBetween(1, 3) }))],
  brotli: (): Compressed => ["br", brotliCompressSync(JSON.stringify({ results: hitsBetween(1, 3) }))],
  deflate: (): Compressed => ["deflate", deflateSync(JSON.stringify({ results: hitsBetween(1, 3) }))],
  // Small on the wire and 64 MiB when inflated.
  gzip_bomb: (): Compressed => ["gzip", gzipBomb()],
  gzip_bomb_of_gzip_bombs: (): Compressed => ["gzip, gzip", gzipSync(gzipBomb())],
};

type Compressed = [encoding: string, bytes: Buffer];

let madeBomb: Buffer | undefined;

function gzipBomb(): Buffer {
  madeBomb ??= gzipSync(Buffer.alloc(64 * 1024 * 1024, " "));
  return madeBomb;
}

function nested(depth: number): string {
  return "[".repeat(depth) + "]".repeat(depth);
}
