import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import { json } from "node:stream/consumers";
import { after, beforeEach, mock, type TestContext, test } from "node:test";
import { listen } from "../../server/test/support/services/listen.ts";
import { deriveRepeatKey, type RepeatableSearch } from "./repeat.ts";
import { type Duration, Pennyblack, PennyblackError, type SearchOptions } from "./sdk.ts";

// Runs clients/cases.json, which the Python client runs too, against a server that sends the responses of each case.

interface Step {
  status?: number;
  headers?: Record<string, string>;
  /** A string is sent as it is. */
  body?: unknown;
  close?: "before_response" | "reset" | "mid_body";
  hang?: boolean;
}

interface ExpectedRequest {
  method?: string;
  path?: string;
  body?: unknown;
  headers?: Record<string, string | null>;
}

interface Case {
  name: string;
  client?: { max_retries?: number };
  call?: Record<string, unknown> & { operation: string };
  server?: "refuses connections";
  /** The call is aborted when it waits for a response or for the next attempt. */
  abort?: boolean;
  /** One for each request that the client must send. */
  responses: Step[];
  expect: {
    request?: ExpectedRequest;
    last_request?: ExpectedRequest;
    /** Between the first two requests. */
    wait_seconds?: number;
    /** For the whole call. */
    result?: unknown;
    error?: Record<string, unknown> & { class: string };
    detail_contains?: string[];
    aborted?: boolean;
  };
}

interface RepeatCase {
  name: string;
  secret: string;
  now: number;
  repeat: Duration;
  search: RepeatableSearch;
  key: string;
}

const cases = JSON.parse(readFileSync(new URL("../../clients/cases.json", import.meta.url), "utf8")) as {
  calls: Case[];
  repeat: RepeatCase[];
  invalid_repeat: Duration[];
};

interface Sent {
  method: string | undefined;
  path: string | undefined;
  headers: IncomingMessage["headers"];
  body: unknown;
}

let responses: Step[] = [];
let sent: Sent[] = [];
let onHang = () => {};
const respond = async (request: IncomingMessage, response: ServerResponse) => {
  const body = request.headers["content-type"] === undefined ? undefined : await json(request);
  sent.push({ method: request.method, path: request.url, headers: request.headers, body });
  play(responses[sent.length - 1] ?? { status: 599 }, response);
};
const server = createServer((request, response) => {
  respond(request, response).catch((error: unknown) => response.destroy(error as Error));
});
const scripted = await listen(server);
const refusing = await listen(createServer());
await refusing.close();
after(() => scripted.close());

function play({ status = 200, headers = {}, body, close, hang }: Step, response: ServerResponse): void {
  if (hang) return onHang();
  if (close === "before_response") response.destroy();
  else if (close === "reset") response.socket?.resetAndDestroy();
  else {
    const bytes = Buffer.from(typeof body === "string" ? body : JSON.stringify(body ?? {}));
    response.writeHead(status, { connection: "close", "content-length": bytes.length, ...headers });
    if (close === "mid_body") response.write(bytes.subarray(0, -5), () => response.destroy());
    else response.end(bytes);
  }
}

// Remove the random backoff.
beforeEach(() => mock.method(Math, "random", () => 0));

for (const { name, client: options, call, responses: steps, expect, ...rest } of cases.calls) {
  test(name, async (t) => {
    const caller = new AbortController();
    [responses, sent] = [steps, []];
    const abort = rest.abort ? () => void setImmediate(() => caller.abort()) : () => {};
    onHang = abort;
    const delays = expect.wait_seconds === undefined ? [] : shortenDelays(t, expect.wait_seconds * 1_000);
    const client = new Pennyblack({
      apiKey: "pb_test_key",
      baseUrl: (rest.server === "refuses connections" ? refusing : scripted).url,
      // The wait for the next attempt starts before the next turn of the event loop.
      onResponse: abort,
      ...(options?.max_retries !== undefined && { maxRetries: options.max_retries }),
    });
    const outcome = await run(client, call ?? { operation: "search", query: "q" }, caller.signal).then(
      (result) => ({ result: toSnakeCase(result) }),
      (error: unknown) => ({ error }),
    );
    if (expect.aborted) assert.deepEqual(outcome, { error: caller.signal.reason });
    else if ("error" in outcome) assertError(outcome.error, expect);
    else assertIncludes(outcome.result, expect.result ?? "an error", "result");
    assert.equal(sent.length, steps.length, "number of requests");
    assert.ok(new Set(sent.map(({ headers }) => headers["idempotency-key"])).size <= 1, "one Idempotency-Key");
    assertIncludes(sent[0], expect.request ?? {}, "request");
    assertIncludes(sent.at(-1), expect.last_request ?? {}, "last request");
    if (expect.wait_seconds !== undefined) assert.deepEqual(delays, [expect.wait_seconds * 1_000]);
  });
}

