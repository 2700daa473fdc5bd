import assert from "node:assert/strict";
import { Agent, request } from "node:http";
import { connect } from "node:net";
import { setTimeout as wait } from "node:timers/promises";
import { parentPort, workerData } from "node:worker_threads";
import type { ConnectionTraffic, SearchTraffic, Traffic } from "./traffic.ts";

// Posts "ready" when the traffic has its full size, and the number of responses by status when it is stopped.

assert(parentPort, "runs in a worker thread");
const port = parentPort;
const statuses: Record<string, number> = {};
const stopped = new AbortController();
port.once("message", () => {
  stopped.abort();
  port.postMessage(statuses);
});

const traffic = workerData as Traffic;
await (traffic.kind === "searches" ? sendSearches(traffic) : openConnections(traffic));

function count(status: number | string): void {
  statuses[status] = (statuses[status] ?? 0) + 1;
}

async function sendSearches({ port: to, keys, query, perSecond }: SearchTraffic): Promise<void> {
  const agent = new Agent({ keepAlive: true, maxSockets: Number.POSITIVE_INFINITY });
  const body = JSON.stringify({ query });
  const startedAt = performance.now();
  let isReady = false;
  for (let sent = 0; !stopped.signal.aborted; await wait(5)) {
    const elapsedMs = performance.now() - startedAt;
    for (; sent < (elapsedMs * perSecond) / 1_000; sent += 1) sendSearch(keys[sent % keys.length] ?? "");
    if (!isReady && elapsedMs > 1_000) port.postMessage("ready");
    isReady ||= elapsedMs > 1_000;
  }
  agent.destroy();

  function sendSearch(key: string): void {
    const headers = {
      authorization: `Bearer ${key}`,
      "content-type": "application/json",
      "content-length": Buffer.byteLength(body),
    };
    const sent = request({ host: "127.0.0.1", port: to, method: "POST", path: "/v1/search", agent, headers });
    sent.on("response", (response) => {
      count(response.statusCode ?? 0);
      response.resume();
    });
    sent.on("error", () => count("closed"));
    sent.end(body);
  }
}

async function openConnections(traffic: ConnectionTraffic): Promise<void> {
  const padding = Buffer.alloc(traffic.paddingBytes, " ");
  const startedAt = performance.now();
  let opened = 0;
  for (let started = 0; started < traffic.connections && !stopped.signal.aborted; await wait(5)) {
    const due = Math.min(traffic.connections, ((performance.now() - startedAt) * traffic.perSecond) / 1_000);
    for (; started < due; started += 1) open();
  }

  function open(): void {
    if (stopped.signal.aborted) return;
    const socket = connect({ port: traffic.port, host: "127.0.0.1" });
    const timer = traffic.repeatMs
      ? setInterval(() => socket.writableNeedDrain || socket.write(traffic.head), traffic.repeatMs)
      : undefined;
    const destroy = (): void => void socket.destroy();
    stopped.signal.addEventListener("abort", destroy, { once: true });
    socket.once("connect", () => {
      socket.write(traffic.head);
      socket.write(padding);
      opened += 1;
      if (opened === traffic.connections) port.postMessage("ready");
    });
    socket.on("data", (chunk: Buffer) => {
      for (const [, status = ""] of chunk.toString("latin1").matchAll(/HTTP\/1\.1 (\d{3})/g)) count(status);
    });
    socket.on("error", destroy);
    socket.on("end", destroy);
    socket.once("close", () => {
      clearInterval(timer);
      stopped.signal.removeEventListener("abort", destroy);
      if (traffic.repeatMs && !stopped.signal.aborted) setTimeout(open, traffic.repeatMs);
    });
  }
}
