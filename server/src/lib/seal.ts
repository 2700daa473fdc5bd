import { createCipheriv, createDecipheriv, createHmac, type KeyObject, randomBytes } from "node:crypto";

// Encrypts text that only this service reads back. The key is derived from our secret and a purpose such as
// "webhook secret\0<id>", so that text sealed for one purpose cannot be unsealed for another.

const nonceBytes = 12;
const tagBytes = 16;

export function seal(key: KeyObject, purpose: string, text: string): Buffer {
  const nonce = randomBytes(nonceBytes);
  const cipher = createCipheriv("aes-256-gcm", keyFor(key, purpose), nonce);
  const sealed = [cipher.update(text, "utf8"), cipher.final()];
  return Buffer.concat([nonce, cipher.getAuthTag(), ...sealed]);
}

/** Throws if the purpose or the secret differs, or if the bytes were changed. */
export function unseal(key: KeyObject, purpose: string, sealed: Buffer): string {
  const decipher = createDecipheriv("aes-256-gcm", keyFor(key, purpose), sealed.subarray(0, nonceBytes), {
    authTagLength: tagBytes,
  });
  decipher.setAuthTag(sealed.subarray(nonceBytes, nonceBytes + tagBytes));
  const opened = [decipher.update(sealed.subarray(nonceBytes + tagBytes)), decipher.final()];
  return Buffer.concat(opened).toString("utf8");
}

function keyFor(key: KeyObject, purpose: string): Buffer {
  return createHmac("sha256", key).update(purpose).digest();
}
