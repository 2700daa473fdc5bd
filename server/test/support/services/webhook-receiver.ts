import { once } from "node:events";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { until } from "../assertions/until.ts";

export interface Received {
  path: string;
  headers: Record<string, string>;
  body: string;
  // oxlint-disable-next-line typescript/no-explicit-any -- tests look into events of every shape.
  event: any;
}

export interface Receiver {
  url: string;
  received: Received[];
  /** From now on each call is answered so; without it, with 204. */
  answer: (handle: (call: Received, response: ServerResponse) => void) => void;
  waitFor(count: number): Promise<void>;
  close(): Promise<void>;
}

/** A real HTTP server on loopback that writes down what it is sent. */
export async function startReceiver(): Promise<Receiver> {
  const received: Received[] = [];
  let handle = (_call: Received, response: ServerResponse): void => void response.writeHead(204).end();
  const server = createServer((request, response) => {
    readCall(request).then(
      (call) => {
        received.push(call);
        handle(call, response);
      },
      () => response.destroy(),
    );
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address() as AddressInfo;
  return {
    url: `http://127.0.0.1:${port}`,
    received,
    answer: (wanted) => void (handle = wanted),
    waitFor: (count) => until(`${count} calls arrived`, () => received.length >= count),
    async close() {
      server.closeAllConnections();
      server.close();
      await once(server, "close");
    },
  };
}

async function readCall(request: IncomingMessage): Promise<Received> {
  const chunks: Buffer[] = [];
  for await (const chunk of request as AsyncIterable<Buffer>) chunks.push(chunk);
  const body = Buffer.concat(chunks).toString();
  return {
    path: request.url ?? "",
    headers: request.headers as Record<string, string>,
    body,
    event: body === "" ? undefined : JSON.parse(body),
  };
}
