import { createHash } from "node:crypto";
import { invalidParameter } from "./faults.ts";
import { decodeCursorId, toCursor } from "./query-parameters.ts";

// A cursor that also encodes figures at the end of the last page, such as the balance. It is not secret, and a forged one
// misleads only its sender. The checksum catches mistakes such as the cursor of another wallet.

export interface CursorPosition {
  id: string;
  figures: bigint[];
}

export function encodeWalletCursor(walletId: string, { id, figures }: CursorPosition): string {
  const bytes = Buffer.concat([Buffer.from(toCursor(id), "base64url"), ...figures.map(toBytes)]);
  return Buffer.concat([bytes, checksumOf(walletId, bytes)]).toString("base64url");
}

/** Decodes the parameter `cursor`: an id and the given number of figures. */
export function decodeWalletCursor(
  walletId: string,
  cursor: string | undefined,
  figures: number,
): CursorPosition | undefined {
  if (cursor === undefined) return undefined;
  const bytes = Buffer.from(cursor, "base64url");
  const [position, checksum] = [bytes.subarray(0, 16 + 8 * figures), bytes.subarray(16 + 8 * figures)];
  const id = decodeCursorId(position.subarray(0, 16).toString("base64url"));
  if (id === undefined || position.length !== 16 + 8 * figures || !checksum.equals(checksumOf(walletId, position))) {
    throw invalidParameter("cursor", "must be the `next_cursor` of an earlier page of this list");
  }
  return { id, figures: Array.from({ length: figures }, (_, index) => position.readBigInt64BE(16 + 8 * index)) };
}

function toBytes(figure: bigint): Buffer {
  const bytes = Buffer.alloc(8);
  bytes.writeBigInt64BE(figure);
  return bytes;
}

function checksumOf(walletId: string, bytes: Buffer): Buffer {
  return createHash("sha256").update(walletId).update(bytes).digest().subarray(0, 6);
}
