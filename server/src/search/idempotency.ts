import {
  createCipheriv,
  createDecipheriv,
  createHmac,
  createSecretKey,
  type KeyObject,
  randomBytes,
} from "node:crypto";
import { deflateRawSync, inflateRawSync } from "node:zlib";
import type { DataKey } from "../lib/data-key.ts";
import type { SearchInput } from "./parse-search.ts";

// Stored answers are the only place a query is persisted. The claim on an Idempotency-Key, the fingerprint of its input and the
// key that encrypts its answer depend on the wallet's data key *and* on the raw Idempotency-Key, of which only an HMAC is stored.
// With the database and the secret, a query can therefore be read or confirmed only by guessing its Idempotency-Key.

export interface Claim {
  keyHmac: Buffer;
  fingerprint: Buffer;
  seal(body: Buffer): Buffer;
  open(answer: Buffer): Buffer;
}

// Answers have a few kilobytes. With the default memory, allocating it takes longer than compressing.
const compression = { level: 1, windowBits: 13, memLevel: 4, chunkSize: 4_096 };
const nonceBytes = 12;
const tagBytes = 16;

/** An Idempotency-Key identifies one input within one wallet, to which the data key belongs, and mode. */
export function makeClaim(dataKey: DataKey, mode: string, key: string, input: SearchInput): Claim {
  const scopedKey = `${mode}/${key}`;
  // No Idempotency-Key contains the zero byte, so the two parts cannot run into each other.
  const { query, n, category = null, requested } = input;
  const keyedInput = `${scopedKey}\0${JSON.stringify([query, n, category, ...(requested ? [requested] : [])])}`;
  return {
    keyHmac: hmac(dataKey.claim, scopedKey),
    fingerprint: hmac(dataKey.fingerprint, keyedInput),
    seal: (body) => encrypt(hmac(dataKey.answer, scopedKey), body),
    open: (answer) => decrypt(hmac(dataKey.answer, scopedKey), answer),
  };
}

function hmac(key: KeyObject, text: string): Buffer {
  return createHmac("sha256", key).update(text).digest();
}

function encrypt(key: Buffer, body: Buffer): Buffer {
  const nonce = randomBytes(nonceBytes);
  // With the bytes of the key instead of a KeyObject, encrypting takes twice as long.
  const cipher = createCipheriv("aes-256-gcm", createSecretKey(key), nonce);
  const sealed = [cipher.update(deflateRawSync(body, compression)), cipher.final()];
  return Buffer.concat([nonce, cipher.getAuthTag(), ...sealed]);
}

function decrypt(key: Buffer, answer: Buffer): Buffer {
  const decipher = createDecipheriv("aes-256-gcm", createSecretKey(key), answer.subarray(0, nonceBytes));
  decipher.setAuthTag(answer.subarray(nonceBytes, nonceBytes + tagBytes));
  const opened = [decipher.update(answer.subarray(nonceBytes + tagBytes)), decipher.final()];
  return inflateRawSync(Buffer.concat(opened));
}
