import { createPrivateKey, createPublicKey, hash, type KeyObject } from "node:crypto";
import { CompactSign, compactVerify, createLocalJWKSet, type JWK } from "jose";

// Signatures of receipts, roots and transfers between cells: compact JWS (RFC 7515) with Ed25519 (RFC 8037). The `typ` of the header keeps the
// kinds apart, so that one cannot be presented as another.

export type JwsType = "pennyblack-receipt" | "pennyblack-hour" | "pennyblack-day" | "pennyblack-transfer";

export interface Jwks {
  keys: JWK[];
}

export interface Signer {
  /** Public keys, for /.well-known/jwks.json. */
  jwks: Jwks;
  sign(type: JwsType, payload: object): Promise<string>;
}

/** The first seed signs, all are published. Undefined without a seed. */
export function createSigner(seeds: readonly Buffer[]): Signer | undefined {
  const keys = seeds.map(toKeyPair);
  const [first] = keys;
  if (!first) return undefined;
  const { privateKey, jwk } = first;
  return {
    jwks: { keys: keys.map((key) => key.jwk) },
    sign: (typ, payload) =>
      new CompactSign(Buffer.from(JSON.stringify(payload)))
        .setProtectedHeader({ alg: "EdDSA", kid: jwk.kid ?? "", typ })
        .sign(privateKey),
  };
}

/** The payload, or undefined if the signature, the key or the type is wrong. */
export async function verifyJws(jws: string, type: JwsType, jwks: Jwks): Promise<unknown> {
  try {
    const { payload, protectedHeader } = await compactVerify(jws, createLocalJWKSet(jwks), { algorithms: ["EdDSA"] });
    return protectedHeader.typ === type ? JSON.parse(Buffer.from(payload).toString()) : undefined;
  } catch {
    return undefined;
  }
}

// The DER encoding of an Ed25519 private key is this prefix and the seed (RFC 8410).
const derPrefix = Buffer.from("302e020100300506032b657004220420", "hex");

function toKeyPair(seed: Buffer): { privateKey: KeyObject; jwk: JWK } {
  const privateKey = createPrivateKey({ key: Buffer.concat([derPrefix, seed]), format: "der", type: "pkcs8" });
  const { x = "" } = createPublicKey(privateKey).export({ format: "jwk" });
  const jwk = { crv: "Ed25519", kty: "OKP", x };
  // The thumbprint of RFC 7638: the required members in alphabetical order.
  const kid = hash("sha256", JSON.stringify(jwk), "base64url");
  return { privateKey, jwk: { ...jwk, kid, alg: "EdDSA", use: "sig" } };
}
