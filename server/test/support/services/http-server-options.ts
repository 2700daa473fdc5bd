import type { HttpServerOptions } from "../../../src/http/http-server.ts";
import type { Route } from "../../../src/http/route.ts";
import { createAdmission, defaultAdmission } from "../../../src/limits/admission.ts";
import { createLog } from "../../../src/telemetry/log.ts";

/** For a server with only these routes, without a database. */
export function httpServerOptions(routes: readonly Route[]): HttpServerOptions {
  return {
    routes,
    publicUrl: "http://search.test",
    trustedProxies: [],
    log: createLog("silent"),
    admission: createAdmission(
      { ...defaultAdmission, overloadedAfterMs: 500, maxWaitMs: 1_000, max: 4_000, walletShare: 0.25 },
      0,
    ),
    whenStopping: () => ({ isDraining: false, isRefusing: false }),
    onResponse: () => undefined,
    onNoResponse: () => undefined,
  };
}
