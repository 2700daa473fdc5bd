import { connect } from "node:net";
import type { Seen } from "../journal.ts";
import { headersOf, type Question } from "./search-request.ts";

/** How far a caller gets before it hangs up. Up to the last but two, the server has not got a whole request. */
export const abortStages = [
  "before a word",
  "in the headers",
  "before the body",
  "in the body",
  "after the request",
  "at the first byte",
] as const;
export type AbortStage = (typeof abortStages)[number];

/**
 * Sends as much of a search as the stage says, waits a moment and breaks the connection. Who has sent it whole may have
 * been charged; who has not, never.
 */
export function abortEarly(serverUrl: string, question: Question, stage: AbortStage, afterMs: number): Promise<Seen> {
  const { hostname, port } = new URL(serverUrl);
  const body = JSON.stringify({ query: question.query });
  const headers = { host: "search.test", ...headersOf(question), "content-length": String(body.length) };
  const head = `POST /v1/search HTTP/1.1\r\n${Object.entries(headers)
    .map(([name, value]) => `${name}: ${value}\r\n`)
    .join("")}\r\n`;
  const texts: Record<AbortStage, string> = {
    "before a word": "",
    "in the headers": head.slice(0, head.length / 2),
    "before the body": head,
    "in the body": head + body.slice(0, body.length / 2),
    "after the request": head + body,
    "at the first byte": head + body,
  };
  const isWhole = stage === "after the request" || stage === "at the first byte";
  return new Promise((resolve) => {
    let isConnected = false;
    const socket = connect(Number(port), hostname, () => {
      isConnected = true;
      socket.write(texts[stage]);
      if (stage !== "at the first byte") setTimeout(() => socket.resetAndDestroy(), afterMs).unref();
    });
    socket.once("data", () => socket.resetAndDestroy());
    socket.setTimeout(5_000, () => socket.destroy());
    socket.once("error", () => socket.destroy());
    socket.once("close", () => resolve({ kind: isConnected && isWhole ? "closed" : "refused" }));
  });
}
