import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import { buffer } from "node:stream/consumers";
import { listen } from "./listen.ts";

/** Forwards requests to a server. Of the first request, it receives the whole response and closes the connection. */
export async function startLossyProxy(target: string) {
  const lost: number[] = [];

  async function forward(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const { method = "GET", url = "/" } = request;
    const { host: _host, connection: _connection, "content-length": _length, ...headers } = request.headers;
    const body = await buffer(request);
    const answer = await fetch(target + url, {
      method,
      headers: headers as Record<string, string>,
      ...(body.length > 0 && { body: new Uint8Array(body) }),
    });
    const text = await answer.text();
    if (lost.length === 0) {
      lost.push(answer.status);
      response.destroy();
      return;
    }
    response.writeHead(answer.status, { "content-type": answer.headers.get("content-type") ?? "" }).end(text);
  }

  const server = createServer((request, response) => {
    forward(request, response).catch(() => response.destroy());
  });
  const { url, close } = await listen(server);
  /** `lost`: the status of the response that was lost. */
  return { url, close, lost };
}
