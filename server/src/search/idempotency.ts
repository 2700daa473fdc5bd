import { createCipheriv, createDecipheriv, randomBytes } from "node:crypto";
import { deflateRawSync, inflateRawSync } from "node:zlib";
import { hmacOf, type Secret, type Secrets } from "../lib/secrets.ts";
import type { SearchInput } from "./parse-search.ts";

// Stored answers are the only place a query is persisted. An answer is compressed, then encrypted with a key derived from
// our secret *and* the caller's raw Idempotency-Key, of which only an HMAC is stored. The fingerprint of the input depends
// on both too. With the database and the secret, an answer can therefore be read only by guessing its Idempotency-Key.

export interface Claim {
  keyHmac: Buffer;
  fingerprint: Buffer;
  /** The version of the secret that made the HMACs above. */
  secretVersion: number;
  /**
   * The claim under each other listed version, for pb.hold: a byte with the version, the HMAC and the fingerprint.
   * Undefined if only one version is listed, which is always so except during a rotation.
   */
  otherClaims: Buffer | undefined;
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
export function makeClaim(secrets: Secrets, scope: ClaimScope, key: string, input: SearchInput): Claim {
  const [writer, ...others] = [secrets.writer, ...secrets.all.slice(1)];
  const scopedKey = `${scope.walletId}/${scope.mode}/${key}`;
  // No Idempotency-Key contains the zero byte, so the two parts cannot run into each other.
  const keyedInput = `${scopedKey}\0${JSON.stringify([input.query, input.n, input.category ?? null])}`;
  const keyHmac = (secret: Secret): Buffer => hmacOf(secret, "idempotency key", scopedKey);
  const fingerprint = (secret: Secret): Buffer => hmacOf(secret, "keyed search input", keyedInput);
  return {
    keyHmac: keyHmac(writer),
    fingerprint: fingerprint(writer),
    secretVersion: writer.version,
    otherClaims:
      others.length === 0
        ? undefined
        : Buffer.concat(others.flatMap((other) => [Buffer.of(other.version), keyHmac(other), fingerprint(other)])),
    seal: (body) => encrypt(encryptionKey(writer, scopedKey), body),
    // Not always under the version of the claim: the server that took over a claim may have had another writer.
    open: (answer) => decryptWithAny(secrets.all, scopedKey, answer),
  };
}

function encryptionKey(secret: Secret, scopedKey: string): Buffer {
  return hmacOf(secret, "stored answer", scopedKey);
}

function encrypt(key: Buffer, body: Buffer): Buffer {
  const nonce = randomBytes(nonceBytes);
  const cipher = createCipheriv("aes-256-gcm", key, nonce);
  const sealed = [cipher.update(deflateRawSync(body, { level: 1 })), cipher.final()];
  return Buffer.concat([nonce, cipher.getAuthTag(), ...sealed]);
}

/** Throws the error of the last version if none opens the answer. */
function decryptWithAny([secret, ...rest]: readonly Secret[], scopedKey: string, answer: Buffer): Buffer {
  if (!secret) throw new Error("there is no secret");
  try {
    return decrypt(encryptionKey(secret, scopedKey), answer);
  } catch (error) {
    if (rest.length === 0) throw error;
    return decryptWithAny(rest, scopedKey, answer);
  }
}

function decrypt(key: Buffer, answer: Buffer): Buffer {
  const decipher = createDecipheriv("aes-256-gcm", key, answer.subarray(0, nonceBytes));
  decipher.setAuthTag(answer.subarray(nonceBytes, nonceBytes + tagBytes));
  const opened = [decipher.update(answer.subarray(nonceBytes + tagBytes)), decipher.final()];
  return inflateRawSync(Buffer.concat(opened));
}
