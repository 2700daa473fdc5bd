import { once } from "node:events";
import { Worker } from "node:worker_threads";

// Traffic is sent from a thread of its own, so that it does not delay the client that is measured.

export type Traffic = SearchTraffic | ConnectionTraffic;

/** Searches at a fixed rate, with each key in turn, whatever becomes of the earlier ones. */
export interface SearchTraffic {
  kind: "searches";
  port: number;
  keys: string[];
  query: string;
  perSecond: number;
}

/** Connections that each send the same bytes. */
export interface ConnectionTraffic {
  kind: "connections";
  port: number;
  connections: number;
  /** New connections per second. */
  perSecond: number;
  head: string;
  /** Sent after the head, in this many bytes. */
  paddingBytes: number;
  /** Sends the head again at this interval, on a new connection if the server has closed the previous one. */
  repeatMs?: number;
}

export interface RunningTraffic {
  /** Ends the traffic and returns the number of responses by status. */
  stop(): Promise<Record<string, number>>;
}

/** Resolves when the traffic has reached its full size: all connections are open, or searches have run for a second. */
export async function startTraffic(traffic: Traffic): Promise<RunningTraffic> {
  const worker = new Worker(new URL("./traffic-worker.ts", import.meta.url), { workerData: traffic });
  await once(worker, "message");
  return {
    async stop() {
      // oxlint-disable-next-line unicorn/require-post-message-target-origin -- a thread has no origin.
      worker.postMessage("stop");
      const [statuses] = (await once(worker, "message")) as [Record<string, number>];
      await worker.terminate();
      return statuses;
    },
  };
}
