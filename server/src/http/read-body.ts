import type { IncomingMessage } from "node:http";
import { Problem } from "../problems.ts";

export const mostBodyBytes = 16_384;

/** Reads a JSON request's body: at most 16 KiB of it, if the address takes no more, and only of a type we take. */
export async function readBody(request: IncomingMessage, mostBytes = mostBodyBytes): Promise<Buffer> {
  if (!isPlainJson(request.headers["content-type"], request.headers["content-encoding"])) {
    throw new Problem("unsupported_media_type", { headers: { accept: "application/json" } });
  }
  if (Number(request.headers["content-length"] ?? 0) > mostBytes) throw tooLarge(mostBytes);
  return collect(request, mostBytes);
}

/** By its events: for a body in one piece, iterating over the request costs several times as much. */
function collect(request: IncomingMessage, mostBytes: number): Promise<Buffer> {
  return new Promise((resolve, reject) => {
    const chunks: Buffer[] = [];
    let size = 0;
    const breakOff = (): void => {
      if (!request.readableEnded) reject(new Error("the request was not sent to its end"));
    };
    // Whoever has gone already closes nothing any more.
    if (request.destroyed) breakOff();
    request.on("data", (chunk: Buffer) => {
      size += chunk.length;
      if (size > mostBytes) {
        request.pause();
        reject(tooLarge(mostBytes));
      } else chunks.push(chunk);
    });
    request.once("end", () => resolve(Buffer.concat(chunks)));
    request.once("error", reject);
    request.once("close", breakOff);
  });
}

function isPlainJson(contentType: string | undefined, contentEncoding: string | undefined): boolean {
  if (contentEncoding !== undefined && contentEncoding.toLowerCase() !== "identity") return false;
  if (contentType === "application/json") return true;
  return /^application\/json\s*(;\s*charset\s*=\s*"?utf-?8"?\s*)?$/i.test(contentType ?? "");
}

function tooLarge(mostBytes: number): Problem {
  return new Problem("payload_too_large", {
    ...(mostBytes > mostBodyBytes && { detail: `The body is larger than ${mostBytes} bytes. Nothing was changed.` }),
    members: { max_bytes: mostBytes },
    // What is still on its way is not read, so the connection cannot carry another request.
    headers: { connection: "close" },
  });
}
