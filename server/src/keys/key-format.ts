import { createHmac, type KeyObject, randomBytes } from "node:crypto";
import { crc32 } from "node:zlib";

//   pb_live_ eu1k3v9x2a_  0123456789abcdefghijABCDEFGHIJ 3kTMd2
//   mode     label        30 random base62 characters    CRC-32 of everything before it, in base62
//
// Only the keys of an installation with cells have a label (sql/cells.sql).
//
// With the checksum, a secret scanner can recognize a leaked key offline, and the server can reject a typo without a
// database query. The key has 178 bits of entropy, so a fast keyed hash is enough to store it safely.

export type KeyMode = "live" | "test" | "mgmt";

export interface Pepper {
  version: number;
  bytes: Buffer;
}

const alphabet = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";
/** Published in SECURITY.md for secret scanners. */
export const keyPattern = /pb_(live|test|mgmt)_([0-9a-z]{10}_)?[0-9A-Za-z]{36}/;
const pattern = new RegExp(`^${keyPattern.source}$`);
const checksumLength = 6;
const secretLength = 36;
export const keyLength = "pb_live_".length + secretLength;
export const labelledKeyLength = keyLength + "eu1k3v9x2a_".length;

export function mintKey(mode: KeyMode, label?: string | null): string {
  const unsigned = `pb_${mode}_${label ? `${label}_` : ""}${randomText(30)}`;
  return unsigned + checksum(unsigned);
}

/** The key's mode, or undefined if the format or checksum is wrong. */
export function readKeyMode(key: string): KeyMode | undefined {
  const match = pattern.exec(key);
  if (!match) return undefined;
  const unsigned = key.slice(0, -checksumLength);
  return key.slice(-checksumLength) === checksum(unsigned) ? (match[1] as KeyMode) : undefined;
}

/** The digest that is stored instead of the key. */
export function digestKey(key: string, pepper: { bytes: Buffer | KeyObject }): Buffer {
  return createHmac("sha256", pepper.bytes).update(key).digest();
}

/** The key up to the first four characters of its secret, to recognize it in a list. */
export function startOfKey(key: string): string {
  return key.slice(0, 4 - secretLength);
}

function checksum(text: string): string {
  let rest = crc32(text);
  let digits = "";
  for (let index = 0; index < checksumLength; index += 1) {
    digits = alphabet.charAt(rest % alphabet.length) + digits;
    rest = Math.floor(rest / alphabet.length);
  }
  return digits;
}

/** Discards bytes of 248 and above: 256 is not a multiple of 62, which would favor the first characters. */
function randomText(length: number): string {
  let text = "";
  while (text.length < length) {
    for (const byte of randomBytes(length * 2)) {
      if (byte < 248 && text.length < length) text += alphabet.charAt(byte % alphabet.length);
    }
  }
  return text;
}
