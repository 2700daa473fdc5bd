import assert from "node:assert/strict";
import { after, test } from "node:test";
import { setTimeout as wait } from "node:timers/promises";
import { assertProblem } from "../../test/support/assertions/assert-response.ts";
import { until } from "../../test/support/assertions/until.ts";
import { openRaw, rawRequest, sendRaw } from "../../test/support/raw-http.ts";
import { httpServerOptions } from "../../test/support/services/http-server-options.ts";
import { createLog } from "../telemetry/log.ts";
import { createAdmission, defaultAdmission } from "./admission.ts";
import { createHttpServer, type HttpServerOptions } from "./http-server.ts";
import { NoResponse } from "./no-response.ts";
import { occupySlot } from "./occupied-slots.ts";
import { readBody } from "./read-body.ts";
import type { Route } from "./route.ts";

// Timeouts are shortened for the tests.

const route = (method: Route["method"], path: string, handle: Route["handle"]): Route => {
  const undocumented = { operationId: "", tag: "Documents" as const, summary: "", description: "", problems: [] };
  return { method, path, handle, ...undocumented, answer: "text/plain" };
};
let started = 0;
let failed = 0;
const routes = [
  route("GET", "/quick", async () => "quick"),
  route("GET", "/slow", () => wait(700, "slow")),
  route("GET", "/begin", () => {
    started += 1;
    return wait(700, "started");
  }),
  route("POST", "/body", async (request) => (await readBody(request.raw)).toString()),
  route("POST", "/late", async (request) => {
    started += 1;
    await until("the caller has disconnected", () => request.raw.destroyed);
    return readBody(request.raw).catch((error: unknown) => {
      failed += 1;
      throw error;
    });
  }),
  route("GET", "/silence", () => Promise.reject(new NoResponse("the outcome is unknown"))),
  route("GET", "/bug", () => Promise.reject(new Error("the inside of the machine"))),
];
const lines: string[] = [];
const options: HttpServerOptions = {
  ...httpServerOptions(routes),
  log: createLog("debug", { write: (line: string) => void lines.push(line) }),
};

const app = createHttpServer({
  ...options,
  timeouts: { headersMs: 600, requestMs: 900, checkIntervalMs: 20, inactivityMs: 1_800, keepAliveMs: 9_000 },
});
const url = await app.listen({ host: "127.0.0.1", port: 0 });

after(() => app.close());

/** Sends a byte every 20 ms until the server closes the connection. */
async function drip(connection: Awaited<ReturnType<typeof openRaw>>, byte: string): Promise<void> {
  const closed = connection.closed.then(() => true);
  while (!(await Promise.race([closed, wait(20, false)]))) connection.write(byte);
}

test("answers 408 with a problem and closes the connection if headers arrive too slowly", async () => {
  const connection = await openRaw(url);
  connection.write("GET /quick HTTP/1.1\r\nHost: x\r\nX-Slow: ");
  const closed = drip(connection, "x");
  const answer = await connection.answer();
  assert.equal(answer.status, 408);
  assertProblem(answer, "invalid_request", "/");
  await closed;
});

test("answers 408 and closes the connection if a body arrives too slowly, without logging an internal error", async () => {
  lines.length = 0;
  const connection = await openRaw(url);
  connection.write(rawRequest("POST /body", ["Content-Type: application/json", "Content-Length: 10000"]));
  const closed = drip(connection, " ");
  assert.equal((await connection.answer()).status, 408);
  await closed;
  assert.doesNotMatch(lines.join(""), /internal error/);
});

test("closes a connection that sends nothing", async () => {
  const connection = await openRaw(url);
  await connection.closed;
});

test("does not log an internal error if the caller disconnects while sending a body", async () => {
  lines.length = 0;
  const connection = await openRaw(url);
  connection.write(rawRequest("POST /body", ["Content-Type: application/json", "Content-Length: 10000"], "{"));
  await wait(20);
  connection.socket.resetAndDestroy();
  await connection.closed;
  await wait(20);
  assert.doesNotMatch(lines.join(""), /internal error/);
});

test("does not wait for the body of a caller who disconnected before it was read", async () => {
  [started, failed] = [0, 0];
  const connection = await openRaw(url);
  connection.write(rawRequest("POST /late", ["Content-Type: application/json", "Content-Length: 10000"], "{"));
  await until("the handler has started", () => started === 1);
  connection.socket.resetAndDestroy();
  await until("reading the body has failed", () => failed === 1);
});

test("request timeouts do not limit the time to respond", async () => {
  const answer = await sendRaw(url, rawRequest("GET /slow", []));
  assert.deepEqual([answer.status, answer.text], [200, "slow"]);
});

test("a keep-alive connection outlives the request and inactivity timeouts", async () => {
  const connection = await openRaw(url);
  connection.write(rawRequest("GET /quick", []));
  assert.equal((await connection.answer()).status, 200);
  await wait(2_500);
  connection.write(rawRequest("GET /quick", []));
  assert.equal((await connection.answer()).status, 200);
  connection.socket.destroy();
});

