import assert from "node:assert/strict";
import { after, test } from "node:test";
import { setTimeout as wait } from "node:timers/promises";
import { assertProblem } from "../../test/assert-answer.ts";
import { openRaw, rawRequest, sendRaw } from "../../test/raw-http.ts";
import { until } from "../../test/until.ts";
import { createLog } from "../telemetry/log.ts";
import { createHttpServer, type HttpServerOptions } from "./http-server.ts";
import { NoAnswer } from "./no-answer.ts";
import { readBody } from "./read-body.ts";
import type { Route } from "./route.ts";

// What is true of every connection, with timeouts short enough to wait for.

const about = { summary: "", description: "", answer: "text/plain", problems: [] };
let begun = 0;
let gaveUp = 0;
const routes: Route[] = [
  { ...about, method: "GET", path: "/quick", handle: async () => "quick" },
  { ...about, method: "GET", path: "/slow", handle: () => wait(700, "slow") },
  {
    ...about,
    method: "GET",
    path: "/begin",
    handle: () => {
      begun += 1;
      return wait(700, "begun");
    },
  },
  { ...about, method: "POST", path: "/body", handle: async (request) => (await readBody(request.raw)).toString() },
  {
    ...about,
    method: "POST",
    path: "/late",
    handle: async (request) => {
      begun += 1;
      await until("the caller has gone", () => request.raw.destroyed);
      return readBody(request.raw).catch((error: unknown) => {
        gaveUp += 1;
        throw error;
      });
    },
  },
  {
    ...about,
    method: "GET",
    path: "/silence",
    handle: () => Promise.reject(new NoAnswer("any status would be a guess")),
  },
  { ...about, method: "GET", path: "/bug", handle: () => Promise.reject(new Error("the inside of the machine")) },
];
const lines: string[] = [];
const options: HttpServerOptions = {
  routes,
  publicUrl: "http://search.test",
  trustedProxies: [],
  log: createLog("debug", { write: (line: string) => void lines.push(line) }),
  whenStopping: () => ({ isDraining: false, isRefusing: false }),
  onAnswer: () => undefined,
  onNoAnswer: () => undefined,
};

const app = createHttpServer({
  ...options,
  timeouts: { headersMs: 200, requestMs: 300, checkEveryMs: 20, silenceMs: 900, keepAliveMs: 3_000 },
});
const url = await app.listen({ host: "127.0.0.1", port: 0 });

after(() => app.close());

/** Sends a byte now and then until the other side has had enough. */
async function drip(connection: Awaited<ReturnType<typeof openRaw>>, byte: string): Promise<void> {
  const closed = connection.closed.then(() => true);
  while (!(await Promise.race([closed, wait(20, false)]))) connection.write(byte);
}

async function secondsUntil(end: Promise<unknown>): Promise<number> {
  const begun = performance.now();
  await end;
  return (performance.now() - begun) / 1000;
}

test("headers that come too slowly are answered 408 in our shape and closed", async () => {
  const connection = await openRaw(url);
  connection.write("GET /quick HTTP/1.1\r\nHost: x\r\nX-Slow: ");
  const seconds = secondsUntil(drip(connection, "x"));
  const answer = await connection.answer();
  assert.equal(answer.status, 408);
  assertProblem(answer, "invalid_request", "/");
  assert.ok((await seconds) < 5);
});

test("a body that comes too slowly is answered 408 and closed, and is no fault of ours in the log", async () => {
  lines.length = 0;
  const connection = await openRaw(url);
  connection.write(rawRequest("POST /body", ["Content-Type: application/json", "Content-Length: 10000"]));
  const seconds = secondsUntil(drip(connection, " "));
  assert.equal((await connection.answer()).status, 408);
  assert.ok((await seconds) < 5);
  assert.doesNotMatch(lines.join(""), /internal error/);
});

test("a connection that sends nothing is closed", async () => {
  const connection = await openRaw(url);
  assert.ok((await secondsUntil(connection.closed)) < 5);
});

