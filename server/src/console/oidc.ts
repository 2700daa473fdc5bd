import {
  allowInsecureRequests,
  authorizationCodeGrant,
  buildAuthorizationUrl,
  type Configuration,
  calculatePKCECodeChallenge,
  discovery,
  fetchUserInfo,
  randomNonce,
  randomPKCECodeVerifier,
  randomState,
} from "openid-client";
import { parseEmailAddress } from "../accounts/accounts.ts";
import { seal, unseal } from "../lib/seal.ts";
import type { Secrets } from "../lib/secrets.ts";

// Sign-in through the operator's OpenID Connect provider: code flow with PKCE, state and nonce. The pending sign-in is
// encrypted in a cookie, so a callback in another browser is rejected. A person is identified only by the email address
// that the provider has verified; the subject identifies them in the tokens of apps.

export interface OidcOptions {
  issuer: string;
  clientId: string;
  clientSecret: string | undefined;
  /** Shown on the sign-in button. */
  name: string;
  publicUrl: string;
  secrets: Secrets;
}

export interface Oidc {
  name: string;
  start(options: { isFresh: boolean; returnTo: string }): Promise<StartedSignIn>;
  /** Throws OidcError if the callback does not match the sign-in this browser started. */
  finish(search: string, sealed: string): Promise<VerifiedIdentity>;
  /** Where the provider publishes the keys that sign its tokens. Rejects if it is unavailable. */
  readKeySource(): Promise<KeySource>;
}

export interface KeySource {
  issuer: string;
  jwksUri: string;
}

export interface StartedSignIn {
  url: string;
  /** Cookie value. */
  sealed: string;
}

export interface VerifiedIdentity {
  email: string;
  issuer: string;
  subject: string;
  /** The `auth_time` claim, which not every provider sends. */
  authenticatedAt: Date | undefined;
  returnTo: string;
}

/** `reason` is an error code of the sign-in page. */
export class OidcError extends Error {
  readonly reason: "failed" | "email_not_verified" | "not_fresh";

  constructor(reason: OidcError["reason"], cause?: unknown) {
    super(reason, { cause });
    this.reason = reason;
  }
}

export const oidcSeconds = 600;
const purpose = "oidc sign-in";
const skewMs = 60_000;

interface PendingSignIn {
  state: string;
  nonce: string;
  verifier: string;
  isFresh: boolean;
  returnTo: string;
  startedMs: number;
}

export function createOidc(options: OidcOptions): Oidc {
  const redirectUri = `${options.publicUrl}/console/api/sign-in/oidc/callback`;
  let discovered: Promise<Configuration> | undefined;

  /** Runs at the first sign-in. A failed discovery is retried at the next one. */
  function discover(): Promise<Configuration> {
    discovered ??= discoverProvider(options).catch((error: unknown) => {
      discovered = undefined;
      throw error;
    });
    return discovered;
  }

  return {
    name: options.name,

    async start({ isFresh, returnTo }) {
      const verifier = randomPKCECodeVerifier();
      const pending: PendingSignIn = {
        state: randomState(),
        nonce: randomNonce(),
        verifier,
        isFresh,
        returnTo,
        startedMs: Date.now(),
      };
      const url = buildAuthorizationUrl(await discover(), {
        redirect_uri: redirectUri,
        scope: "openid email",
        state: pending.state,
        nonce: pending.nonce,
        code_challenge: await calculatePKCECodeChallenge(verifier),
        code_challenge_method: "S256",
        ...(isFresh && { prompt: "login", max_age: "0" }),
      });
      return { url: url.href, sealed: seal(options.secrets, purpose, JSON.stringify(pending)).toString("base64url") };
    },

    async finish(search, sealed) {
      const pending = unsealPending(options.secrets, sealed);
      const config = await discover();
      const { claims, accessToken } = await redeemCode(config, new URL(redirectUri + search), pending);
      const email = await readVerifiedEmail(config, claims, accessToken);
      const authenticatedAt = claims.auth_time === undefined ? undefined : new Date(claims.auth_time * 1_000);
      const isOld = authenticatedAt === undefined || authenticatedAt.getTime() < pending.startedMs - skewMs;
      if (pending.isFresh && isOld) throw new OidcError("not_fresh");
      return { email, issuer: claims.iss, subject: claims.sub, authenticatedAt, returnTo: pending.returnTo };
    },

    async readKeySource() {
      const { issuer, jwks_uri: jwksUri } = (await discover()).serverMetadata();
      if (jwksUri === undefined) throw new Error("the provider publishes no keys");
      return { issuer, jwksUri };
    },
  };
}

/** Reads the metadata of the provider. */
export function discoverProvider({
  issuer,
  clientId,
  clientSecret,
}: Pick<OidcOptions, "issuer" | "clientId" | "clientSecret">): Promise<Configuration> {
  const url = new URL(issuer);
  // Plain HTTP is only for a local provider in development and tests. The library marks it as deprecated on purpose.
  const isLocal = url.protocol === "http:" && ["127.0.0.1", "localhost", "[::1]"].includes(url.hostname);
  // oxlint-disable-next-line typescript/no-deprecated -- see above
  const execute = isLocal ? [allowInsecureRequests] : [];
  return discovery(url, clientId, clientSecret, undefined, { execute, timeout: 10 });
}

function unsealPending(secrets: Secrets, sealed: string): PendingSignIn {
  try {
    const pending = JSON.parse(unseal(secrets, purpose, Buffer.from(sealed, "base64url"))) as PendingSignIn;
    if (pending.startedMs > Date.now() - oidcSeconds * 1_000) return pending;
  } catch (error) {
    throw new OidcError("failed", error);
  }
  throw new OidcError("failed");
}

interface Claims {
  iss: string;
  sub: string;
  auth_time?: number | undefined;
  email?: unknown;
  email_verified?: unknown;
}

async function redeemCode(
  config: Configuration,
  callbackUrl: URL,
  { state, nonce, verifier }: PendingSignIn,
): Promise<{ claims: Claims; accessToken: string }> {
  try {
    const tokens = await authorizationCodeGrant(config, callbackUrl, {
      expectedState: state,
      expectedNonce: nonce,
      pkceCodeVerifier: verifier,
      idTokenExpected: true,
    });
    const claims = tokens.claims();
    if (claims) return { claims, accessToken: tokens.access_token };
  } catch (error) {
    throw new OidcError("failed", error);
  }
  throw new OidcError("failed");
}

/** From the ID token, or from the userinfo endpoint. */
async function readVerifiedEmail(config: Configuration, claims: Claims, accessToken: string): Promise<string> {
  const profile: Pick<Claims, "email" | "email_verified"> =
    claims.email === undefined
      ? await fetchUserInfo(config, accessToken, claims.sub).catch((error: unknown) => {
          throw new OidcError("failed", error);
        })
      : claims;
  const email = typeof profile.email === "string" ? parseEmailAddress(profile.email) : undefined;
  // An unverified address may belong to someone else.
  if (email === undefined || profile.email_verified !== true) throw new OidcError("email_not_verified");
  return email;
}
