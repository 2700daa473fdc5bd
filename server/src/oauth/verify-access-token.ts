import { createRemoteJWKSet, errors, type JWTPayload, jwtVerify, type RemoteJWKSet } from "jose";
import { Problem } from "../problems/problems.ts";

// Verifies JWT access tokens (RFC 9068) of the operator's OpenID Connect provider. The audience must be our resource
// (RFC 8707): a token that the person gave to another service must not work here.

export interface AccessToken {
  issuer: string;
  subject: string;
  clientId: string;
}

export interface VerifierOptions {
  resource: string;
  readKeySource: () => Promise<{ issuer: string; jwksUri: string }>;
}

const maxLength = 8_192;
/** Only asymmetric algorithms: with a symmetric one, the public key would be a secret that is published. */
const algorithms = "RS256 RS384 RS512 PS256 PS384 PS512 ES256 ES384 ES512 EdDSA Ed25519".split(" ");

/** Throws 401 for a token that must not be used here, and 503 if the provider's keys cannot be read. */
export function createTokenVerifier({ resource, readKeySource }: VerifierOptions) {
  let keys: RemoteJWKSet | undefined;

  return async function verifyAccessToken(token: string): Promise<AccessToken> {
    if (token.length > maxLength) throw invalidToken(`The access token has more than ${maxLength} characters`);
    const { issuer, jwksUri } = await readKeySource().catch(providerUnavailable);
    // Cached for ten minutes. A token with an unknown key causes at most one request in 30 seconds.
    keys ??= createRemoteJWKSet(new URL(jwksUri), { timeoutDuration: 3_000 });
    const { payload, protectedHeader } = await jwtVerify(token, keys, {
      algorithms,
      issuer,
      audience: resource,
      requiredClaims: ["exp", "sub"],
      clockTolerance: 5,
    }).catch((error: unknown) => {
      throw problemOf(error, resource);
    });
    if (!isAccessToken(protectedHeader.typ, payload)) throw invalidToken("The token is not a bearer access token");
    return { issuer, ...readIdentity(payload) };
  };
}

export function invalidToken(fault: string): Problem {
  return new Problem("access_token_invalid", { values: { fault } });
}

/** ID tokens and logout tokens are signed with the same keys. Tokens bound to a key (`cnf`) need a proof that we do not check. */
function isAccessToken(headerType: string | undefined, payload: JWTPayload): boolean {
  const { typ: type, cnf } = payload;
  const isKnownHeader = headerType === undefined || /^(?:(?:application\/)?at\+)?jwt$/i.test(headerType);
  const isBearer = type === undefined || (typeof type === "string" && /^bearer$/i.test(type));
  return isKnownHeader && isBearer && cnf === undefined;
}

function readIdentity({ sub, client_id: clientId, azp }: JWTPayload): Pick<AccessToken, "subject" | "clientId"> {
  const client = clientId ?? azp;
  if (typeof client !== "string" || !/^[ -~]{1,512}$/.test(client))
    throw invalidToken("The access token does not name its client in `client_id` or `azp`");
  if (typeof sub !== "string" || sub.length === 0 || sub.length > 255)
    throw invalidToken("The access token does not name a person in `sub`");
  return { subject: sub, clientId: client };
}

/** The errors of jose that concern the token. All others concern the provider's keys. */
const tokenErrors: readonly string[] = [
  errors.JOSEAlgNotAllowed.code,
  errors.JOSENotSupported.code,
  errors.JWSInvalid.code,
  errors.JWTInvalid.code,
  errors.JWKSNoMatchingKey.code,
  errors.JWKSMultipleMatchingKeys.code,
  errors.JWSSignatureVerificationFailed.code,
];

function problemOf(error: unknown, resource: string): Problem {
  if (error instanceof errors.JWTExpired) return invalidToken("The access token has expired");
  if (error instanceof errors.JWTClaimValidationFailed) return invalidToken(describeClaim(error.claim, resource));
  if (error instanceof errors.JOSEError && tokenErrors.includes(error.code))
    return invalidToken("The access token is not a valid token of the identity provider");
  return new Problem("identity_provider_unavailable", { cause: error });
}

function describeClaim(claim: string, resource: string): string {
  if (claim === "aud") return `The access token is for another audience, but its \`aud\` must be \`${resource}\``;
  if (claim === "iss") return "The access token is from another issuer";
  return `The \`${claim}\` claim of the access token is missing or invalid`;
}

function providerUnavailable(cause: unknown): never {
  throw new Problem("identity_provider_unavailable", { cause });
}
