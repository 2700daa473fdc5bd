import { createHmac, createSecretKey, type KeyObject } from "node:crypto";

// The versions of PENNYBLACK_SECRET. Values are written under one version, which the database names for all servers, and
// read under every version that is listed. docs/decisions/0014-versioned-secrets.md gives the reasons.

export interface SecretBytes {
  /** From 1 to 255, because a sealed value carries it in one byte. */
  version: number;
  bytes: Buffer;
}

export interface Secret {
  version: number;
  key: KeyObject;
}

export interface Secrets {
  /** The version under which new values are written. */
  readonly writer: Secret;
  /** All listed versions, the writing one first. */
  readonly all: readonly Secret[];
}

export interface SwitchableSecrets extends Secrets {
  /** Makes a listed version the writing one. Returns false if it is not listed. */
  use(version: number): boolean;
}

/** The first version writes until another one is used. */
export function createSecrets(listed: readonly SecretBytes[]): SwitchableSecrets {
  let all = listed.map(({ version, bytes }) => ({ version, key: createSecretKey(bytes) }));
  return {
    get writer() {
      const [first] = all;
      if (!first) throw new Error("there is no secret, although the configuration was validated");
      return first;
    },
    get all() {
      return all;
    },
    use(version) {
      const writer = all.find((secret) => secret.version === version);
      if (writer && writer !== all[0]) all = [writer, ...all.filter((secret) => secret !== writer)];
      return writer !== undefined;
    },
  };
}

/** The result of converting stored values to the writing version. */
export interface Resealed {
  resealed: number;
  /** Already under the writing version. */
  current: number;
  /** Under a version that is not listed, or not convertible. */
  failed: number;
}

/** Identifies the bytes of a secret without revealing them, so that two servers can compare theirs. */
export function checkValueOf({ key }: Secret): Buffer {
  return hmacOf({ key }, "check value", "");
}

export function hmacOf({ key }: Pick<Secret, "key">, purpose: string, text: string): Buffer {
  return createHmac("sha256", key).update(`${purpose}\0${text}`).digest();
}
