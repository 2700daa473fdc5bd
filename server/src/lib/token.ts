import { hash, randomBytes } from "node:crypto";

// A token is handed to one person, in a link or a cookie, and only its digest is kept.

export function mintToken(): string {
  return randomBytes(32).toString("base64url");
}

/** The token has 256 bits of chance in it: a plain hash is enough. */
export function digestToken(token: string): Buffer {
  return hash("sha256", token, "buffer");
}
