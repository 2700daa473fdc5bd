import { readCredential } from "../http/credentials.ts";
import { type AcquireSlot, limitWallet } from "../http/request-limits.ts";
import type { Guard, Keys } from "./keys.ts";

/** Authenticates a management request and applies the wallet's request limits. */
export function createManagementGuard(keys: Keys, acquireSlot: AcquireSlot): Guard {
  return async function guard(request, reply, scope) {
    const principal = await keys.authenticate(readCredential(request.raw.rawHeaders), request.ip, scope);
    await limitWallet(acquireSlot, principal.walletId, reply);
    return principal;
  };
}
