import assert from "node:assert/strict";
import { test } from "node:test";
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import { parseUsd, priceMicros } from "../../src/lib/money.ts";
import { createFixture } from "../fixture.ts";
import { pluck } from "../support/assertions/pluck.ts";
import { readLedger } from "../support/assertions/read-ledger.ts";
import { until } from "../support/assertions/until.ts";
import type { Reply } from "../support/services/server.ts";
import { upstreamText } from "../support/upstreams/hostile-results.ts";
import type { HostileBehaviour } from "../support/upstreams/hostile-upstream.ts";

// For every behaviour of the upstream: the status, the charge (one cent for a 200, otherwise nothing), and that the next
// search works.

const { db, upstream, server, createWallet } = await createFixture();
const wallet = await createWallet("20.00");
const warnings: string[] = [];
process.on("warning", ({ name, message }) => warnings.push(`${name}: ${message}`));

interface Expected {
  status: number;
  code?: string;
  upstreamStatus?: number | undefined;
  retryAfter?: string | null;
  /** Number of results of a 200. */
  n?: number;
  /** The search would run into the deadline, so the caller sets one of a second. */
  isSlow?: boolean;
}

const answered = (n: number): Expected => ({ status: 200, n, retryAfter: null });
const problem = (status: number, code: string, upstreamStatus?: number): Expected => ({ status, code, upstreamStatus });
const invalid = (upstreamStatus?: number) => problem(502, "upstream_invalid_response", upstreamStatus);
const unreachable = problem(502, "upstream_unreachable");
/** The deadline is the caller's, which makes a retry pointless. */
const tooSlow = (upstreamStatus?: number) => ({
  ...problem(504, "upstream_timeout", upstreamStatus),
  isSlow: true,
  retryAfter: null,
});
const failed = (upstreamStatus: number, more: Partial<Expected> = {}) => ({
  ...problem(upstreamStatus, "upstream_error", upstreamStatus),
  ...more,
});

/** These have their own tests below. */
type OnReusedSocket = "second_answer_later" | "reset_on_reused_socket" | "reset_in_status_line_on_reused_socket";
/** Other tests decide when it answers. */
type OnRequest = "ok_when_released";

