import assert from "node:assert/strict";
import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { type FindAccount, Provider } from "oidc-provider";

export interface OpenidProvider {
  issuer: string;
  /** The settings of a server that signs in through it. */
  settings: Record<string, string>;
  /** Which addresses it says it has not verified. */
  unverified: Set<string>;
  /** Goes there as a browser of somebody who logs in with this address, and says where they are led back to. */
  visit(url: string, visitor: Visitor): Promise<string>;
  close(): Promise<void>;
}

export interface Visitor {
  email: string;
  /** What the provider remembers of this browser. */
  cookies: Map<string, string>;
  /** How often the provider asked for the login. */
  logins: number;
}

/** A real OpenID Connect provider on loopback, with its own pages for the login. */
export async function startOpenidProvider(publicUrl: string): Promise<OpenidProvider> {
  const server = createServer();
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const issuer = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
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
    async close() {
      server.close();
      server.closeAllConnections();
      await once(server, "close");
    },
  };
}

/** Follows redirects at the provider, fills in its forms, and stops where it leads elsewhere. */
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
  return assert.fail("the provider leads round and round");
}
