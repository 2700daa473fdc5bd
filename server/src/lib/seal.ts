import {
  createCipheriv,
  createDecipheriv,
  createHmac,
  createSecretKey,
  type KeyObject,
  randomBytes,
} from "node:crypto";
import { type Secret, type Secrets, secretIdBytes } from "./secrets.ts";

// Encrypts text that only this service reads back. The key is derived from our secret and a purpose such as
// "webhook secret\0<id>", so that text sealed for one purpose cannot be unsealed for another.
//
//   id of the secret (8 bytes), nonce (12), tag (16), ciphertext

const nonceBytes = 12;
const tagBytes = 16;

export function seal({ writer }: Pick<Secrets, "writer">, purpose: string, text: string): Buffer {
  const nonce = randomBytes(nonceBytes);
  const cipher = createCipheriv("aes-256-gcm", keyFor(writer.key, purpose), nonce);
  const sealed = [cipher.update(text, "utf8"), cipher.final()];
  return Buffer.concat([Buffer.from(writer.id, "hex"), nonce, cipher.getAuthTag(), ...sealed]);
}

export class CannotUnseal extends Error {}

/** Throws CannotUnseal if the purpose differs, the secret is not listed, or the bytes were changed. */
export function unseal(secrets: Pick<Secrets, "all">, purpose: string, sealed: Buffer): string {
  const secret = secrets.all.find(({ id }) => id === secretIdOf(sealed));
  const text = secret && tryUnseal(secret, purpose, sealed.subarray(secretIdBytes));
  if (text === undefined) throw new CannotUnseal("no secret in PENNYBLACK_SECRET opens this value");
  return text;
}

/** Seals a value again under the first secret. Undefined if it is already sealed under that one. */
export function reseal(secrets: Secrets, purpose: string, sealed: Buffer): Buffer | undefined {
  const text = unseal(secrets, purpose, sealed);
  return secretIdOf(sealed) === secrets.writer.id ? undefined : seal(secrets, purpose, text);
}

function secretIdOf(sealed: Buffer): string {
  return sealed.toString("hex", 0, secretIdBytes);
}

function tryUnseal({ key }: Secret, purpose: string, sealed: Buffer): string | undefined {
  try {
    const decipher = createDecipheriv("aes-256-gcm", keyFor(key, purpose), sealed.subarray(0, nonceBytes), {
      authTagLength: tagBytes,
    });
    decipher.setAuthTag(sealed.subarray(nonceBytes, nonceBytes + tagBytes));
    const opened = [decipher.update(sealed.subarray(nonceBytes + tagBytes)), decipher.final()];
    return Buffer.concat(opened).toString("utf8");
  } catch {
    return undefined;
  }
}

function keyFor(key: KeyObject, purpose: string): KeyObject {
  return createSecretKey(createHmac("sha256", key).update(purpose).digest());
}
