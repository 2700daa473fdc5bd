import assert from "node:assert/strict";
import { afterEach, test } from "node:test";
import { gzipSync } from "node:zlib";
import { createFixture } from "../fixture.ts";
import { openRaw, rawRequest, sendRaw } from "../support/raw-http.ts";
import type { Reply } from "../support/services/server.ts";

// The request: body, headers and media type.

const { upstream, server, createWallet } = await createFixture();
const wallet = await createWallet("1.00");

/** A search that is rejected without an upstream call or a charge. */
async function rejected(body: unknown, headers: Record<string, string> = {}): Promise<Reply> {
  const before = await server.readMoney(wallet.management);
  const calls = upstream.requests.length;
  const reply = await server.search(wallet.live, body, headers);
  assert.notEqual(reply.status, 200, `accepted ${JSON.stringify(body)}`);
  assert.equal(upstream.requests.length, calls, "the upstream was called");
  assert.deepEqual(await server.readMoney(wallet.management), before);
  return reply;
}

async function accepted(body: unknown, headers: Record<string, string> = {}): Promise<Reply> {
  upstream.requests.length = 0;
  const reply = await server.search(wallet.live, body, headers);
  assert.equal(reply.status, 200, reply.text);
  return reply;
}

function faults(reply: Reply): [string, string][] {
  assert.equal(reply.status, 400);
  assert.equal(reply.body.code, "invalid_request");
  const errors: { pointer: string; code: string }[] = reply.body.errors;
  return errors
    .map((fault): [string, string] => [fault.pointer, fault.code])
    .toSorted(([left], [right]) => (left < right ? -1 : 1));
}

afterEach(() => upstream.behave("ok"));

test("success returns 200 with exactly query, n and results of four strings", async () => {
  const { status, body } = await accepted({ query: "postgresql advisory locks" });
  assert.equal(status, 200);
  assert.deepEqual(Object.keys(body), ["query", "n", "results"]);
  assert.equal(body.query, "postgresql advisory locks");
  assert.equal(body.n, 10);
  for (const result of body.results) {
    assert.deepEqual(Object.keys(result), ["title", "url", "snippet", "source"]);
    assert.ok(Object.values(result).every((value) => typeof value === "string"));
  }
});

test("n is the number of results, at most the requested n, 10 by default", async () => {
  for (const [n, hits, expected] of [
    [undefined, 30, 10],
    [1, 30, 1],
    [20, 30, 20],
    [20, 13, 13],
    [5, 3, 3],
  ]) {
    await upstream.behave("ok", { hits: hits ?? 0 });
    const { body } = await accepted({ query: "cats", ...(n !== undefined && { n }) });
    assert.equal(body.n, expected);
    assert.equal(body.results.length, expected);
  }
});

test("a search without hits returns 200 with n 0 and is charged", async () => {
  await upstream.behave("empty");
  const { body, headers } = await accepted({ query: "nothing at all" });
  assert.deepEqual(body, { query: "nothing at all", n: 0, results: [] });
  assert.equal(headers.get("wallet-charge"), "0.01;currency=usd");
});

test("the price does not depend on n", async () => {
  for (const n of [1, 20]) {
    assert.equal((await accepted({ query: "cats", n })).headers.get("wallet-charge"), "0.01;currency=usd");
  }
});

test('n as "5", null, 10.5, 0, 21, -1, true, [] or {} returns 400', async () => {
  for (const n of [0, 21, -1, 1e21]) {
    assert.deepEqual(faults(await rejected({ query: "cats", n })), [["#/n", "out_of_range"]], JSON.stringify(n));
  }
  for (const n of ["5", null, 10.5, true, [], {}, "10"]) {
    assert.deepEqual(faults(await rejected({ query: "cats", n })), [["#/n", "wrong_type"]], JSON.stringify(n));
  }
  assert.deepEqual(faults(await rejected('{"query":"cats","n":1e400}')), [["#/n", "wrong_type"]]);
  // The same integer in another notation is accepted.
  assert.equal((await accepted('{"query":"cats","n":10.0}')).body.n, 10);
  assert.equal((await accepted('{"query":"cats","n":1e1}')).body.n, 10);
});

test("an unknown category returns 400 with the four values, which are case-sensitive", async () => {
  for (const category of ["Programming", "programming ", "news", "", null, 1, ["gov"]]) {
    const reply = await rejected({ query: "cats", category });
    const code = typeof category === "string" ? "unknown_value" : "wrong_type";
    assert.deepEqual(faults(reply), [["#/category", code]], JSON.stringify(category));
    for (const known of ["programming", "research", "gov", "business"])
      assert.match(reply.body.detail, new RegExp(known));
  }
  for (const category of ["programming", "research", "gov", "business"]) await accepted({ query: "cats", category });
});

