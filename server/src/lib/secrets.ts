import { createHmac, createSecretKey, type KeyObject } from "node:crypto";

// PENNYBLACK_SECRET lists secrets: the first writes, all are read. Claims, answers and hashes are derived from data keys, which
// are sealed under a secret and survive its rotation: docs/decisions/0030-data-keys.md.

export interface Secret {
  /** Names the secret without revealing it: 16 hexadecimal digits. */
  id: string;
  key: KeyObject;
}

export interface Secrets {
  /** Seals new values. */
  readonly writer: Secret;
  /** All listed secrets, the writer first. */
  readonly all: readonly Secret[];
}

export function createSecrets(listed: readonly Buffer[]): Secrets {
  const all = listed.map((bytes) => {
    const key = createSecretKey(bytes);
    return { id: hmacOf({ key }, "secret id", "").toString("hex", 0, secretIdBytes), key };
  });
  const [writer] = all;
  if (!writer) throw new Error("there is no secret, although the configuration was validated");
  return { writer, all };
}

export const secretIdBytes = 8;

/** The result of sealing stored values again under the first secret. */
export interface Resealed {
  resealed: number;
  /** Already under the first secret. */
  current: number;
  /** Under a secret that is not listed. */
  failed: number;
}

export function hmacOf({ key }: Pick<Secret, "key">, purpose: string, text: string): Buffer {
  return createHmac("sha256", key).update(`${purpose}\0${text}`).digest();
}
