import assert from "node:assert/strict";
import { generateKeyPairSync, type KeyObject } from "node:crypto";
import { createServer } from "node:http";
import { SignJWT } from "jose";
import { type FindAccount, Provider } from "oidc-provider";
import { listen } from "./listen.ts";

export interface OpenidProvider {
  issuer: string;
  /** Settings of a server that uses it for sign-in. */
  settings: Record<string, string>;
  /** Addresses that it reports as not verified. */
  unverified: Set<string>;
  /** The addresses of subjects that are not their own address. */
  emails: Map<string, string>;
  signingKey: KeyObject;
  /** A token as it issues them, with other claims, another header or another key. */
  forgeToken(
    claims: Record<string, unknown>,
    options?: { key?: KeyObject; header?: Record<string, unknown> },
  ): Promise<string>;
  /** Visits the URL and logs in as a browser would. Returns the URL it redirects back to. */
  visit(url: string, visitor: Visitor): Promise<string>;
  close(): Promise<void>;
}

export interface Visitor {
  /** The subject, which is also the address unless `emails` has another one. */
  email: string;
  /** Cookies set by the provider. */
  cookies: Map<string, string>;
  /** How often the provider requested a login. */
  logins: number;
}

/**
 * A real OpenID Connect provider with its own login and consent pages. Clients register themselves, and a request for a resource
 * gets a JWT access token with it as the audience.
 */
export async function startOpenidProvider(publicUrl: string): Promise<OpenidProvider> {
  const server = createServer();
  const { url: issuer, close } = await listen(server);
  const unverified = new Set<string>();
  const emails = new Map<string, string>();
  const findAccount: FindAccount = (_context, id) => ({
    accountId: id,
    claims: () => ({ sub: id, email: emails.get(id) ?? id, email_verified: !unverified.has(id) }),
  });
  const { privateKey: signingKey } = generateKeyPairSync("rsa", { modulusLength: 2_048 });
  const secret = "a-secret-of-the-client";
  const provider = new Provider(issuer, {
    clients: [
      {
        client_id: "console",
        client_secret: secret,
        redirect_uris: [`${publicUrl}/console/api/sign-in/oidc/callback`],
      },
    ],
    claims: { openid: ["sub"], email: ["email", "email_verified"] },
    cookies: { keys: ["for the tests"] },
    jwks: { keys: [{ ...signingKey.export({ format: "jwk" }), kid: "provider", alg: "RS256", use: "sig" }] },
    features: {
      registration: { enabled: true },
      resourceIndicators: {
        enabled: true,
        getResourceServerInfo: (_context: unknown, resource: string) => ({
          scope: "",
          audience: resource,
          accessTokenFormat: "jwt",
          accessTokenTTL: 3_600,
          jwt: { sign: { alg: "RS256" } },
        }),
      },
    },
    findAccount,
  });
  server.on("request", provider.callback());
  return {
    issuer,
    settings: {
      PENNYBLACK_OIDC_ISSUER: issuer,
      PENNYBLACK_OIDC_CLIENT_ID: "console",
      PENNYBLACK_OIDC_CLIENT_SECRET: secret,
    },
    unverified,
    emails,
    signingKey,
    forgeToken(claims, { key = signingKey, header = {} } = {}) {
      const now = Math.floor(Date.now() / 1_000);
      return new SignJWT({ iss: issuer, client_id: "forged", iat: now, exp: now + 60, ...claims })
        .setProtectedHeader({ alg: "RS256", kid: "provider", typ: "at+jwt", ...header })
        .sign(key);
    },
    visit: (url, visitor) => visit(issuer, url, visitor),
    close,
  };
}

/** Follows redirects within the provider, fills in its forms, and stops at a redirect to another host. */
async function visit(issuer: string, url: string, visitor: Visitor): Promise<string> {
  let at = url;
  let form: URLSearchParams | undefined;
  for (let step = 0; step < 20; step += 1) {
    if (!at.startsWith(issuer)) return at;
    const cookie = [...visitor.cookies].map((pair) => pair.join("=")).join("; ");
    const response = await fetch(at, {
      redirect: "manual",
      headers: { cookie },
      ...(form && { method: "POST", body: form }),
    });
    form = undefined;
    for (const line of response.headers.getSetCookie()) {
      const [, name = "", value = ""] = /^([^=]+)=([^;]*)/.exec(line) ?? [];
      if (value === "") visitor.cookies.delete(name);
      else visitor.cookies.set(name, value);
    }
    const text = await response.text();
    const location = response.headers.get("location");
    if (location) {
      at = new URL(location, at).href;
      continue;
    }
    const [, action] = /<form[^>]* action="([^"]+)"/.exec(text) ?? assert.fail(`${response.status} ${at}: ${text}`);
    const prompt = /name="prompt" value="(\w+)"/.exec(text)?.[1] ?? "";
    if (prompt === "login") visitor.logins += 1;
    form = new URLSearchParams(prompt === "login" ? { prompt, login: visitor.email, password: "x" } : { prompt });
    at = new URL(action ?? "", at).href;
  }
  return assert.fail("the provider redirects in a loop");
}