test("an unknown field returns 400 with its pointer, and all errors are returned together", async () => {
  for (const field of ["limit", "num_results", "max_results", "Query", "q", "constructor", "toString", ""]) {
    const reply = await rejected({ query: "cats", [field]: 5 });
    assert.deepEqual(faults(reply), [[`#/${field}`, "unknown_field"]], field);
  }
  assert.deepEqual(faults(await rejected({ query: "cats", "a/b~c": 1 })), [["#/a~1b~0c", "unknown_field"]]);
  const several = faults(await rejected({ n: 0, category: "x", limit: 3 }));
  assert.deepEqual(several, [
    ["#/category", "unknown_value"],
    ["#/limit", "unknown_field"],
    ["#/n", "out_of_range"],
    ["#/query", "required"],
  ]);
});

test("__proto__ in a body is rejected like any unknown field", async () => {
  const body = '{"query":"cats","__proto__":{"n":1,"isAdmin":true}}';
  assert.deepEqual(faults(await rejected(body)), [["#/__proto__", "unknown_field"]]);
  assert.deepEqual(faults(await rejected('{"__proto__":{"query":"cats"}}')), [
    ["#/__proto__", "unknown_field"],
    ["#/query", "required"],
  ]);
  assert.equal((await accepted({ query: "cats" })).body.n, 10);
  assert.equal("isAdmin" in {}, false);
});

test("a key that appears twice returns 400 with its name, and nothing is searched or charged", async () => {
  const reply = await rejected('{"query":"cats","n":1,"query":"dogs"}');
  assert.deepEqual(faults(reply), [["#/query", "duplicate_key"]]);
  assert.match(reply.body.detail, /^`query` appears more than once\. You were not charged\./);
  assert.deepEqual(faults(await rejected('{"query":"cats","n":5,"\\u006e":20}')), [["#/n", "duplicate_key"]]);
});

test("query is required, must be a string, and must not be empty after trimming", async () => {
  assert.deepEqual(faults(await rejected({})), [["#/query", "required"]]);
  for (const query of [null, 5, true, ["cats"], { text: "cats" }]) {
    assert.deepEqual(faults(await rejected({ query })), [["#/query", "wrong_type"]]);
  }
  for (const query of ["", " ", "\t\r\n", "\u2003\u3000\u00A0"]) {
    assert.deepEqual(faults(await rejected({ query })), [["#/query", "empty"]]);
  }
});

test("a body that is not an object returns 400", async () => {
  for (const body of ["[]", "null", "5", '"cats"', "true", '[{"query":"cats"}]']) {
    assert.deepEqual(faults(await rejected(body)), [["#", "wrong_type"]], body);
  }
});

test("a query of 2,048 code points is accepted, and one of 2,049 returns query_too_long", async () => {
  for (const character of ["a", "é", "😀"]) {
    const longest = character.repeat(2048);
    const { body } = await accepted(JSON.stringify({ query: `  ${longest}\n` }));
    assert.equal(body.query, longest);
    assert.equal(upstream.requests[0]?.query.get("q"), longest);
    const reply = await rejected({ query: `${longest}b` });
    assert.equal(reply.status, 400);
    assert.equal(reply.body.code, "query_too_long");
    assert.equal(reply.body.max_characters, 2048);
    assert.deepEqual(reply.body.errors, [
      { pointer: "#/query", code: "too_long", detail: "must have at most 2048 characters, but has 2049 characters" },
    ]);
  }
});

