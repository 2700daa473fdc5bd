import assert from "node:assert/strict";
import { after, test } from "node:test";
import { httpServerOptions } from "../../test/support/services/http-server-options.ts";
import { createHttpServer } from "../http/http-server.ts";
import type { StatusCounts } from "./read-status.ts";
import { createStatusPage, statusRoutes } from "./status-routes.ts";

const state = { reads: 0, nowMs: 0, isDown: true };
const counts: StatusCounts = {
  now: "2030-01-31T12:00:00.000Z",
  counted_before: "2030-01-31T11:57:00.000Z",
  server_seen_at: "2030-01-31T11:59:57.000Z",
  outcomes: [["2030-01-31", "ok", 9]],
  latencies: [["2030-01-31", 250, 9, 0]],
  incidents: [],
};
const readPage = createStatusPage({
  publicUrl: "https://search.test",
  async readCounts() {
    state.reads += 1;
    if (state.isDown) throw new Error("connection refused");
    return counts;
  },
  now: () => state.nowMs,
});
const server = createHttpServer(httpServerOptions(statusRoutes(readPage)));
after(() => server.close());

const get = (url: string) => server.inject({ method: "GET", url });
const readState = async (): Promise<string> => (await get("/status.json")).json().state;

test("without a database since the start, the page returns 503, and the next read is five seconds later", async () => {
  for (let time = 0; time < 3; time += 1) {
    const { statusCode, body } = await get("/status.json");
    assert.deepEqual([statusCode, JSON.parse(body).code], [503, "ledger_unavailable"]);
  }
  assert.equal(state.reads, 1);
  state.nowMs += 5_000;
  state.isDown = false;
  assert.equal(await readState(), "operational");
});

test("a thousand requests within a minute read the database once", async () => {
  state.nowMs += 60_000;
  state.reads = 0;
  for (let round = 0; round < 50; round += 1) {
    const replies = await Promise.all(
      Array.from({ length: 20 }, (_, nth) => get(nth % 2 ? "/status" : "/status.json")),
    );
    assert.deepEqual(new Set(replies.map(({ statusCode }) => statusCode)), new Set([200]));
  }
  assert.equal(state.reads, 1);
  state.nowMs += 59_999;
  await get("/status");
  assert.equal(state.reads, 1);
});

test("while the database does not respond, the last figures are shown with the state unavailable", async () => {
  state.isDown = true;
  state.nowMs += 60_000;
  assert.equal(await readState(), "unavailable");
  assert.match((await get("/status")).body, /<strong>Unavailable\.<\/strong>/);
  state.isDown = false;
  state.nowMs += 5_000;
  assert.equal(await readState(), "operational");
});
