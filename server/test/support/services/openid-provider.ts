import assert from "node:assert/strict";
import { createServer } from "node:http";
import { type FindAccount, Provider } from "oidc-provider";
import { listen } from "./listen.ts";

export interface OpenidProvider {
  issuer: string;
  /** Settings of a server that uses it for sign-in. */
  settings: Record<string, string>;
  /** Addresses that it reports as not verified. */
  unverified: Set<string>;
  /** Visits the URL and logs in as a browser would. Returns the URL it redirects back to. */
  visit(url: string, visitor: Visitor): Promise<string>;
  close(): Promise<void>;
}

export interface Visitor {
  email: string;
  /** Cookies set by the provider. */
  cookies: Map<string, string>;
  /** How often the provider requested a login. */
  logins: number;
}

/** A real OpenID Connect provider with its own login pages. */
export async function startOpenidProvider(publicUrl: string): Promise<OpenidProvider> {
  const server = createServer();
  const { url: issuer, close } = await listen(server);
  const unverified = new Set<string>();
  const findAccount: FindAccount = (_context, id) => ({
    accountId: id,
    claims: () => ({ sub: id, email: id, email_verified: !unverified.has(id) }),
  });
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
    findAccount,
  });
  server.on("request", provider.callback());
  return {
    issuer,
    settings: {
      PENNYBLACK_OIDC_ISSUER: issuer,
      PENNYBLACK_OIDC_CLIENT_ID: "console",
      PENNYBLACK_OIDC_CLIENT_SECRET: secret,
      PENNYBLACK_OIDC_NAME: "Acme",
    },
    unverified,
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
