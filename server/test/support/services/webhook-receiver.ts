import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import { until } from "../assertions/until.ts";
import { listen } from "./listen.ts";

export interface Received {
  path: string;
  headers: Record<string, string>;
  body: string;
  // oxlint-disable-next-line typescript/no-explicit-any -- tests read events of every shape.
  event: any;
}

export interface Receiver {
  url: string;
  received: Received[];
  /** Sets how later calls are answered. The default is 204. */
  answer: (handle: (call: Received, response: ServerResponse) => void) => void;
  waitFor(count: number): Promise<void>;
  close(): Promise<void>;
}

/** An HTTP server that records the calls it receives. */
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
  return {
    ...(await listen(server)),
    received,
    answer: (next) => void (handle = next),
    waitFor: (count) => until(`${count} calls arrived`, () => received.length >= count),
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
