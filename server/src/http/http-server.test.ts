import assert from "node:assert/strict";
import { once } from "node:events";
import { after, test } from "node:test";
import { setImmediate, setTimeout as wait } from "node:timers/promises";
import { assertProblem } from "../../test/support/assertions/assert-response.ts";
import { until } from "../../test/support/assertions/until.ts";
import { openRaw, type RawConnection, rawRequest, sendRaw } from "../../test/support/raw-http.ts";
import { httpServerOptions } from "../../test/support/services/http-server-options.ts";
import { createAdmission, defaultAdmission } from "../limits/admission.ts";
import { occupySlot } from "../limits/occupied-slots.ts";
import { createLog } from "../telemetry/log.ts";
import { createHttpServer, type HttpServerOptions } from "./http-server.ts";
import { readBody } from "./input/read-body.ts";
import { NoResponse } from "./no-response.ts";
import type { Route } from "./route.ts";

const route = (method: Route["method"], path: string, handle: Route["handle"]): Route => {
  const undocumented = { operationId: "", tag: "Documents" as const, summary: "", description: "", problems: [] };
  return { method, path, handle, ...undocumented, answer: "text/plain" };
};
let started = 0;
let ended = 0;
let failed = 0;
let quick = 0;
let release = (): void => undefined;
const routes = [
  route("GET", "/quick", async () => {
    quick += 1;
    return "quick";
  }),
  // Responds when `release` is called.
  route("GET", "/held", () => {
    started += 1;
    const earlier = release;
    return new Promise((resolve) => {
      release = () => {
        earlier();
        resolve("held");
      };
    });
  }),
  route("POST", "/body", async (request) => {
    started += 1;
    const body = await readBody(request.raw).finally(() => (ended += 1));
    return body.toString();
  }),
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

const app = createHttpServer(options);
const url = await app.listen({ host: "127.0.0.1", port: 0 });
// Each is longer than the one before, so that a connection which one of them has closed shows that those before have passed.
const timeouts = { checkIntervalMs: 20, headersMs: 300, requestMs: 600, inactivityMs: 1_200, keepAliveMs: 600_000 };
const hasty = createHttpServer({ ...options, timeouts });
const hastyUrl = await hasty.listen({ host: "127.0.0.1", port: 0 });

after(async () => {
  release();
  await Promise.all([app.close(), hasty.close()]);
});

/** Sends a byte every 20 ms until the server closes the connection. The result does not depend on the pause. */
async function drip(connection: Awaited<ReturnType<typeof openRaw>>, byte: string): Promise<void> {
  const closed = connection.closed.then(() => true);
  while (!(await Promise.race([closed, wait(20, false)]))) connection.write(byte);
}

test("answers 408 with a problem and closes the connection if headers arrive too slowly", async () => {
  const connection = await openRaw(hastyUrl);
  connection.write("GET /quick HTTP/1.1\r\nHost: x\r\nX-Slow: ");
  const closed = drip(connection, "x");
  const answer = await connection.answer();
  assert.equal(answer.status, 408);
  assertProblem(answer, "invalid_request", "/");
  await closed;
});

test("answers 408 and closes the connection if a body arrives too slowly, without logging an internal error", async () => {
  lines.length = 0;
  const connection = await openRaw(hastyUrl);
  connection.write(rawRequest("POST /body", ["Content-Type: application/json", "Content-Length: 10000"]));
  const closed = drip(connection, " ");
  assert.equal((await connection.answer()).status, 408);
  await closed;
  assert.doesNotMatch(lines.join(""), /internal error/);
});

test("closes a connection that sends nothing", async () => {
  const connection = await openRaw(hastyUrl);
  await connection.closed;
});

test("does not log an internal error if the caller disconnects while sending a body", async () => {
  lines.length = 0;
  [started, ended] = [0, 0];
  const connection = await openRaw(url);
  connection.write(rawRequest("POST /body", ["Content-Type: application/json", "Content-Length: 10000"], "{"));
  await until("the handler has started", () => started === 1);
  connection.socket.resetAndDestroy();
  await until("reading the body has failed", () => ended === 1);
  await setImmediate();
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
  started = 0;
  const waiting = sendRaw(hastyUrl, rawRequest("GET /held", []));
  await until("the handler has started", () => started === 1);
  const incomplete = await openRaw(hastyUrl);
  incomplete.write(rawRequest("POST /body", ["Content-Type: application/json", "Content-Length: 10000"], "{"));
  assert.equal((await incomplete.answer()).status, 408);
  release();
  const answer = await waiting;
  assert.deepEqual([answer.status, answer.text], [200, "held"]);
});

test("a keep-alive connection outlives the request and inactivity timeouts", async () => {
  const connection = await openRaw(hastyUrl);
  connection.write(rawRequest("GET /quick", []));
  assert.equal((await connection.answer()).status, 200);
  const inactive = await openRaw(hastyUrl);
  inactive.write(rawRequest("GET /held", []));
  assert.equal(await inactive.closed, "");
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
  quick = 0;
  const connection = await openRaw(url);
  connection.write(rawRequest("GET /held", []) + rawRequest("GET /quick", []).repeat(7));
  await until("the later requests were handled", () => quick === 7);
  release();
  const texts: string[] = [];
  while (texts.length < 8) texts.push((await connection.answer()).text);
  assert.deepEqual(texts, ["held", ...Array.from({ length: 7 }, () => "quick")]);
  connection.socket.destroy();
});

test("closes a connection with a thousand pipelined requests after starting sixteen, and logs it once", async () => {
  lines.length = 0;
  started = 0;
  const connection = await openRaw(url);
  connection.write(rawRequest("GET /held", []).repeat(1_000));
  await connection.closed;
  assert.equal(started, 16);
  assert.equal(lines.join("").split("too many requests").length - 1, 1);
});

test("rejects a request immediately with 503 at the limit, and admits one when another has ended", async () => {
  const handled: string[] = [];
  const counted: string[] = [];
  const opened = Promise.withResolvers<string>();
  const admission = createAdmission(
    { ...defaultAdmission, overloadedAfterMs: 500, maxWaitMs: 1_000, max: 2, walletShare: 1 },
    0,
  );
  const held: Route = {
    ...route("GET", "/held", async (request) => {
      const leave = admission.enter("callers", "wallet");
      handled.push(request.id);
      return opened.promise.finally(leave);
    }),
    admission: "handler",
    onRejected: ({ code }) => void counted.push(code),
  };
  const busy = createHttpServer({ ...options, routes: [held], admission });
  const busyUrl = await busy.listen({ host: "127.0.0.1", port: 0 });
  const send = () => sendRaw(busyUrl, rawRequest("GET /held", []));
  const served = [send(), send()];
  await until("both are in flight", () => handled.length === 2);
  const rejected = await send();
  assert.deepEqual([rejected.status, rejected.headers.get("retry-after")], [503, "2"]);
  const body = assertProblem(rejected, "overloaded", "/held");
  assert.deepEqual(body["exceeded"], {
    limit: "server_in_flight",
    applies_to: "server",
    max: 2,
    retry_after_seconds: 2,
  });
  assert.equal(handled.length, 2, "its handler was not called");
  assert.deepEqual(counted, ["overloaded"], "only the rejected request was counted as one");
  opened.resolve("held");
  for (const answer of await Promise.all(served)) assert.equal(answer.status, 200);
  assert.equal((await send()).status, 200);
  await busy.close();
});

test("unknown callers have their own pool, which a request leaves when its caller is known or it has ended", async () => {
  const admission = createAdmission(
    { ...defaultAdmission, overloadedAfterMs: 500, maxWaitMs: 1_000, max: 16, walletShare: 1 },
    0,
  );
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

test("a request of an unknown caller occupies no slot while its body is received, and needs one afterwards", async () => {
  const admission = createAdmission(
    { ...defaultAdmission, overloadedAfterMs: 500, maxWaitMs: 1_000, max: 16, walletShare: 1 },
    0,
  );
  let [begun, received] = [0, 0];
  const opened = Promise.withResolvers<void>();
  const signIn = route("POST", "/sign-in", async (request) => {
    begun += 1;
    const body = await readBody(request.raw);
    received += 1;
    await opened.promise;
    return body.toString();
  });
  const pages = route("GET", "/page", async () => "page");
  const timeouts = { requestMs: 600_000, inactivityMs: 600_000 };
  const busy = createHttpServer({ ...options, routes: [signIn, pages], admission, timeouts });
  const busyUrl = await busy.listen({ host: "127.0.0.1", port: 0 });
  const halves = await Promise.all(Array.from({ length: 5 }, () => openRaw(busyUrl)));
  const sendFirstHalf = (half: RawConnection): void =>
    half.write(rawRequest("POST /sign-in", ["Content-Type: application/json", "Content-Length: 2"], "{"));
  for (const half of halves.slice(0, 4)) sendFirstHalf(half);
  await until("four bodies are being received", () => begun === 4);
  assert.equal((await sendRaw(busyUrl, rawRequest("GET /page", []))).status, 200);
  for (const half of halves.slice(4)) sendFirstHalf(half);
  await until("five bodies are being received", () => begun === 5);
  for (const half of halves.slice(0, 4)) half.write("}");
  await until("four were received", () => received === 4);
  const last = halves[4] ?? assert.fail();
  last.write("}");
  await until("the last is received or rejected", () => received === 5 || last.socket.bytesRead > 0);
  assert.equal(received, 4);
  assert.equal((await last.answer()).status, 429);
  opened.resolve();
  for (const half of halves.slice(0, 4)) assert.equal((await half.answer()).text, "{}");
  assert.equal((await sendRaw(busyUrl, rawRequest("GET /page", []))).status, 200);
  for (const { socket } of halves) socket.destroy();
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

test("closing waits for handlers whose callers have disconnected", async () => {
  const events: string[] = [];
  const opened = Promise.withResolvers<void>();
  const held = route("GET", "/held", async () => {
    events.push("started");
    await opened.promise;
    events.push("finished");
    return "held";
  });
  const stopping = createHttpServer({ ...options, routes: [held] });
  const connection = await openRaw(await stopping.listen({ host: "127.0.0.1", port: 0 }));
  connection.write(rawRequest("GET /held", []));
  await until("the handler has started", () => events.length === 1);
  connection.socket.destroy();
  const disconnected = once(stopping.server, "close");
  const closed = stopping.close().then(() => events.push("closed"));
  await disconnected;
  // Without the wait, closing would end a few turns after the last connection.
  for (let turn = 0; turn < 100; turn += 1) await setImmediate();
  opened.resolve();
  await closed;
  assert.deepEqual(events, ["started", "finished", "closed"]);
});
