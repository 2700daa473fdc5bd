import assert from "node:assert/strict";
import type { IncomingMessage } from "node:http";
import { test } from "node:test";
import { createForwardingWatch } from "./watch-forwarding.ts";

function startWatch() {
  const clock = { nowMs: 0 };
  const warned: unknown[] = [];
  const watch = createForwardingWatch({ warn: (fields) => void warned.push(fields) }, () => clock.nowMs);
  function send(address: string, headers: object, trusted?: string[], times = 1): void {
    const request = { headers, socket: { remoteAddress: address } } as unknown as IncomingMessage;
    for (let sent = 0; sent < times; sent += 1) watch.record(request, trusted);
  }
  return { clock, warned, watch, send };
}

const forwarded = { "x-forwarded-for": "192.0.2.1" };

test("warns once per peer and hour, and reports a peer after a hundred requests", () => {
  const { clock, warned, watch, send } = startWatch();
  send("10.0.0.1", forwarded, undefined, 99);
  send("10.0.0.2", { forwarded: "for=192.0.2.1" }, ["10.0.0.2"]);
  assert.deepEqual(warned, [{ peer: "10.0.0.1" }, { peer: "10.0.0.2" }]);
  assert.deepEqual(watch.listProxies(), []);
  send("10.0.0.1", forwarded);
  assert.deepEqual(watch.listProxies(), ["10.0.0.1"]);
  clock.nowMs = 3_600_000;
  assert.deepEqual(watch.listProxies(), []);
  send("10.0.0.1", forwarded);
  assert.equal(warned.length, 3);
});

test("ignores trusted proxies and direct clients", () => {
  const { warned, send } = startWatch();
  send("10.0.0.1", forwarded, ["10.0.0.1", "192.0.2.1"], 200);
  send("10.0.0.1", {}, undefined, 200);
  assert.deepEqual(warned, []);
});

test("many clients that send the header themselves cause a bounded number of warnings", () => {
  const { clock, warned, send } = startWatch();
  for (let client = 0; client < 1_000; client += 1) send(`10.0.${client >> 8}.${client % 256}`, forwarded);
  assert.equal(warned.length, 100);
  clock.nowMs = 3_600_000;
  send("10.9.9.9", forwarded);
  assert.equal(warned.length, 101);
});
