import { createCipheriv, createDecipheriv, createHmac, type KeyObject, randomBytes } from "node:crypto";
import { deflateRawSync, inflateRawSync } from "node:zlib";
import type { SearchInput } from "./parse-search.ts";

// The only place where a query rests. An answer is compressed, then encrypted under a key made from our secret
// *and* the caller's raw Idempotency-Key. We keep an HMAC of that key, not the key: a copy of the database and of
// our secret together still read nothing.

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

/** What an Idempotency-Key stands for: within one wallet and mode, one input. */
export function makeClaim(secret: KeyObject, scope: ClaimScope, key: string, input: SearchInput): Claim {
  const named = `${scope.walletId}/${scope.mode}/${key}`;
  const encryptionKey = (): Buffer => hmac(secret, "stored answer", named);
  return {
    keyHmac: hmac(secret, "idempotency key", named),
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