test("outer white space of the query is trimmed, and tabs and line breaks become spaces", async () => {
  for (const [sent, run] of [
    ["  cats \t", "cats"],
    ["cats\tand\ndogs", "cats and dogs"],
    ["cats\r\nand\rdogs", "cats  and dogs"],
    ["cats\u2028and\u2029dogs", "cats and dogs"],
    ["\u00A0\u3000cats\uFEFF", "cats"],
    ["  two  spaces  stay ", "two  spaces  stay"],
    ["ＦＵＬＬ width, é e\u0301 and <b>tags</b> &amp; stay", "ＦＵＬＬ width, é e\u0301 and <b>tags</b> &amp; stay"],
  ]) {
    const { body } = await accepted({ query: sent });
    assert.equal(body.query, run);
    assert.equal(upstream.requests[0]?.query.get("q")?.replace(/^'/, ""), run?.replaceAll(" <b", " '<b"));
  }
});

test("control characters, lone surrogates and noncharacters return 400", async () => {
  const controls = ["\u0000", "\u0001", "\u0008", "\u000E", "\u001B", "\u001F", "\u007F", "\u0080", "\u0085", "\u009F"];
  const surrogates = ["\uD800", "\uDBFF", "\uDC00", "\uDFFF", "\uDE00\uD83D"];
  const noncharacters = ["\uFDD0", "\uFDEF", "\uFFFE", "\uFFFF", "\u{1FFFE}", "\u{10FFFF}"];
  for (const bad of [...controls, "\u000B", "\u000C", ...surrogates, ...noncharacters]) {
    const reply = await rejected({ query: `cats${bad}dogs` });
    assert.deepEqual(faults(reply), [["#/query", "invalid_characters"]], JSON.stringify(bad));
  }
  // JSON.parse accepts an escaped lone surrogate.
  assert.deepEqual(faults(await rejected('{"query":"cats \\ud83d"}')), [["#/query", "invalid_characters"]]);
});

test("malformed JSON and invalid UTF-8 return 400 malformed_json", async () => {
  const bodies = [
    "",
    "{",
    '{"query":"cats"',
    "{'query':'cats'}",
    '{"query":"cats"}{}',
    '{"query":"cats",}',
    "query=cats",
    "\u0000",
  ];
  for (const body of bodies) {
    const reply = await rejected(body);
    assert.equal(reply.status, 400, body);
    assert.equal(reply.body.code, "malformed_json", body);
    assert.deepEqual(reply.body.errors[0].pointer, "#");
  }
  for (const bytes of [[0xff], [0xc0, 0xaf], [0xed, 0xa0, 0x80], [0xf4, 0x90, 0x80, 0x80], [0xe2, 0x82]]) {
    const body = Buffer.concat([Buffer.from('{"query":"'), Buffer.from(bytes), Buffer.from('"}')]);
    const reply = await rejected(body);
    assert.deepEqual([reply.status, reply.body.code], [400, "malformed_json"]);
  }
});

test("a body of 16,384 bytes is accepted, and one of 16,385 returns 413, with and without Content-Length", async () => {
  const padded = (bytes: number) => `{"query":"cats"${" ".repeat(bytes - 16)}}`;
  const lines = [`x-api-key: ${wallet.test}`, "Content-Type: application/json"];
  const chunked = [...lines, "Transfer-Encoding: chunked"];
  const inChunks = (text: string) =>
    `${text
      .match(/.{1,5000}/gs)
      ?.map((part) => `${part.length.toString(16)}\r\n${part}\r\n`)
      .join("")}0\r\n\r\n`;
  const fits = padded(16_384);
  assert.equal(fits.length, 16_384);
  assert.equal((await sendRaw(server.url, rawRequest("POST /v1/search", lines, fits))).status, 200);
  assert.equal((await sendRaw(server.url, rawRequest("POST /v1/search", chunked, inChunks(fits)))).status, 200);
  for (const request of [
    rawRequest("POST /v1/search", lines, padded(16_385)),
    rawRequest("POST /v1/search", chunked, inChunks(padded(16_385))),
    rawRequest("POST /v1/search", chunked, inChunks(padded(200_000))),
    // Rejected because of Content-Length; the body is never sent.
    rawRequest("POST /v1/search", [...lines, "Content-Length: 16385"]),
    rawRequest("POST /v1/search", [...lines, "Content-Length: 99999999999"]),
  ]) {
    const { status, headers, text } = await sendRaw(server.url, request);
    assert.equal(status, 413);
    assert.equal(JSON.parse(text).code, "payload_too_large");
    assert.equal(JSON.parse(text).max_bytes, 16_384);
    assert.equal(headers.get("connection"), "close");
  }
});

test("a connection stays open after a rejected body within the size limit", async () => {
  const connection = await openRaw(server.url);
  const bad = rawRequest("POST /v1/search", ["Content-Type: application/json"], '{"query":"cats"}');
  connection.write(bad);
  assert.equal((await connection.answer()).status, 401);
  connection.write(bad.replace("Content-Type", `x-api-key: ${wallet.test}\r\nContent-Type`));
  assert.equal((await connection.answer()).status, 200);
  connection.socket.destroy();
});

test("a missing or other content type, another charset and a compressed body return 415 with Accept", async () => {
  const body = '{"query":"cats"}';
  for (const type of [
    undefined,
    "",
    "text/plain",
    "application/x-www-form-urlencoded",
    "text/json",
    "application/jsonp",
    "application/vnd.api+json",
    "application/json; charset=latin1",
    "application/json; charset=utf-16",
    "application/json, text/plain",
    "garbage",
    "/",
    "multipart/form-data; boundary=x",
  ]) {
    const lines = [`x-api-key: ${wallet.live}`, ...(type === undefined ? [] : [`Content-Type: ${type}`])];
    const { status, headers, text } = await sendRaw(server.url, rawRequest("POST /v1/search", lines, body));
    assert.equal(status, 415, type);
    assert.equal(JSON.parse(text).code, "unsupported_media_type");
    assert.equal(headers.get("accept"), "application/json");
  }
  for (const encoding of ["gzip", "br", "deflate", "gzip, identity"]) {
    const reply = await rejected(body, { "content-encoding": encoding });
    assert.equal(reply.status, 415, encoding);
  }
  assert.equal((await rejected(gzipSync(body), { "content-encoding": "gzip" })).status, 415);
});

test("all spellings of application/json in UTF-8 are accepted", async () => {
  for (const type of [
    "application/json",
    "Application/JSON",
    "application/json; charset=utf-8",
    "application/json;charset=UTF-8",
    'application/json; charset="utf-8"',
  ]) {
    await accepted({ query: "cats" }, { "content-type": type, "content-encoding": "identity" });
  }
});

test("query parameters are ignored", async () => {
  const reply = await server.request("/v1/search?query=cats", {
    method: "POST",
    headers: { "x-api-key": wallet.live, "content-type": "application/json" },
    body: "{}",
  });
  assert.deepEqual(faults(reply), [["#/query", "required"]]);
});

test("an invalid Idempotency-Key, Search-Run or Rank-Explain returns 400 without a charge", async () => {
  for (const headers of [
    { "idempotency-key": "" },
    { "idempotency-key": '""' },
    { "idempotency-key": "x".repeat(256) },
    { "idempotency-key": "caf\u00e9" },
    { "idempotency-key": "a\tb" },
    { "search-run": "" },
    { "search-run": "a run" },
    { "search-run": "run" },
    { "search-run": "run; max=" },
    { "search-run": "run; max=-1" },
    { "search-run": "run; max=1e3" },
    { "search-run": "run; max=0.50; max=1" },
    { "search-run": "run; max=0.50; size=1" },
    { "search-run": "run; max=0.50; ttl=0" },
    { "search-run": "run; max=0.50; ttl=1.5" },
    { "search-run": "run; max=0.50; ttl" },
    { "search-run": "run; max=0.50; ttl=1e3" },
    { "search-run": "run; max=0.50=7" },
    { "search-run": "run; max=0.50; ttl=2592001" },
    { "search-run": `${"x".repeat(129)}; max=0.50` },
    { "search-run": "run; max=0.009" },
    { "rank-explain": "yes" },
    { "rank-explain": "" },
  ] as Record<string, string>[]) {
    const reply = await rejected({ query: "cats" }, headers);
    for (const fault of faults(reply)) assert.deepEqual(fault, ["#", "invalid_header"], JSON.stringify(headers));
  }
});

test("a header of ours that is sent twice returns 400", async () => {
  for (const [name, values] of [
    ["Idempotency-Key", ["one", "two"]],
    ["Search-Run", ["a; max=0.50", "b; max=0.50"]],
    ["Rank-Explain", ["1", "1"]],
  ] as const) {
    const lines = [`x-api-key: ${wallet.live}`, "Content-Type: application/json"];
    const repeated = values.map((value) => `${name}: ${value}`);
    const reply = await sendRaw(server.url, rawRequest("POST /v1/search", [...lines, ...repeated], '{"query":"cats"}'));
    assert.equal(reply.status, 400, name);
    assert.deepEqual(JSON.parse(reply.text).errors, [
      { pointer: "#", code: "invalid_header", detail: `\`${name}\` must be sent once, but was sent 2 times` },
    ]);
  }
});

test("the upstream receives only the query of the caller's request", async () => {
  await accepted(
    { query: "cats" },
    {
      traceparent: "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01",
      "idempotency-key": "once",
      cookie: "a=b",
    },
  );
  const [request] = upstream.requests;
  const seen = Object.keys(request?.headers ?? {});
  assert.deepEqual(new Set(seen), new Set(["accept", "accept-encoding", "connection", "host", "user-agent"]));
});
