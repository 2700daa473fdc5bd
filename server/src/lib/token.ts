import { hash, randomBytes } from "node:crypto";

// Tokens for links and cookies. Only their digests are stored.

export function mintToken(): string {
  return randomBytes(32).toString("base64url");
}

/** A plain hash is enough, because a token has 256 bits of entropy. */
export function digestToken(token: string): Buffer {
  return hash("sha256", token, "buffer");
}
