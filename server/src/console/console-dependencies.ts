import type { KeyObject } from "node:crypto";
import type { FastifyReply, FastifyRequest } from "fastify";
import type { TrialTerms } from "../accounts/accounts.ts";
import type { Pool } from "../db/pool.ts";
import type { Route } from "../http/route.ts";
import type { Principal } from "../keys/keys.ts";
import type { Cookie } from "./cookies.ts";
import type { Oidc } from "./oidc.ts";
import type { SignInLimits } from "./sign-in-limits.ts";

/** What the console's routes are made of; app.ts hands it in. */
export interface ConsoleParts {
  people: Pool;
  publicUrl: string;
  secret: KeyObject;
  cookie: Cookie;
  oidc: Oidc | undefined;
  limits: SignInLimits;
  /** Let a request in, within the limits of where it comes from, and of its wallet as for a management key. */
  enterPlaceLimits: (place: string, reply: FastifyReply) => Promise<void>;
  enterWalletLimits: (walletId: string, reply: FastifyReply) => Promise<void>;
  isSignUpOpen: boolean;
  trial: TrialTerms;
  /** What the session view tells of this installation. */
  features: { payments: boolean; mail: boolean };
  topUp: { minimum: string; maximum: string };
  /** The principal of a key of the wallet, as if it had been sent. */
  findCaller: (wanted: { walletId: string; keyId: string; ip: string }) => Promise<Principal>;
  runSearch: (request: FastifyRequest, reply: FastifyReply, wanted: PlaygroundSearch) => Promise<unknown>;
}

export interface PlaygroundSearch {
  caller: Principal;
  /** As the body of POST /v1/search. */
  body: Record<string, unknown>;
  isExplained: boolean;
}

/** These routes are for our own pages: they are in no document, and may change with the pages. */
export function consoleRoute(route: Pick<Route, "method" | "path" | "handle">): Route {
  return { ...route, summary: "", description: "", answer: "application/json", problems: [] };
}

export const walletPath = "/console/api/wallets/:walletId";
