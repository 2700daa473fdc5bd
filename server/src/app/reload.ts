import { ConfigFaults } from "../config/config.ts";
import type { LensFolder } from "../lenses/lenses.ts";
import type { Upstream } from "../providers/provider.ts";
import type { Router } from "../search/routing.ts";
import type { Log } from "../telemetry/log.ts";
import type { Metrics } from "../telemetry/metrics.ts";

/** If any of them has faults, logs them and keeps the previous version of all. */
export function reload(
  readUpstreams: () => readonly Upstream[],
  { lenses, router, metrics, log }: { lenses: LensFolder; router: Router; metrics: Metrics; log: Log },
): void {
  let faults: readonly string[];
  try {
    const upstreams = readUpstreams();
    faults = lenses.reload();
    if (faults.length === 0) router.replaceUpstreams(upstreams);
  } catch (error) {
    if (!(error instanceof ConfigFaults)) throw error;
    ({ faults } = error);
  }
  metrics.setReloadFaults(faults.length);
  if (faults.length === 0) log.info("lenses and upstreams reloaded");
  else log.error({ faults: faults.slice(0, 20) }, "reload failed, keeping previous lenses and upstreams");
}
