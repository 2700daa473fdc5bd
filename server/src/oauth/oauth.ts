import { randomUUIDv7 } from "node:crypto";
import { Type } from "typebox";
import type { Pool } from "../db/pool.ts";
import { publicProblems, type Route } from "../http/route.ts";
import { unavailable } from "../http/unavailable.ts";
import type { ConnectApp, Keys, OnFound, Principal } from "../keys/keys.ts";
import { Problem } from "../problems/problems.ts";
import { type AccessToken, createTokenVerifier, invalidToken, type VerifierOptions } from "./verify-access-token.ts";

// /mcp as an OAuth 2.1 resource server. People sign in at the operator's OpenID Connect provider, which issues a token to their
// app. The token names the person and the app; each pair has its own key, which pays:
//
//   token ............................................. 401, or 503 without the provider's keys
//   key of the app ..................................... 401 if it was revoked
//   no key: has the person turned on connected apps? ... 403, otherwise pb.connect_app creates the key

export interface OauthDependencies {
  publicUrl: string;
  issuer: string;
  readKeySource: VerifierOptions["readKeySource"];
  people: Pool;
  keys: Pick<Keys, "authenticateApp">;
  /** Occupies a slot while a token is verified, which may wait for the provider. */
  enterLookUp: (address: string) => Promise<() => void>;
}

export interface Oauth {
  /** Throws 401, 403 or 503. */
  authenticate(token: string, from: string, onFound?: OnFound): Promise<Principal>;
  /** Adds the address of the metadata to a 401, with which clients find the provider. */
  addMetadata(error: unknown): void;
  routes: Route[];
}

export function createOauth(dependencies: OauthDependencies): Oauth {
  const { publicUrl, issuer, people, keys, enterLookUp } = dependencies;
  const resource = `${publicUrl}/mcp`;
  const metadataUrl = `${publicUrl}${metadataPath}/mcp`;
  const verifyAccessToken = createTokenVerifier({ resource, readKeySource: dependencies.readKeySource });

  async function verify(token: string, from: string): Promise<AccessToken> {
    const leave = await enterLookUp(from);
    try {
      return await verifyAccessToken(token);
    } finally {
      leave();
    }
  }

  return {
    async authenticate(token, from, onFound) {
      const app = await verify(token, from);
      const identity = JSON.stringify(["oauth", app.issuer, app.subject, app.clientId]);
      const connect: ConnectApp = (key) => connectApp(people, app, key, `${publicUrl}/console/apps`);
      return keys.authenticateApp(identity, from, connect, onFound).catch((error: unknown) => {
        throw isRevoked(error) ? disconnected() : error;
      });
    },
    addMetadata(error) {
      if (!(error instanceof Problem) || error.status !== 401) return;
      const challenge = error.headers["www-authenticate"] ?? "Bearer";
      error.headers["www-authenticate"] = `${challenge}, resource_metadata="${metadataUrl}"`;
    },
    routes: [metadataPath, `${metadataPath}/mcp`].map((path) => metadataRoute(path, { resource, issuer })),
  };
}

/** API keys start with `pb_` and contain no dot. */
export function isJwt(credential: string): boolean {
  return /^[\w-]+\.[\w-]+\.[\w-]*$/.test(credential);
}

const metadataPath = "/.well-known/oauth-protected-resource";

/** RFC 9728. Clients look for it below the path of the resource, and some only at the root. */
function metadataRoute(path: string, { resource, issuer }: { resource: string; issuer: string }): Route {
  const metadata = {
    resource,
    authorization_servers: [issuer],
    bearer_methods_supported: ["header"],
    // We need no scope, but some providers grant nothing to a request without one. All of them support this one.
    scopes_supported: ["openid"],
    resource_name: "Pennyblack",
  };
  return {
    method: "GET",
    path,
    operationId: "",
    tag: "Documents",
    summary: "",
    description: "",
    answer: Type.Object({}),
    problems: publicProblems,
    handle: async () => metadata,
  };
}

type Outcome = "connected" | "disconnected" | "not_connected" | "too_many";

async function connectApp(
  people: Pool,
  { issuer, subject, clientId }: AccessToken,
  { pepperVersion, digest }: Parameters<ConnectApp>[0],
  connectUrl: string,
): Promise<void> {
  const { rows } = await people
    .query<{ outcome: Outcome }>("select pb.connect_app($1, $2, $3, $4, $5, $6, $7) as outcome", [
      issuer,
      subject,
      clientId,
      nameOf(clientId),
      randomUUIDv7(),
      pepperVersion,
      digest,
    ])
    .catch(unavailable);
  const outcome = rows[0]?.outcome;
  if (outcome === "connected") return;
  if (outcome === "disconnected") throw disconnected();
  const fault =
    outcome === "too_many"
      ? "You have reached the limit of connected apps"
      : "You have not turned on connected apps for a wallet";
  throw new Problem("app_not_connected", { members: { connect_url: connectUrl }, values: { fault } });
}

/** A client that publishes its metadata has a URL as its id. Its host is the name that people know. */
function nameOf(clientId: string): string {
  const name = URL.parse(clientId)?.hostname || clientId;
  return name.slice(0, 100);
}

function isRevoked(error: unknown): boolean {
  return error instanceof Problem && ["api_key_revoked", "api_key_expired"].includes(error.code);
}

function disconnected(): Problem {
  return invalidToken("This app was disconnected from its wallet in the console");
}
