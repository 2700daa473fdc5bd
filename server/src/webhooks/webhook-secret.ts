import { createCipheriv, createDecipheriv, createHmac, type KeyObject, randomBytes } from "node:crypto";

// A receiver's secret is shown once, when it is made. We keep it all the same, because we sign with it, encrypted under
// a key made from our own secret and the endpoint's id: a copy of the database alone can sign nothing, and a sealed
// secret moved to another endpoint cannot be opened.

const nonceBytes = 12;
const tagBytes = 16;

export function mintWebhookSecret(): string {
  return `whsec_${randomBytes(32).toString("base64")}`;
}

export function sealSecret(key: KeyObject, endpointId: string, secret: string): Buffer {
  const nonce = randomBytes(nonceBytes);
  const cipher = createCipheriv("aes-256-gcm", encryptionKey(key, endpointId), nonce);
  const sealed = [cipher.update(secret, "utf8"), cipher.final()];
  return Buffer.concat([nonce, cipher.getAuthTag(), ...sealed]);
}

export function openSecret(key: KeyObject, endpointId: string, sealed: Buffer): string {
  const nonce = sealed.subarray(0, nonceBytes);
  const decipher = createDecipheriv("aes-256-gcm", encryptionKey(key, endpointId), nonce);
  decipher.setAuthTag(sealed.subarray(nonceBytes, nonceBytes + tagBytes));
  const opened = [decipher.update(sealed.subarray(nonceBytes + tagBytes)), decipher.final()];
  return Buffer.concat(opened).toString("utf8");
}

function encryptionKey(key: KeyObject, endpointId: string): Buffer {
  return createHmac("sha256", key).update(`webhook secret\0${endpointId}`).digest();
}
