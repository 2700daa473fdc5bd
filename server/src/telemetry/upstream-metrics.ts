import type { Micros } from "../lib/money.ts";
import type { Meter } from "./meter.ts";
import { metricTable } from "./metric-table.ts";

export interface UpstreamMetrics {
  countUpstreamCall: (upstream: string, call: { outcome: string; seconds: number; cost: Micros }) => void;
  /** For failures only the operator can fix: a rejected credential, an empty account or a rejected request. */
  countUpstreamAlert: (upstream: string, reason: string) => void;
  watchUpstreams: (read: () => { name: string; isOpen: boolean }[]) => void;
}

export function createUpstreamMetrics(meter: Meter): UpstreamMetrics {
  const upstreamCalls = meter.counter("pennyblack_upstream_calls");
  const upstreamSeconds = meter.histogram("pennyblack_upstream_duration_seconds");
  const upstreamCost = meter.counter("pennyblack_upstream_cost_micro_usd");
  const upstreamAlerts = meter.counter("pennyblack_upstream_alerts");
  const circuits = meter.observableGauge("pennyblack_upstream_circuit_open");

  return {
    countUpstreamCall(upstream, { outcome, seconds: tookSeconds, cost }) {
      upstreamCalls.add(1, { upstream, outcome });
      upstreamSeconds.record(tookSeconds, { upstream });
      upstreamCost.add(Number(cost), { upstream });
    },
    countUpstreamAlert: (upstream, reason) => upstreamAlerts.add(1, { upstream, reason }),
    watchUpstreams(read) {
      for (const { name: upstream } of read()) {
        for (const reason of metricTable.pennyblack_upstream_alerts.labels.reason)
          upstreamAlerts.add(0, { upstream, reason });
      }
      circuits.addCallback((gauge) => {
        for (const { name, isOpen } of read()) gauge.observe(isOpen ? 1 : 0, { upstream: name });
      });
    },
  };
}
