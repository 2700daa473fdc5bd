import { createCipheriv, createDecipheriv, createHmac, type KeyObject, randomBytes } from "node:crypto";
import { deflateRawSync, inflateRawSync } from "node:zlib";
import type { SearchInput } from "./parse-search.ts";

// Stored answers are the only place a query is persisted. An answer is compressed, then encrypted with a key derived from
// our secret *and* the caller's raw Idempotency-Key. Only an HMAC of that key is stored, so the database and the secret
// together are not enough to decrypt an answer.

export interface Claim {
  keyHmac: Buffer;
  fingerprint: Buffer;
  seal(body: Buffer): Buffer;
  open(answer: Buffer): Buffer;
}

export interface ClaimScope {
  walletId: string;
  mode: string;
}

const nonceBytes = 12;
const tagBytes = 16;

/** An Idempotency-Key identifies one input within one wallet and mode. */
export function makeClaim(secret: KeyObject, scope: ClaimScope, key: string, input: SearchInput): Claim {
  const scopedKey = `${scope.walletId}/${scope.mode}/${key}`;
  const encryptionKey = (): Buffer => hmac(secret, "stored answer", scopedKey);
  return {
    keyHmac: hmac(secret, "idempotency key", scopedKey),
    fingerprint: hmac(secret, "search input", JSON.stringify([input.query, input.n, input.category ?? null])),
    seal(body) {
      const nonce = randomBytes(nonceBytes);
      const cipher = createCipheriv("aes-256-gcm", encryptionKey(), nonce);
      const sealed = [cipher.update(deflateRawSync(body, { level: 1 })), cipher.final()];
      return Buffer.concat([nonce, cipher.getAuthTag(), ...sealed]);
    },
    open(answer) {
      const decipher = createDecipheriv("aes-256-gcm", encryptionKey(), answer.subarray(0, nonceBytes));
      decipher.setAuthTag(answer.subarray(nonceBytes, nonceBytes + tagBytes));
      const opened = [decipher.update(answer.subarray(nonceBytes + tagBytes)), decipher.final()];
      return inflateRawSync(Buffer.concat(opened));
    },
  };
}

function hmac(secret: KeyObject, purpose: string, text: string): Buffer {
  return createHmac("sha256", secret).update(`${purpose}\0${text}`).digest();
}
