import { fork } from "node:child_process";
import { once } from "node:events";
import { killAfterTests } from "../support/services/node-process.ts";

// Traffic is sent from a separate process with the lowest priority, so that it takes CPU time neither from the server nor from
// the client that is measured.

export type Traffic = SearchTraffic | ReadTraffic | ConnectionTraffic;

/** Searches at a fixed rate, with each key in turn, regardless of the earlier ones. */
export interface SearchTraffic {
  kind: "searches";
  port: number;
  keys: string[];
  query: string;
  perSecond: number;
  /** When stopped, waits for the responses to all that were sent. */
  isDrained?: boolean;
}

/** The same read on each connection, again and again. */
export interface ReadTraffic {
  kind: "reads";
  port: number;
  key: string;
  path: string;
  connections: number;
}

/** Connections that each send the same bytes. */
export interface ConnectionTraffic {
  kind: "connections";
  port: number;
  connections: number;
  /** New connections per second. */
  perSecond: number;
  /** Each "{n}" is replaced by a number of eight digits, another one each time. */
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

/** Resolves when the traffic has reached its full size: all connections are open, or searches or reads have run for a second. */
export async function startTraffic(traffic: Traffic): Promise<RunningTraffic> {
  const child = killAfterTests(fork(new URL("./traffic-process.ts", import.meta.url), { execArgv: [] }));
  child.send(traffic);
  await once(child, "message");
  return {
    async stop() {
      child.send("stop");
      const [statuses] = (await once(child, "message")) as [Record<string, number>];
      child.kill("SIGKILL");
      return statuses;
    },
  };
}
