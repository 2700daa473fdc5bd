import type { FastifyReply, FastifyRequest } from "fastify";
import type { Pool } from "../db/pool.ts";
import type { Route } from "../http/route.ts";
import type { OnFound, Principal } from "../keys/keys.ts";
import type { Secrets } from "../lib/secrets.ts";
import type { Cookie } from "./cookies.ts";
import type { Oidc } from "./oidc.ts";
import type { SignInLimits } from "./sign-in-limits.ts";

export interface Features {
  payments: boolean;
  mail: boolean;
  /** Where people pay if the operator does not use the console's payments. */
  topUpUrl: string | undefined;
}

export interface ConsoleDependencies {
  people: Pool;
  publicUrl: string;
  secrets: Secrets;
  cookie: Cookie;
  oidc: Oidc | undefined;
  limits: SignInLimits;
  /** Rate limits of the client's network, and of the wallet as for a management key. */
  limitNetwork: (network: string, reply: FastifyReply) => Promise<void>;
  limitWallet: (walletId: string, reply: FastifyReply) => Promise<void>;
  /** Changes whenever the wallet's money moves or one of its searches ends. */
  readVersion: (walletId: string) => Promise<string>;
  isSignUpOpen: boolean;
  /** Reported to the pages by GET /console/api/session. */
  features: Features;
  topUp: { minimum: string; maximum: string };
  /** Authenticates a key of the wallet by its id, as if the key itself had been sent. */
  findCaller: (query: { walletId: string; keyId: string; ip: string }, onFound: OnFound) => Promise<Principal>;
  runSearch: (request: FastifyRequest, reply: FastifyReply, query: PlaygroundSearch) => Promise<unknown>;
}

export interface PlaygroundSearch {
  authenticate: (onFound: OnFound) => Promise<Principal>;
  /** Body of POST /v1/search. */
  body: Record<string, unknown>;
  explain: boolean;
}

/** A request to the console API. */
export interface ConsoleCall {
  dependencies: ConsoleDependencies;
  request: FastifyRequest;
  reply: FastifyReply;
}

type ApiRoute = [method: Route["method"], path: string, handle: (call: ConsoleCall) => Promise<unknown>];

export function apiRoutes(dependencies: ConsoleDependencies, routes: ApiRoute[]): Route[] {
  return routes.map(([method, path, handle]) =>
    consoleRoute({ method, path, handle: (request, reply) => handle({ dependencies, request, reply }) }),
  );
}

/** Console routes are internal to our pages: undocumented, and free to change. */
export function consoleRoute(route: Pick<Route, "method" | "path" | "handle">): Route {
  const undocumented = { operationId: "", tag: "Documents" as const, summary: "", description: "", problems: [] };
  return { ...route, ...undocumented, answer: "application/json" };
}

export const walletPath = "/console/api/wallets/:walletId";
