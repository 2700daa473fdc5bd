import { connect } from "node:net";
import { type Outcome, type SearchRequest, searchHeaders } from "./send-search.ts";

/** How much a caller sends before it disconnects. Only in the last two stages does the server get a complete request. */
export const abortStages = [
  "before the first byte",
  "in the headers",
  "before the body",
  "in the body",
  "after the request",
  "at the first byte of the response",
] as const;
export type AbortStage = (typeof abortStages)[number];

/**
 * Sends a search up to a stage, waits and resets the connection. A complete request may have been charged, an
 * incomplete one must not.
 */
export function abortEarly(
  serverUrl: string,
  request: SearchRequest,
  { stage, delayMs }: { stage: AbortStage; delayMs: number },
): Promise<Outcome> {
  const { hostname, port } = new URL(serverUrl);
  const body = JSON.stringify({ query: request.query });
  const headers = { host: "search.test", ...searchHeaders(request), "content-length": String(body.length) };
  const head = `POST /v1/search HTTP/1.1\r\n${Object.entries(headers)
    .map(([name, value]) => `${name}: ${value}\r\n`)
    .join("")}\r\n`;
  const texts: Record<AbortStage, string> = {
    "before the first byte": "",
    "in the headers": head.slice(0, head.length / 2),
    "before the body": head,
    "in the body": head + body.slice(0, body.length / 2),
    "after the request": head + body,
    "at the first byte of the response": head + body,
  };
  const isComplete = abortStages.indexOf(stage) >= 4;
  return new Promise((resolve) => {
    let isConnected = false;
    const socket = connect(Number(port), hostname, () => {
      isConnected = true;
      socket.write(texts[stage]);
      if (!stage.startsWith("at ")) setTimeout(() => socket.resetAndDestroy(), delayMs).unref();
    });
    socket.once("data", () => socket.resetAndDestroy());
    socket.setTimeout(5_000, () => socket.destroy());
    socket.once("error", () => socket.destroy());
    socket.once("close", () => resolve({ kind: isConnected && isComplete ? "closed" : "refused" }));
  });
}
