import type { KeyObject } from "node:crypto";
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
import { readEmail } from "../accounts/accounts.ts";
import { seal, unseal } from "../lib/seal.ts";

// Sign-in through the operator's OpenID Connect provider: code flow with PKCE, state and nonce. What has to survive the
// way there and back is sealed in a cookie of that browser, so that an answer made for another browser is refused. A
// person is the address that the provider has verified, and nothing else.

export interface OidcOptions {
  issuer: string;
  clientId: string;
  clientSecret: string | undefined;
  /** What the button says. */
  name: string;
  publicUrl: string;
  secret: KeyObject;
}

export interface Oidc {
  name: string;
  begin(wanted: { isFresh: boolean; returnTo: string }): Promise<Begun>;
  /** Throws OidcRefusal if this is not the answer to what this browser began. */
  finish(search: string, sealed: string): Promise<Proof>;
}

export interface Begun {
  url: string;
  /** For the cookie. */
  sealed: string;
}

export interface Proof {
  email: string;
  /** When the provider saw the person prove who they are; not said by every provider. */
  provedAt: Date | undefined;
  returnTo: string;
}

/** In words that the sign-in page knows. */
export class OidcRefusal extends Error {
  readonly reason: "failed" | "email_not_verified" | "not_fresh";

  constructor(reason: OidcRefusal["reason"], cause?: unknown) {
    super(reason, { cause });
    this.reason = reason;
  }
}

export const oidcSeconds = 600;
const purpose = "oidc sign-in";
const skewMs = 60_000;

interface Journey {
  state: string;
  nonce: string;
  verifier: string;
  isFresh: boolean;
  returnTo: string;
  begunMs: number;
}

export function createOidc(options: OidcOptions): Oidc {
  const redirectUri = `${options.publicUrl}/console/api/sign-in/oidc/callback`;
  let discovered: Promise<Configuration> | undefined;

  /** Asked once, when somebody first signs in; a provider that was away is asked again. */
  function discover(): Promise<Configuration> {
    discovered ??= discoverProvider(options).catch((error: unknown) => {
      discovered = undefined;
      throw error;
    });
    return discovered;
  }

  return {
    name: options.name,

    async begin({ isFresh, returnTo }) {
      const verifier = randomPKCECodeVerifier();
      const journey: Journey = {
        state: randomState(),
        nonce: randomNonce(),
        verifier,
        isFresh,
        returnTo,
        begunMs: Date.now(),
      };
      const url = buildAuthorizationUrl(await discover(), {
        redirect_uri: redirectUri,
        scope: "openid email",
        state: journey.state,
        nonce: journey.nonce,
        code_challenge: await calculatePKCECodeChallenge(verifier),
        code_challenge_method: "S256",
        ...(isFresh && { prompt: "login", max_age: "0" }),
      });
      return { url: url.href, sealed: seal(options.secret, purpose, JSON.stringify(journey)).toString("base64url") };
    },

    async finish(search, sealed) {
      const journey = openJourney(options.secret, sealed);
      const config = await discover();
      const { claims, accessToken } = await redeemCode(config, new URL(redirectUri + search), journey);
      const email = await readVerifiedEmail(config, claims, accessToken);
      const provedAt = claims.auth_time === undefined ? undefined : new Date(claims.auth_time * 1_000);
      const isOld = provedAt === undefined || provedAt.getTime() < journey.begunMs - skewMs;
      if (journey.isFresh && isOld) throw new OidcRefusal("not_fresh");
      return { email, provedAt, returnTo: journey.returnTo };
    },
  };
}

function discoverProvider({ issuer, clientId, clientSecret }: OidcOptions): Promise<Configuration> {
  const url = new URL(issuer);
  // Plain HTTP is for a provider on this machine, in development and tests. The library marks it so that it is noticed.
  const isLocal = url.protocol === "http:" && ["127.0.0.1", "localhost", "[::1]"].includes(url.hostname);
  // oxlint-disable-next-line typescript/no-deprecated -- see above
  const execute = isLocal ? [allowInsecureRequests] : [];
  return discovery(url, clientId, clientSecret, undefined, { execute, timeout: 10 });
}

function openJourney(secret: KeyObject, sealed: string): Journey {
  try {
    const journey = JSON.parse(unseal(secret, purpose, Buffer.from(sealed, "base64url"))) as Journey;
    if (journey.begunMs > Date.now() - oidcSeconds * 1_000) return journey;
  } catch (error) {
    throw new OidcRefusal("failed", error);
  }
  throw new OidcRefusal("failed");
}

interface Claims {
  sub: string;
  auth_time?: number | undefined;
  email?: unknown;
  email_verified?: unknown;
}

async function redeemCode(
  config: Configuration,
  answer: URL,
  { state, nonce, verifier }: Journey,
): Promise<{ claims: Claims; accessToken: string }> {
  try {
    const tokens = await authorizationCodeGrant(config, answer, {
      expectedState: state,
      expectedNonce: nonce,
      pkceCodeVerifier: verifier,
      idTokenExpected: true,
    });
    const claims = tokens.claims();
    if (claims) return { claims, accessToken: tokens.access_token };
  } catch (error) {
    throw new OidcRefusal("failed", error);
  }
  throw new OidcRefusal("failed");
}

/** From the ID token, or from where the provider keeps it instead. */
async function readVerifiedEmail(config: Configuration, claims: Claims, accessToken: string): Promise<string> {
  const said: Pick<Claims, "email" | "email_verified"> =
    claims.email === undefined
      ? await fetchUserInfo(config, accessToken, claims.sub).catch((error: unknown) => {
          throw new OidcRefusal("failed", error);
        })
      : claims;
  const email = typeof said.email === "string" ? readEmail(said.email) : undefined;
  // Whoever may write any address into their profile there must not become that person here.
  if (email === undefined || said.email_verified !== true) throw new OidcRefusal("email_not_verified");
  return email;
}
