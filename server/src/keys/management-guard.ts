import { readCredential } from "../http/credentials.ts";
import { limitWallet } from "../http/request-limits.ts";
import type { Guard, Keys } from "./keys.ts";

/** Authenticates a management request and applies the wallet's request limits. */
export function createManagementGuard(keys: Keys, limits: Parameters<typeof limitWallet>[0]): Guard {
  return async function guard(request, reply, scope) {
    const principal = await keys.authenticate(readCredential(request.raw.rawHeaders), request.ip, scope);
    await limitWallet(limits, principal.walletId, reply);
    return principal;
  };
}