const expectations: Record<Exclude<HostileBehaviour, OnReusedSocket | OnRequest>, Expected> = {
  // Valid answers with unusual framing or headers.
  ok: answered(10),
  same_page_always: answered(10),
  later_page_fails: answered(10),
  later_page_hangs: answered(10),
  set_cookie: answered(10),
  keep_alive_for_years: answered(10),
  hints_then_answer: answered(10),
  close_after_answer: answered(10),
  second_answer: answered(10),
  answer_on_accept: answered(10),
  http_1_0: answered(10),
  http_1_0_with_length: answered(10),
  // It has the framing of HTTP/1.1, so it can be parsed.
  http_2: answered(10),

  // Valid answers with unusual content.
  empty: answered(0),
  byte_order_mark: answered(3),
  deep_results: answered(1),
  duplicate_names: answered(1),
  prototype_names: answered(1),
  huge_numbers: answered(1),
  invalid_utf_8: answered(1),
  unusable_items: answered(1),
  poisonous_urls: answered(1),
  poisonous_text: answered(1),
  long_texts: answered(3),
  long_hosts: answered(1),
  thousand_results: answered(10),
  duplicates: answered(2),

  // 1xx, other 2xx, 3xx and invalid statuses.
  continue_then_answer: invalid(),
  continue_and_nothing: invalid(),
  switching_protocols: invalid(),
  processing_and_nothing: tooSlow(),
  early_hints_and_close: invalid(),
  endless_hints: tooSlow(),
  no_content: invalid(204),
  reset_content: invalid(205),
  partial_content: invalid(206),
  multiple_choices: invalid(300),
  redirect: invalid(302),
  redirect_to_itself: invalid(307),
  redirect_to_another_host: invalid(301),
  not_modified: invalid(304),
  status_beyond_http: invalid(600),
  status_999: invalid(999),
  status_of_zeros: invalid(),
  status_of_two_digits: invalid(),
  status_of_four_digits: invalid(),
  status_of_letters: invalid(),

  // Errors.
  credential_wanted: failed(401, { status: 502, retryAfter: null }),
  payment_wanted: failed(402, { status: 502, retryAfter: null }),
  poisonous_error: failed(500),
  error_that_claims_results: failed(404, { retryAfter: null }),
  endless_error: failed(500),
  error_that_stalls: failed(503, { isSlow: true }),
  reset_in_error_page: failed(503),
  retry_after_words: failed(429),
  retry_after_negative: failed(503),
  retry_after_huge: failed(503, { retryAfter: "120" }),
  retry_after_beyond_numbers: failed(503),
  retry_after_twice: failed(429),
  retry_after_date_long_gone: failed(429, { retryAfter: "1" }),
  retry_after_date_far_away: failed(429, { retryAfter: "120" }),

  // 200 without a valid answer.
  wrong_content_type: invalid(200),
  no_content_type: invalid(200),
  content_type_twice: invalid(200),
  unknown_encoding: invalid(200),
  gzip: invalid(200),
  brotli: invalid(200),
  deflate: invalid(200),
  gzip_bomb: invalid(200),
  gzip_bomb_of_gzip_bombs: invalid(200),
  no_bytes: invalid(200),
  no_body: invalid(200),
  white_space: invalid(200),
  truncated_json: invalid(200),
  json_text: invalid(200),
  json_list: invalid(200),
  json_null: invalid(200),
  two_answers: invalid(200),
  html: invalid(200),
  no_results: invalid(200),
  wrong_types: invalid(200),
  nulls: invalid(200),
  results_of_null: invalid(200),
  results_of_text: invalid(200),
  results_in_prototype: invalid(200),
  nested_for_ever: invalid(200),
  ten_thousand_results: invalid(200),
  engines_failed: invalid(200),
  utf_16: invalid(200),

  // Slow or endless.
  slow_headers: tooSlow(),
  slow_drip: tooSlow(200),
  slow_drip_of_headers: tooSlow(),
  stall_in_body: tooSlow(200),
  endless_body: invalid(200),
  fifty_megabytes: invalid(200),
  endless_headers: invalid(),
  endless_header: invalid(),
  endless_status_line: tooSlow(),
  endless_chunk_extension: tooSlow(200),
  endless_trailers: invalid(200),
  header_of_a_megabyte: invalid(),
  ten_thousand_headers: invalid(),

  // Not HTTP, or badly framed.
  not_http: invalid(),
  http_0_9: invalid(),
  header_without_name: invalid(),
  header_with_null: invalid(),
  length_too_long: invalid(200),
  length_too_short: invalid(200),
  length_twice: invalid(),
  length_negative: invalid(),
  length_beyond_numbers: invalid(),
  length_and_chunks: invalid(),
  chunk_size_of_letters: invalid(200),
  chunk_size_beyond_numbers: invalid(200),
  chunk_longer_than_said: invalid(200),
  chunks_without_end: tooSlow(200),
  chunks_cut_off: invalid(200),

  // Closed or reset, from connect to the end of the body.
  refused: unreachable,
  hang_up_on_accept: unreachable,
  reset_on_accept: unreachable,
  silent_end: unreachable,
  reset_before_headers: unreachable,
  reset_in_status_line: invalid(),
  reset_after_status_line: invalid(),
  reset_in_headers: invalid(),
  reset_after_headers: invalid(200),
  reset_in_body: invalid(200),
  reset_between_chunks: invalid(200),
  half_close: invalid(200),
  http_1_0_reset: invalid(200),
};

const waitOneSecond = { prefer: "wait=1" };

for (const [name, expected] of Object.entries(expectations) as [HostileBehaviour, Expected][]) {
  const { status, code = "and charged", isSlow = false } = expected;
  test(`${name}: ${status} ${code}, and the next search works`, async () => {
    await upstream.behave(name);
    assertExpected(await paidSearch(isSlow ? waitOneSecond : {}), expected);
    await upstream.behave("ok");
    // Otherwise the circuit would block the next search.
    if ([401, 402, 429].includes(expected.upstreamStatus ?? 0)) server.app.reload();
    await goodSearch();
  });
}

