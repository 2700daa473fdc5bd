import { readCredential } from "../http/input/credentials.ts";
import { limitWallet } from "../limits/request-limits.ts";
import { describeCaller } from "../telemetry/describe-caller.ts";
import type { Guard, Keys } from "./keys.ts";

/** Authenticates a management request and applies the wallet's request limits. */
export function createManagementGuard(keys: Keys, services: Parameters<typeof limitWallet>[0]): Guard {
  return async function guard(request, reply, scope) {
    const principal = await keys.authenticate(readCredential(request.raw.rawHeaders), request.ip, scope, (found) => {
      request.logFields = describeCaller(found);
    });
    await limitWallet(services, principal.walletId, reply);
    return principal;
  };
}
