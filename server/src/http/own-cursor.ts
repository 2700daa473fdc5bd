import { createHash } from "node:crypto";
import { invalidParameter, readCursor, toCursor } from "./query-parameters.ts";

// A cursor that carries more than where the last page ended, such as the balance there. It is no secret and no promise:
// who forges one misleads nobody else. The sum at its end is against mistakes, such as the cursor of another wallet.

export interface Place {
  id: string;
  figures: bigint[];
}

export function toOwnCursor(walletId: string, { id, figures }: Place): string {
  const bytes = Buffer.concat([Buffer.from(toCursor(id), "base64url"), ...figures.map(toBytes)]);
  return Buffer.concat([bytes, sumOf(walletId, bytes)]).toString("base64url");
}

/** What the parameter `cursor` carries: an id and so many figures. */
export function readOwnCursor(walletId: string, cursor: string | undefined, figures: number): Place | undefined {
  if (cursor === undefined) return undefined;
  const bytes = Buffer.from(cursor, "base64url");
  const [place, sum] = [bytes.subarray(0, 16 + 8 * figures), bytes.subarray(16 + 8 * figures)];
  const id = readCursor(place.subarray(0, 16).toString("base64url"));
  if (id === undefined || place.length !== 16 + 8 * figures || !sum.equals(sumOf(walletId, place))) {
    throw invalidParameter("cursor", "must be a next_cursor of ours, of the same list");
  }
  return { id, figures: Array.from({ length: figures }, (_, index) => place.readBigInt64BE(16 + 8 * index)) };
}

function toBytes(figure: bigint): Buffer {
  const bytes = Buffer.alloc(8);
  bytes.writeBigInt64BE(figure);
  return bytes;
}

function sumOf(walletId: string, bytes: Buffer): Buffer {
  return createHash("sha256").update(walletId).update(bytes).digest().subarray(0, 6);
}