/** One search, with checks of the charge, the hold and the requests that the upstream received. */
async function paidSearch(headers: Record<string, string> = {}): Promise<Reply> {
  const before = await readBalance();
  const calls = upstream.requests.length;
  const reply = await server.search(wallet.live, { query: "cats" }, headers);
  for (const { path, headers } of upstream.requests.slice(calls)) {
    assert.deepEqual([path, headers.host, headers.cookie], ["/search", new URL(upstream.url).host, undefined]);
  }
  const charge = reply.status === 200 ? priceMicros : 0n;
  assert.equal(before - (await readBalance()), charge, "the amount charged");
  assert.equal(reply.headers.get("wallet-charge"), `${charge === 0n ? "0.00" : "0.01"};currency=usd`);
  assertDiscreet(reply);
  return reply;
}

async function readBalance(): Promise<bigint> {
  const { balance, held } = await server.readMoney(wallet.management);
  assert.equal(held, "0.00", "held");
  return parseUsd(balance) ?? assert.fail(balance);
}

async function goodSearch(): Promise<void> {
  const reply = await paidSearch();
  assertExpected(reply, answered(10));
  assert.equal(reply.body.results[0].url, "https://example.org/page-1");
}

/** The answer and the log contain neither text nor the name of the upstream. */
function assertDiscreet({ text, headers }: Reply): void {
  const visible = `${JSON.stringify([...headers])} ${text}`;
  for (const secret of [upstreamText, "searxng", "127.0.0.1", "forged"]) {
    assert.ok(!visible.toLowerCase().includes(secret), `the answer contains ${secret}: ${visible.slice(0, 1_000)}`);
  }
  for (const name of ["set-cookie", "www-authenticate", "x-payment", "location", "etag", "x-words"]) {
    assert.equal(headers.get(name), null, name);
  }
  assert.ok(!server.logged().includes(upstreamText), "the log contains text of the upstream");
}

function assertExpected(reply: Reply, { status, code, upstreamStatus, retryAfter = "2", n }: Expected): void {
  const { body, headers } = reply;
  assert.deepEqual([reply.status, body.code, body.upstream_status], [status, code, upstreamStatus]);
  assert.equal(headers.get("search-upstreams"), "1");
  assert.equal(headers.get("retry-after"), retryAfter);
  if (status === 200) assertClean(body, n ?? 0);
  else {
    assert.deepEqual([body.status, body.charged, body.retryable], [status, false, retryAfter !== null]);
    assert.match(headers.get("content-type") ?? "", /^application\/problem\+json/);
    assert.match(headers.get("proxy-status") ?? "", proxyStatus[code ?? ""] ?? /^search; received-status=\d{3}$/);
  }
}

const proxyStatus: Record<string, RegExp> = {
  upstream_invalid_response: /^search; error=http_protocol_error/,
  upstream_unreachable: /^search; error=destination_unavailable$/,
  upstream_timeout: /^search; error=\w+_timeout/,
};

const unfit = /[\p{Cc}\p{Bidi_Control}\p{Default_Ignorable_Code_Point}\p{Surrogate}]|<(?:script|img|b)\b/u;

function assertClean(body: Record<string, unknown>, n: number): void {
  const results = body["results"] as Record<string, string>[];
  assert.deepEqual(Object.keys(body), ["query", "n", "results"]);
  assert.deepEqual([body["n"], results.length], [n, n]);
  for (const result of results) {
    const { title = "", url = "", snippet = "" } = result;
    assert.deepEqual(Object.keys(result), ["title", "url", "snippet", "source"]);
    assert.ok(Object.values(result).every((text) => typeof text === "string" && !unfit.test(text)));
    assert.ok(title.length > 0 && [...title].length <= 300 && [...snippet].length <= 1_000);
    assert.match(url, /^https?:\/\/[^@]+$/);
  }
}

async function resultsOf(behaviour: HostileBehaviour, n = 20): Promise<Record<string, string>[]> {
  await upstream.behave(behaviour);
  const { status, body } = await server.search(wallet.live, { query: "cats", n });
  assert.equal(status, 200);
  assertClean(body, body.n);
  return body.results;
}

// The rules themselves are tested in clean-results.test.ts.
test("results are cleaned before they are returned", async () => {
  assert.deepEqual(pluck(await resultsOf("poisonous_urls"), "url"), ["https://example.org/page-1"]);
  assert.deepEqual(await resultsOf("unusable_items"), [
    {
      title: "About https://example.org/page-1",
      url: "https://example.org/page-1",
      snippet: "What https://example.org/page-1 says.",
      source: "example.org",
    },
  ]);
  assert.match((await resultsOf("poisonous_text"))[0]?.["title"] ?? "", /invisible/);
  assert.equal((await resultsOf("same_page_always")).length, 10);
  assert.equal((await resultsOf("later_page_fails")).length, 10);
});

