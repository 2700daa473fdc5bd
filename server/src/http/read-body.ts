import type { IncomingMessage } from "node:http";
import { Problem } from "../problems/problems.ts";

export const maxBodyBytes = 16_384;

/** Reads the body of a JSON request, 16 KiB by default. Rejects other media types. */
export async function readBody(request: IncomingMessage, maxBytes = maxBodyBytes): Promise<Buffer> {
  if (!isPlainJson(request.headers["content-type"], request.headers["content-encoding"])) {
    throw new Problem("unsupported_media_type", { headers: { accept: "application/json" } });
  }
  if (Number(request.headers["content-length"] ?? 0) > maxBytes) throw tooLarge(maxBytes);
  return collect(request, maxBytes);
}

/** Uses events: for a body in one chunk, iterating over the request costs several times as much. */
function collect(request: IncomingMessage, maxBytes: number): Promise<Buffer> {
  return new Promise((resolve, reject) => {
    const chunks: Buffer[] = [];
    let size = 0;
    const rejectIfIncomplete = (): void => {
      if (!request.readableEnded) reject(new Error("the connection closed before the request was complete"));
    };
    // No "close" event follows if the caller has already disconnected.
    if (request.destroyed) rejectIfIncomplete();
    request.on("data", (chunk: Buffer) => {
      size += chunk.length;
      if (size > maxBytes) {
        request.pause();
        reject(tooLarge(maxBytes));
      } else chunks.push(chunk);
    });
    request.once("end", () => resolve(Buffer.concat(chunks)));
    request.once("error", reject);
    request.once("close", rejectIfIncomplete);
  });
}

function isPlainJson(contentType: string | undefined, contentEncoding: string | undefined): boolean {
  if (contentEncoding !== undefined && contentEncoding.toLowerCase() !== "identity") return false;
  if (contentType === "application/json") return true;
  return /^application\/json\s*(;\s*charset\s*=\s*"?utf-?8"?\s*)?$/i.test(contentType ?? "");
}

function tooLarge(maxBytes: number): Problem {
  return new Problem("payload_too_large", {
    members: { max_bytes: maxBytes },
    // The rest of the body is not read, so the connection cannot be reused.
    headers: { connection: "close" },
  });
}
