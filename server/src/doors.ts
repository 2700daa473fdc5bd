import type { FastifyReply } from "fastify";
import { readCredential } from "./http/credentials.ts";
import type { Enter, Keys } from "./keys/keys.ts";
import type { EnterLimits, LimitedKey } from "./search/limits.ts";

// How requests that are no searches come in: within limits of their own.

/** Reading the books is cheap for one and dear for all: the tenants share a few connections. */
const managementLimits = { searchesPerSecond: 200, searchesInFlight: 16 };

export function enterManagement(keys: Keys, enterLimits: EnterLimits): Enter {
  return async function enter(request, reply, scope) {
    const principal = await keys.authenticate(readCredential(request.raw.rawHeaders), request.ip, scope);
    await enterWalletLimits(enterLimits, principal.walletId, reply);
    return principal;
  };
}

/**
 * Counted apart, so that a key that searches as fast as it may can still ask what is left of its budget; and for the
 * whole wallet, which may have a thousand keys.
 */
export function enterWalletLimits(enterLimits: EnterLimits, walletId: string, reply: FastifyReply): Promise<void> {
  return enterUntilClosed(enterLimits, { keyId: `manage ${walletId}`, ...managementLimits }, reply);
}

export async function enterUntilClosed(enterLimits: EnterLimits, key: LimitedKey, reply: FastifyReply): Promise<void> {
  const place = await enterLimits(key);
  // Whoever has gone by now closes nothing any more.
  if (reply.raw.destroyed) place.leave();
  else reply.raw.once("close", () => place.leave());
  reply.headers({ "ratelimit-policy": place.rateLimitPolicy, ratelimit: place.rateLimit });
}
