import { setTimeout as wait } from "node:timers/promises";
import type { BenchRequest } from "./bench-request.ts";
import { Connection, encodeRequest } from "./connection.ts";

// Open-loop load generator: sends searches on a fixed schedule regardless of how many are in flight, like independent
// callers. Latency is measured from the scheduled time, not from when the request was sent (no coordinated omission).

export interface Sample {
  /** Scheduled time, in milliseconds since the start. */
  dueMs: number;
  latencyMs: number;
  /** 0 if the connection failed. */
  status: number;
  hasRetryAfter: boolean;
}

export interface OpenLoopOptions {
  port: number;
  keys: readonly string[];
  request: BenchRequest;
  perSecond: number;
  seconds: number;
  onSample: (sample: Sample) => void;
}

const maxConnections = 20_000;

/** Resolves when all requests have been answered. */
export async function driveOpenLoop(options: OpenLoopOptions): Promise<void> {
  const { port, request, perSecond, seconds, onSample } = options;
  const idle: Connection[] = [];
  const connections = new Set<Connection>();
  const requests = options.keys.map((key) => encodeRequest(key, request));
  const startMs = performance.now();
  const total = Math.round(perSecond * seconds);
  const count = { sent: 0, done: 0 };

  function sendNext(): void {
    const dueMs = (count.sent / perSecond) * 1_000;
    const request = requests[count.sent % requests.length] ?? "";
    count.sent += 1;
    const connection = takeIdle() ?? open();
    connection.send(request, (status, hasRetryAfter, isReusable) => {
      count.done += 1;
      onSample({ dueMs, latencyMs: performance.now() - startMs - dueMs, status, hasRetryAfter });
      if (isReusable) idle.push(connection);
      else connections.delete(connection);
    });
  }

  /** Skips connections that the server has closed after being idle. */
  function takeIdle(): Connection | undefined {
    for (let connection = idle.pop(); connection; connection = idle.pop()) {
      if (connection.isOpen()) return connection;
      connections.delete(connection);
    }
    return undefined;
  }

  function open(): Connection {
    if (connections.size >= maxConnections)
      throw new Error(`${maxConnections} searches in flight: the server has stopped responding`);
    const connection = new Connection(port);
    connections.add(connection);
    return connection;
  }

  while (count.sent < total) {
    // The first request is due immediately.
    const due = Math.min(total, Math.floor(((performance.now() - startMs) / 1_000) * perSecond) + 1);
    while (count.sent < due) sendNext();
    await wait(1);
  }
  while (count.done < count.sent) await wait(5);
  for (const connection of connections) connection.close();
}
