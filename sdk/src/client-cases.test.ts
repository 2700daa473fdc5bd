import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import { json } from "node:stream/consumers";
import { after, afterEach, beforeEach, mock, test } from "node:test";
import { listen } from "../../server/test/support/services/listen.ts";
import { clock } from "./clock.ts";
import { deriveRepeatKey, type RepeatableSearch } from "./repeat.ts";
import { type Duration, type ListSearchesOptions, Pennyblack, PennyblackError, type SearchOptions } from "./sdk.ts";

// Runs clients/cases.json, which the Python client runs too, against a server that sends the responses of each case.

interface Step {
  /** The time until the response, on the clock of the test. */
  after_ms?: number;
  status?: number;
  headers?: Record<string, string>;
  /** A string is sent unchanged. */
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
    /** The pauses between the attempts. */
    pauses_ms?: number[];
    /** The duration of the call. */
    elapsed_ms?: number;
    result?: unknown;
    error?: Record<string, unknown> & { class: string };
    detail_contains?: string[];
    detail_lacks?: string[];
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

interface SettingsCase {
  name: string;
  env: Record<string, string>;
  client?: Record<string, unknown>;
  /** The key and the URL that are used, or the error. */
  key?: string;
  url?: string;
  message?: string;
}

const cases = JSON.parse(readFileSync(new URL("../../clients/cases.json", import.meta.url), "utf8")) as {
  calls: Case[];
  repeat: RepeatCase[];
  invalid_repeat: Duration[];
  invalid_arguments: { call?: Record<string, unknown>; client?: Record<string, unknown>; message: string }[];
  settings: SettingsCase[];
  /** Texts that several messages share. */
  messages: { run: string };
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

// The clock of the client. Only responses, timeouts and pauses move it.
let nowMs = 0;
let pausesMs: number[] = [];
let timer: { atMs: number; fire: () => void } | undefined;

function replaceClock(): void {
  [nowMs, pausesMs] = [0, []];
  mock.method(clock, "nowMs", () => nowMs);
  mock.method(clock, "startTimer", (ms: number, fire: () => void) => {
    timer = { atMs: nowMs + ms, fire };
    return () => void (timer = undefined);
  });
  mock.method(clock, "sleep", (ms: number) => {
    pausesMs.push(ms);
    nowMs += ms;
    return Promise.resolve();
  });
}

const respond = async (request: IncomingMessage, response: ServerResponse) => {
  const body = request.headers["content-type"] === undefined ? undefined : await json(request);
  sent.push({ method: request.method, path: request.url, headers: request.headers, body });
  const step = responses[sent.length - 1] ?? { status: 599 };
  if (step.hang) onHang();
  else play(step, response);
};
const server = createServer((request, response) => {
  respond(request, response).catch((error: unknown) => response.destroy(error as Error));
});
const scripted = await listen(server);
const refusing = await listen(createServer());
await refusing.close();
after(() => scripted.close());

function play(
  { after_ms: afterMs = 0, status = 200, headers = {}, body, close }: Step,
  response: ServerResponse,
): void {
  nowMs += afterMs;
  if (close === "before_response") response.destroy();
  else if (close === "reset") response.socket?.resetAndDestroy();
  else {
    const bytes = Buffer.from(typeof body === "string" ? body : JSON.stringify(body ?? {}));
    response.writeHead(status, { connection: "close", "content-length": bytes.length, ...headers });
    if (close === "mid_body") response.write(bytes.subarray(0, -5), () => response.destroy());
    else response.end(bytes);
  }
}

/** The client gives up. */
function passDeadline(): void {
  nowMs = timer?.atMs ?? assert.fail("no time limit");
  timer?.fire();
}

beforeEach(() => {
  // Remove the random backoff.
  mock.method(Math, "random", () => 0);
});
afterEach(() => mock.restoreAll());

for (const { name, client: options, call, responses: steps, expect, ...rest } of cases.calls) {
  test(name, async () => {
    const caller = new AbortController();
    [responses, sent] = [steps, []];
    const abort = rest.abort ? () => void setImmediate(() => caller.abort()) : () => {};
    onHang = rest.abort ? abort : passDeadline;
    // A call that is aborted waits for the signal.
    if (!rest.abort) replaceClock();
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
    if (expect.pauses_ms) assert.deepEqual(pausesMs, expect.pauses_ms);
    if (expect.elapsed_ms !== undefined) assert.equal(nowMs, expect.elapsed_ms);
  });
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
  if (operation === "create_top_up")
    return client.topUps.create({ amount: options["amount"] as string, idempotencyKey: idempotencyKey as string });
  if (operation === "export_entries") return client.exportEntries();
  if (operation === "set_alerts") return client.alerts.update(options as { email: null; low_balance: string });
  if (operation === "list_searches") return Array.fromAsync(client.searches.list(options as ListSearchesOptions));
  assert.fail(`unknown operation ${String(operation)}`);
}

function assertError(error: unknown, { error: expected, ...expect }: Case["expect"]): void {
  if (!(error instanceof PennyblackError) || expected === undefined) throw error;
  const { class: className, ...fields } = expected;
  assert.deepEqual([error.constructor.name, error.name], [className, className]);
  const actual = toSnakeCase(Object.fromEntries(Object.entries(error))) as Record<string, unknown>;
  assertIncludes({ ...actual, message: error.message, problem: error.problem }, fields, "error");
  for (const text of expect.detail_contains ?? [])
    assert.ok(error.detail.includes(text), `no "${text}": ${error.detail}`);
  for (const text of expect.detail_lacks ?? []) assert.ok(!error.detail.includes(text), `"${text}": ${error.detail}`);
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

for (const repeat of cases.invalid_repeat) {
  test(`repeat is not a duration: ${JSON.stringify(repeat)}`, async () => {
    await assert.rejects(deriveRepeatKey("secret", { query: "q" }, repeat, 0), TypeError);
  });
}

const connected = { api_key: "pb_test_key", base_url: scripted.url };

for (const { call, client: options, message } of cases.invalid_arguments) {
  test(`invalid: ${JSON.stringify(call ?? options)}`, async () => {
    sent = [];
    const use = async () => {
      const client = new Pennyblack(toCamelCase({ ...connected, ...options }));
      const { operation = "search", ...input } = toCamelCase({ ...call });
      if (operation === "usage") client.usage(input);
      else await client.search("q", input);
    };
    await assert.rejects(use(), new TypeError(inTypeScript(message)));
    assert.equal(sent.length, 0);
  });
}

const variables = ["PENNYBLACK_API_KEY", "PENNYBLACK_URL"];

for (const { name, env, client: options, message, key, url } of cases.settings) {
  test(`settings: ${name}`, async () => {
    const requests: { url: string; authorization: string | null }[] = [];
    const fetch = (address: unknown, init: RequestInit = {}) => {
      requests.push({ url: String(address), authorization: new Headers(init.headers).get("authorization") });
      return Promise.resolve(Response.json({}));
    };
    const use = async () => await new Pennyblack({ ...toCamelCase({ ...options }), fetch }).wallet();
    const original = variables.map((variable) => [variable, process.env[variable]] as const);
    for (const variable of variables) Reflect.deleteProperty(process.env, variable);
    Object.assign(process.env, env);
    try {
      if (message === undefined) await use();
      else await assert.rejects(use(), new TypeError(inTypeScript(message)));
    } finally {
      for (const [variable, value] of original) {
        if (value === undefined) Reflect.deleteProperty(process.env, variable);
        else process.env[variable] = value;
      }
    }
    const expected = message === undefined ? [{ url: `${url}/v1/wallet`, authorization: `Bearer ${key}` }] : [];
    assert.deepEqual(requests, expected);
  });
}

test("an option that does not exist is an error, with a suggestion", async () => {
  sent = [];
  const client = new Pennyblack(toCamelCase(connected));
  const search = (options: object) => () => client.search("q", options);
  for (const [use, message] of [
    [search({ catgory: "gov" }), "catgory is not a known option. Did you mean category?"],
    [search({ idempotency_key: "mine" }), "idempotency_key is not a known option. Did you mean idempotencyKey?"],
    [search({ max_results: 5 }), /^max_results is not a known option\. The options are n, category, run, for, /],
    [async () => client.keys.list({ limmit: 2 } as object), "limmit is not a known option. Did you mean limit?"],
    [async () => client.entries({ request_id: "r" } as object), /Did you mean requestId\?/],
    [() => client.keys.rotate("k", { grace_seconds: 60 } as never), /Did you mean graceSeconds\?/],
    [() => client.wallet({ timeout: 5 } as object), /Did you mean timeoutMs\?/],
    [() => client.keys.create({ mode: "test", name: "a" }, { timeoutms: 5 } as object), /Did you mean timeoutMs\?/],
    [() => client.search("q", "gov" as never), "The options must be an object."],
    [
      async () => new Pennyblack({ ...toCamelCase(connected), apikey: "k" } as object),
      /option of the client\. Did you mean apiKey\?/,
    ],
  ] as const) {
    await assert.rejects(use(), { name: "TypeError", message }, String(message));
  }
  assert.equal(sent.length, 0);
});

const names: Record<string, string> = { run: cases.messages.run, null: "null", timeout: "timeoutMs" };

function inTypeScript(message: string): string {
  return message.replaceAll(/\{(\w+)\}/g, (_, name: string) => names[name] ?? camelCase(name));
}

function toCamelCase(values: Record<string, unknown>): Record<string, unknown> {
  return Object.fromEntries(
    Object.entries(values).map(([name, value]) => [name === "timeout" ? "timeoutMs" : camelCase(name), value]),
  );
}

function camelCase(name: string): string {
  return name.replaceAll(/_([a-z])/g, (_, letter: string) => letter.toUpperCase());
}
