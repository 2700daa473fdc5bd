import type { IncomingMessage } from "node:http";
import { receiveWithoutPublicSlot } from "../../limits/occupied-slots.ts";
import { Problem } from "../../problems/problems.ts";
import { NoResponse } from "../no-response.ts";

export const maxBodyBytes = 16_384;

/** Reads the body of a JSON request, 16 KiB by default. Rejects other media types. */
export async function readBody(request: IncomingMessage, maxBytes = maxBodyBytes): Promise<Buffer> {
  const fault = findMediaFault(request.headers["content-type"], request.headers["content-encoding"]);
  if (fault !== undefined) {
    throw new Problem("unsupported_media_type", { values: { fault }, headers: { accept: "application/json" } });
  }
  if (Number(request.headers["content-length"] ?? 0) > maxBytes) throw tooLarge(maxBytes);
  return receiveWithoutPublicSlot(request, () => collect(request, maxBytes));
}

/** Uses events: for a body in one chunk, iterating over the request costs several times as much. */
function collect(request: IncomingMessage, maxBytes: number): Promise<Buffer> {
  return new Promise((resolve, reject) => {
    const chunks: Buffer[] = [];
    let size = 0;
    const rejectIfIncomplete = (cause?: Error): void => {
      if (!request.readableEnded) reject(new NoResponse("the caller disconnected while sending the body", { cause }));
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
    request.once("error", rejectIfIncomplete);
    request.once("close", () => rejectIfIncomplete());
  });
}

function findMediaFault(contentType: string | undefined, contentEncoding: string | undefined): string | undefined {
  if (contentEncoding !== undefined && contentEncoding.toLowerCase() !== "identity") {
    return "The request body is compressed (`Content-Encoding`)";
  }
  if (contentType === "application/json") return undefined;
  if (!contentType) return "The request has no `Content-Type` header";
  if (/^application\/json\s*(;\s*charset\s*=\s*"?utf-?8"?\s*)?$/i.test(contentType)) return undefined;
  // Only known names are repeated, because the header could contain anything.
  const name = /^[a-z]+\/[a-z0-9.+-]+/i.exec(contentType)?.[0].toLowerCase() ?? "";
  if (name === "application/json") return "The charset of the request body is not UTF-8";
  if (name === formType) return `The content type is \`${name}\`, the default of \`curl -d\``;
  return otherTypes.has(name) ? `The content type is \`${name}\`` : "The content type is not `application/json`";
}

const formType = "application/x-www-form-urlencoded";
const otherTypes = new Set(["multipart/form-data", "text/plain", "text/json", "application/octet-stream"]);

function tooLarge(maxBytes: number): Problem {
  return new Problem("payload_too_large", {
    members: { max_bytes: maxBytes },
    // The rest of the body is not read, so the connection cannot be reused.
    headers: { connection: "close" },
  });
}