test("a body cut short by a caller who left is no fault of ours in the log", async () => {
  lines.length = 0;
  const connection = await openRaw(url);
  connection.write(rawRequest("POST /body", ["Content-Type: application/json", "Content-Length: 10000"], "{"));
  await wait(20);
  connection.socket.resetAndDestroy();
  await connection.closed;
  await wait(20);
  assert.doesNotMatch(lines.join(""), /internal error/);
});

test("the body of a caller who left before anyone asked for it is not waited for", async () => {
  [begun, gaveUp] = [0, 0];
  const connection = await openRaw(url);
  connection.write(rawRequest("POST /late", ["Content-Type: application/json", "Content-Length: 10000"], "{"));
  await until("it has begun", () => begun === 1);
  connection.socket.resetAndDestroy();
  await until("it is given up", () => gaveUp === 1);
});

test("the timeouts are for sending a request, not for waiting on its answer", async () => {
  const answer = await sendRaw(url, rawRequest("GET /slow", []));
  assert.deepEqual([answer.status, answer.text], [200, "slow"]);
});

test("a kept connection outlives the timeouts of a request, and the longest silence within one, and is used again", async () => {
  const connection = await openRaw(url);
  connection.write(rawRequest("GET /quick", []));
  assert.equal((await connection.answer()).status, 200);
  await wait(1_100);
  connection.write(rawRequest("GET /quick", []));
  assert.equal((await connection.answer()).status, 200);
  connection.socket.destroy();
});

test("in production: 10 s for headers, 15 s for a request, 50 s of silence, 75 s kept", async () => {
  const { server } = createHttpServer(options);
  assert.deepEqual(
    [server.headersTimeout, server.requestTimeout, server.timeout, server.keepAliveTimeout],
    [10_000, 15_000, 50_000, 75_000],
  );
});

test("requests may be sent before the answers have come, and are answered in order", async () => {
  const connection = await openRaw(url);
  connection.write(rawRequest("GET /slow", []) + rawRequest("GET /quick", []).repeat(7));
  const texts: string[] = [];
  while (texts.length < 8) texts.push((await connection.answer()).text);
  assert.deepEqual(texts, ["slow", ...Array.from({ length: 7 }, () => "quick")]);
  connection.socket.destroy();
});

test("a connection that has a thousand requests unanswered is closed, is logged once, and sixteen were begun", async () => {
  lines.length = 0;
  begun = 0;
  const connection = await openRaw(url);
  connection.write(rawRequest("GET /begin", []).repeat(1_000));
  await connection.closed;
  assert.equal(begun, 16);
  assert.equal(lines.join("").split("too many requests").length - 1, 1);
});

test("when as many are under way as may be, the next is told at once to come back, and is let in when one has ended", async () => {
  const handled: string[] = [];
  const route: Route = {
    ...about,
    method: "GET",
    path: "/slow",
    handle: (request) => {
      handled.push(request.id);
      return wait(300, "slow");
    },
  };
  const busy = createHttpServer({ ...options, routes: [route], admission: { most: 2 } });
  const busyUrl = await busy.listen({ host: "127.0.0.1", port: 0 });
  const ask = () => sendRaw(busyUrl, rawRequest("GET /slow", []));
  const served = [ask(), ask()];
  await until("both are under way", () => handled.length === 2);
  const refused = await ask();
  assert.deepEqual([refused.status, refused.headers.get("retry-after")], [503, "2"]);
  assertProblem(refused, "overloaded", "/slow");
  assert.equal(handled.length, 2, "nothing was done for it");
  for (const answer of await Promise.all(served)) assert.equal(answer.status, 200);
  assert.equal((await ask()).status, 200);
  await busy.close();
});

test("where any status would be a guess, the connection is closed without one", async () => {
  const connection = await openRaw(url);
  connection.write(rawRequest("GET /silence", []));
  assert.equal(await connection.closed, "");
});

test("a fault of ours is a 500 that says nothing of it, and a log line that does", async () => {
  lines.length = 0;
  const answer = await sendRaw(url, rawRequest("GET /bug", []));
  assert.equal(answer.status, 500);
  assertProblem(answer, "internal_error", "/bug");
  assert.doesNotMatch(answer.text, /machine/);
  assert.match(lines.join(""), /"msg":"internal error"/);
});