test("default timeouts: 10 s headers, 15 s request, 50 s inactivity, 75 s keep-alive", async () => {
  const { server } = createHttpServer(options);
  assert.deepEqual(
    [server.headersTimeout, server.requestTimeout, server.timeout, server.keepAliveTimeout],
    [10_000, 15_000, 50_000, 75_000],
  );
});

test("answers pipelined requests in order", async () => {
  const connection = await openRaw(url);
  connection.write(rawRequest("GET /slow", []) + rawRequest("GET /quick", []).repeat(7));
  const texts: string[] = [];
  while (texts.length < 8) texts.push((await connection.answer()).text);
  assert.deepEqual(texts, ["slow", ...Array.from({ length: 7 }, () => "quick")]);
  connection.socket.destroy();
});

test("closes a connection with a thousand pipelined requests after starting sixteen, and logs it once", async () => {
  lines.length = 0;
  started = 0;
  const connection = await openRaw(url);
  connection.write(rawRequest("GET /begin", []).repeat(1_000));
  await connection.closed;
  assert.equal(started, 16);
  assert.equal(lines.join("").split("too many requests").length - 1, 1);
});

test("rejects a request immediately with 503 at the limit, and admits one when another has ended", async () => {
  const handled: string[] = [];
  const admission = createAdmission({ ...defaultAdmission, max: 2, walletShare: 1 }, 0);
  const slow: Route = {
    ...route("GET", "/slow", async (request) => {
      const leave = admission.enter("callers", "wallet");
      handled.push(request.id);
      return wait(300, "slow").finally(leave);
    }),
    admission: "handler",
  };
  const busy = createHttpServer({ ...options, routes: [slow], admission });
  const busyUrl = await busy.listen({ host: "127.0.0.1", port: 0 });
  const send = () => sendRaw(busyUrl, rawRequest("GET /slow", []));
  const served = [send(), send()];
  await until("both are in flight", () => handled.length === 2);
  const rejected = await send();
  assert.deepEqual([rejected.status, rejected.headers.get("retry-after")], [503, "2"]);
  const body = assertProblem(rejected, "overloaded", "/slow");
  assert.deepEqual(body["exceeded"], {
    limit: "server_in_flight",
    applies_to: "server",
    max: 2,
    retry_after_seconds: 2,
  });
  assert.equal(handled.length, 2, "its handler was not called");
  for (const answer of await Promise.all(served)) assert.equal(answer.status, 200);
  assert.equal((await send()).status, 200);
  await busy.close();
});

test("unknown callers have a pool of their own, which a request leaves when its caller is known or it has ended", async () => {
  const admission = createAdmission({ ...defaultAdmission, max: 16, walletShare: 1 }, 0);
  let begun = 0;
  const opened = Promise.withResolvers<void>();
  const pages = route("GET", "/page", async () => {
    begun += 1;
    await opened.promise;
    return "page";
  });
  const console = route("GET", "/console", async (request) => {
    occupySlot(request, admission.enter("callers", "wallet"));
    begun += 1;
    await opened.promise;
    return "console";
  });
  const keyed = { ...route("GET", "/keyed", async () => "keyed"), scope: "search" };
  const busy = createHttpServer({ ...options, routes: [pages, console, keyed], admission });
  const busyUrl = await busy.listen({ host: "127.0.0.1", port: 0 });
  const send = (path: string) => sendRaw(busyUrl, rawRequest(`GET ${path}`, []));
  const known = Array.from({ length: 8 }, () => send("/console"));
  await until("the known callers have left the pool", () => begun === 8);
  const served = Array.from({ length: 4 }, () => send("/page"));
  await until("the pool is full", () => begun === 12);
  const rejected = await send("/page");
  assert.equal(rejected.status, 429);
  const { exceeded } = assertProblem(rejected, "concurrency_limited", "/page");
  assert.deepEqual(exceeded, { limit: "network_share", applies_to: "network", max: 4, retry_after_seconds: 2 });
  assert.equal((await send("/keyed")).status, 200);
  opened.resolve();
  for (const answer of await Promise.all([...known, ...served])) assert.equal(answer.status, 200);
  assert.equal((await send("/page")).status, 200);
  await busy.close();
});

test("closes the connection without a response when the outcome is unknown", async () => {
  const connection = await openRaw(url);
  connection.write(rawRequest("GET /silence", []));
  assert.equal(await connection.closed, "");
});

test("answers an unexpected error with a 500 without details, and logs the details", async () => {
  lines.length = 0;
  const answer = await sendRaw(url, rawRequest("GET /bug", []));
  assert.equal(answer.status, 500);
  assertProblem(answer, "internal_error", "/bug");
  assert.doesNotMatch(answer.text, /machine/);
  assert.match(lines.join(""), /"msg":"internal error"/);
});
