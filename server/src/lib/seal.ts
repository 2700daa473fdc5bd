import { createCipheriv, createDecipheriv, createHmac, type KeyObject, randomBytes } from "node:crypto";
import type { Secret, Secrets } from "./secrets.ts";

// Encrypts text that only this service reads back. The key is derived from our secret and a purpose such as
// "webhook secret\0<id>", so that text sealed for one purpose cannot be unsealed for another.
//
//   version 1 of the secret:       nonce (12 bytes), tag (16), ciphertext
//   any other version:    version (1 byte), nonce (12), tag (16), ciphertext
//
// Version 1 has no version byte, because releases without versions read and wrote this format.

const nonceBytes = 12;
const tagBytes = 16;

export function seal({ writer }: Pick<Secrets, "writer">, purpose: string, text: string): Buffer {
  const nonce = randomBytes(nonceBytes);
  const cipher = createCipheriv("aes-256-gcm", keyFor(writer.key, purpose), nonce);
  const sealed = [cipher.update(text, "utf8"), cipher.final()];
  const version = writer.version === 1 ? [] : [Buffer.of(writer.version)];
  return Buffer.concat([...version, nonce, cipher.getAuthTag(), ...sealed]);
}

export interface Unsealed {
  text: string;
  /** The version of the secret that sealed it. */
  version: number;
}

export class CannotUnseal extends Error {}

/** Throws CannotUnseal if the purpose differs, the secret is not listed, or the bytes were changed. */
export function unseal(secrets: Pick<Secrets, "all">, purpose: string, sealed: Buffer): Unsealed {
  // The first byte of a value without a version is random and can equal one, so both readings are tried.
  const named = secrets.all.find(({ version }) => version !== 1 && version === sealed[0]);
  const text = named && tryUnseal(named, purpose, sealed.subarray(1));
  if (named && text !== undefined) return { text, version: named.version };
  const first = secrets.all.find(({ version }) => version === 1);
  const legacy = first && tryUnseal(first, purpose, sealed);
  if (legacy !== undefined) return { text: legacy, version: 1 };
  throw new CannotUnseal("no listed version of PENNYBLACK_SECRET opens this value");
}

/** Seals a value again under the writing version. Undefined if it is sealed under that one already. */
export function reseal(secrets: Secrets, purpose: string, sealed: Buffer): Buffer | undefined {
  const { text, version } = unseal(secrets, purpose, sealed);
  return version === secrets.writer.version ? undefined : seal(secrets, purpose, text);
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

function keyFor(key: KeyObject, purpose: string): Buffer {
  return createHmac("sha256", key).update(purpose).digest();
}