/** Timers with this delay fire at once. Returns a list of their delays. */
function shortenDelays(t: TestContext, delayMs: number): number[] {
  const delays: number[] = [];
  const { setTimeout: start } = globalThis;
  t.mock.method(globalThis, "setTimeout", (work: () => void, ms: number) => {
    if (ms === delayMs) delays.push(ms);
    return start(work, ms === delayMs ? 0 : ms);
  });
  return delays;
}

async function run(client: Pennyblack, { operation, ...input }: Record<string, unknown>, signal: AbortSignal) {
  const { query, timeout_ms: timeoutMs, idempotency_key: idempotencyKey, ...options } = input;
  const searchOptions = { ...options, signal, ...(timeoutMs !== undefined && { timeoutMs }) };
  if (operation === "search")
    return client.search(query as string, {
      ...(searchOptions as SearchOptions),
      ...(idempotencyKey !== undefined && { idempotencyKey: idempotencyKey as string }),
    });
  if (operation === "wallet") return client.wallet();
  if (operation === "list_keys") return Array.fromAsync(client.keys.list(options as { limit: number }));
  if (operation === "create_key") return client.keys.create(options as { mode: "live"; name: string });
  if (operation === "rotate_key")
    return client.keys.rotate(options["id"] as string, { graceSeconds: options["grace_seconds"] as number });
  assert.fail(`unknown operation ${String(operation)}`);
}

function assertError(error: unknown, { error: expected, detail_contains: texts = [] }: Case["expect"]): void {
  if (!(error instanceof PennyblackError) || expected === undefined) throw error;
  const { class: className, ...fields } = expected;
  assert.deepEqual([error.constructor.name, error.name], [className, className]);
  const actual = toSnakeCase(Object.fromEntries(Object.entries(error))) as Record<string, unknown>;
  assertIncludes({ ...actual, message: error.message, problem: error.problem }, fields, "error");
  for (const text of texts) assert.ok(error.detail.includes(text), `"${error.detail}" does not contain "${text}"`);
}

/** Members that are not listed in `expected` may have any value. A missing member is null. */
function assertIncludes(actual: unknown, expected: unknown, path: string): void {
  if (expected === null || typeof expected !== "object") {
    assert.equal(actual ?? null, expected, path);
    return;
  }
  assert.equal(Array.isArray(actual), Array.isArray(expected), path);
  if (Array.isArray(expected)) assert.equal((actual as unknown[]).length, expected.length, path);
  for (const [name, value] of Object.entries(expected))
    assertIncludes((actual as Record<string, unknown>)[name], value, `${path}.${name}`);
}

function toSnakeCase(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(toSnakeCase);
  if (value === null || typeof value !== "object") return value ?? null;
  return Object.fromEntries(
    Object.entries(value).map(([name, member]) => [
      name.replaceAll(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`),
      toSnakeCase(member),
    ]),
  );
}

for (const { name, secret, now, repeat, search, key } of cases.repeat) {
  test(`repeat: ${name}`, async () => {
    assert.equal(await deriveRepeatKey(secret, search, repeat, now * 1_000), key);
  });
}

test("an invalid duration, or repeat with an Idempotency-Key, throws before anything is sent", async () => {
  sent = [];
  const client = new Pennyblack({ apiKey: "pb_test_key", baseUrl: scripted.url });
  for (const repeat of cases.invalid_repeat) await assert.rejects(client.search("q", { repeat }), TypeError, repeat);
  await assert.rejects(client.search("q", { repeat: "20m", idempotencyKey: "mine" }), TypeError);
  assert.throws(() => new Pennyblack({ apiKey: "k", baseUrl: scripted.url, repeatSecret: "" }), TypeError);
  assert.equal(sent.length, 0);
});
