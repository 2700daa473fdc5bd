import { readCredential } from "../http/input/credentials.ts";
import { limitWallet } from "../limits/request-limits.ts";
import type { Guard, Keys } from "./keys.ts";

type GuardServices = Parameters<typeof limitWallet>[0] & {
  /** Throws if another cell serves the wallet. Undefined if there are no other cells. */
};

/** Authenticates a management request and applies the wallet's request limits. */
export function createManagementGuard(keys: Keys, services: GuardServices): Guard {
  return async function guard(request, reply, scope) {
    const principal = await keys.authenticate(readCredential(request.raw.rawHeaders), request.ip, scope);
    await limitWallet(services, principal.walletId, reply);
    return principal;
  };
}
