// Compact JWS (RFC 7515) with Ed25519 (RFC 8037), through WebCrypto.

/** The server's public keys: the body of `/.well-known/jwks.json`. Store it to verify offline. */
export interface Jwks {
  keys: readonly Readonly<Record<string, unknown>>[];
}

export type SignatureFault = "malformed" | "unknown_key" | "wrong_signature" | "wrong_type";

type Verified = { ok: true; payload: Record<string, unknown> } | { ok: false; reason: SignatureFault };

/** Returns the payload if one of the keys signed it as this type. */
export async function verifyJws(jws: string, type: string, jwks: Jwks): Promise<Verified> {
  const [head = "", body = "", signature = "", ...rest] = jws.split(".");
  const header = parseJson(decodeBase64Url(head));
  const payload = parseJson(decodeBase64Url(body));
  const signatureBytes = decodeBase64Url(signature);
  if (!header || !payload || !signatureBytes || rest.length > 0) return { ok: false, reason: "malformed" };
  const key = jwks.keys.find((entry) => entry["kid"] === header["kid"] && entry["crv"] === "Ed25519");
  if (!key || header["alg"] !== "EdDSA") return { ok: false, reason: "unknown_key" };
  const jwk = { kty: "OKP", crv: "Ed25519", x: String(key["x"]) };
  const publicKey = await crypto.subtle.importKey("jwk", jwk, { name: "Ed25519" }, false, ["verify"]);
  const signed = new TextEncoder().encode(`${head}.${body}`);
  const isValid = await crypto.subtle.verify({ name: "Ed25519" }, publicKey, signatureBytes, signed);
  if (!isValid) return { ok: false, reason: "wrong_signature" };
  return header["typ"] === type ? { ok: true, payload } : { ok: false, reason: "wrong_type" };
}

function decodeBase64Url(text: string): Uint8Array<ArrayBuffer> | undefined {
  if (!/^[\w-]+$/.test(text)) return undefined;
  try {
    const binary = atob(text.replaceAll("-", "+").replaceAll("_", "/"));
    return Uint8Array.from(binary, (character) => character.charCodeAt(0));
  } catch {
    return undefined;
  }
}

function parseJson(bytes: Uint8Array | undefined): Record<string, unknown> | undefined {
  try {
    const value: unknown = bytes && JSON.parse(new TextDecoder().decode(bytes));
    return typeof value === "object" && value !== null ? (value as Record<string, unknown>) : undefined;
  } catch {
    return undefined;
  }
}