test("an answer on an idle socket is discarded and closes the socket", async () => {
  await upstream.behave("second_answer_later");
  assertExpected(await paidSearch(), answered(10));
  const request = upstream.requests.at(-1) ?? assert.fail("the upstream was not called");
  await upstream.behave("ok");
  await until("the socket is closed", () => request.hungUp.aborted);
  await goodSearch();
});

test("a reset of a reused socket is retried, unless the answer had started", async () => {
  for (const [name, expected] of [
    ["reset_on_reused_socket", answered(10)],
    ["reset_in_status_line_on_reused_socket", invalid()],
  ] as const) {
    await upstream.behave("refused"); // drops every idle socket
    await upstream.behave(name);
    assertExpected(await paidSearch(), answered(10));
    assertExpected(await paidSearch(), expected);
    await upstream.behave("ok");
    await goodSearch();
  }
});

test("hundreds of concurrent hostile answers leak neither memory nor sockets", async (context) => {
  // Several, because a wallet with 20 unpaid calls is limited.
  const wallets = await Promise.all(Array.from({ length: 50 }, () => createWallet("0.01")));
  const atRest = readMemory();
  let peak = 0;
  const watch = setInterval(() => (peak = Math.max(peak, readMemory({ isExact: false }))), 20);
  try {
    for (const name of [
      "gzip_bomb",
      "endless_body",
      "fifty_megabytes",
      "endless_error",
      "header_of_a_megabyte",
      "endless_headers",
      "reset_between_chunks",
      "slow_headers",
    ] as const) {
      await upstream.behave(name);
      const { isSlow, ...expected } = expectations[name];
      const replies = await Promise.all(
        wallets.map(({ live }) => server.search(live, { query: "cats" }, isSlow ? waitOneSecond : {})),
      );
      for (const reply of replies) {
        // On a busy machine, fifty at once can take longer than the server's deadline.
        const isLate = reply.body.deadline_set_by === "server";
        assertExpected(reply, isLate ? problem(504, "upstream_timeout", reply.body.upstream_status) : expected);
        assertDiscreet(reply);
      }
    }
  } finally {
    clearInterval(watch);
  }
  for (const { management } of wallets)
    assert.deepEqual(await server.readMoney(management), { balance: "0.01", held: "0.00" });
  // Well before the last fifty would have timed out waiting for headers.
  await until("the sockets are closed", () => upstream.countConnections() <= 2, 5_000);
  await upstream.behave("ok");
  await goodSearch();

  // Another thread frees the buffers some time after they were collected.
  await until("less than 32 MiB are left", () => readMemory() - atRest < 32 * 1024 * 1024);
  context.diagnostic(`${inMebibytes(readMemory() - atRest)} retained, ${inMebibytes(peak - atRest)} at the peak`);
  // Fifty answers of up to a mebibyte each, on both sides of the connection, and garbage that was not yet collected.
  assert.ok(peak - atRest < 400 * 1024 * 1024, `${inMebibytes(peak - atRest)} at the peak`);
});

setFlagsFromString("--expose-gc");
const collectGarbage = runInNewContext("gc") as () => void;

function readMemory({ isExact = true } = {}): number {
  if (isExact) collectGarbage();
  const { heapUsed, external } = process.memoryUsage();
  return heapUsed + external;
}

function inMebibytes(bytes: number): string {
  return `${Math.round(bytes / 1024 / 1024)} MiB`;
}

test("every search was charged or released, and no prototype or event listener was leaked", async () => {
  const ledger = await readLedger(db.owner, [wallet.walletId]);
  const ends = ledger.filter((line) => line.startsWith("search ")).map((line) => line.split(" ")[5]);
  const charges = ledger.filter((line) => line.startsWith("charge ")).length;
  assert.deepEqual(new Set(ends), new Set(["captured", "released"]));
  assert.equal(ends.filter((end) => end === "captured").length, charges);
  assert.equal(parseUsd("20.00"), (await readBalance()) + BigInt(charges) * priceMicros);
  assert.equal(Reflect.get({}, "polluted"), undefined);
  assert.deepEqual(warnings, []);
});
