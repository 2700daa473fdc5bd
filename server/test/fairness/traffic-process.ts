import { once } from "node:events";
import { Agent, request } from "node:http";
import { connect } from "node:net";
import { constants, setPriority } from "node:os";
import { setTimeout as wait } from "node:timers/promises";
import type { ConnectionTraffic, ReadTraffic, SearchTraffic, Traffic } from "./traffic.ts";

// Receives the traffic, sends "ready" when it has its full size, and the number of responses by status when it is stopped.

setPriority(constants.priority.PRIORITY_LOW);
const statuses: Record<string, number> = {};
const stopped = new AbortController();
const [traffic] = (await once(process, "message")) as [Traffic];
const drained = Promise.withResolvers<void>();
process.once("message", () => {
  stopped.abort();
  const isDrained = traffic.kind === "searches" && traffic.isDrained;
  (isDrained ? drained.promise : Promise.resolve()).then(
    () => process.send?.(statuses),
    () => undefined,
  );
});
if (traffic.kind === "searches") await sendSearches(traffic);
else if (traffic.kind === "reads") await sendReads(traffic);
else await openConnections(traffic);

function count(status: number | string): void {
  statuses[status] = (statuses[status] ?? 0) + 1;
}

async function sendSearches({ port: to, keys, query, perSecond, isDrained }: SearchTraffic): Promise<void> {
  const open = new Set<unknown>();
  const agent = new Agent({ keepAlive: true, maxSockets: Number.POSITIVE_INFINITY });
  const body = JSON.stringify({ query });
  const startedAt = performance.now();
  let isReady = false;
  for (let sent = 0; !stopped.signal.aborted; await wait(5)) {
    const elapsedMs = performance.now() - startedAt;
    for (; sent < (elapsedMs * perSecond) / 1_000; sent += 1) sendSearch(keys[sent % keys.length] ?? "");
    if (!isReady && elapsedMs > 1_000) process.send?.("ready");
    isReady ||= elapsedMs > 1_000;
  }
  if (isDrained) while (open.size > 0) await wait(5);
  drained.resolve();
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
    open.add(sent);
    sent.once("close", () => open.delete(sent));
    sent.end(body);
  }
}

async function sendReads({ port, key, path, connections }: ReadTraffic): Promise<void> {
  const readAgain = async (): Promise<void> => {
    while (!stopped.signal.aborted) {
      const sent = fetch(`http://127.0.0.1:${port}${path}`, { headers: { "x-api-key": key }, signal: stopped.signal });
      const status = await sent.then(
        async (response) => {
          await response.arrayBuffer();
          return response.status;
        },
        () => "closed",
      );
      count(status);
    }
  };
  const reads = Array.from({ length: connections }, readAgain);
  await wait(1_000);
  process.send?.("ready");
  await Promise.all(reads);
}

async function openConnections(traffic: ConnectionTraffic): Promise<void> {
  const padding = Buffer.alloc(traffic.paddingBytes, " ");
  let sent = 0;
  const nextHead = (): string => traffic.head.replaceAll("{n}", String((sent += 1)).padStart(8, "0"));
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
      ? setInterval(() => socket.writableNeedDrain || socket.write(nextHead()), traffic.repeatMs)
      : undefined;
    const destroy = (): void => void socket.destroy();
    stopped.signal.addEventListener("abort", destroy, { once: true });
    socket.once("connect", () => {
      socket.write(nextHead());
      socket.write(padding);
      opened += 1;
      if (opened === traffic.connections) process.send?.("ready");
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
