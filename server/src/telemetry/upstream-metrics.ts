import type { Meter } from "@opentelemetry/api";
import type { Micros } from "../lib/money.ts";

export interface UpstreamMetrics {
  countUpstreamCall: (upstream: string, call: { outcome: string; seconds: number; cost: Micros }) => void;
  /** Only the operator can help: the credential, the account or our request is refused. */
  countUpstreamAlert: (upstream: string, reason: string) => void;
  watchUpstreams: (read: () => { name: string; isOpen: boolean }[]) => void;
}

export function createUpstreamMetrics(meter: Meter): UpstreamMetrics {
  const upstreamCalls = meter.createCounter("pennyblack_upstream_calls", {
    description: "Calls to upstreams by outcome: ok or the reason of the failure.",
  });
  const upstreamSeconds = meter.createHistogram("pennyblack_upstream_duration_seconds", {
    description: "From a search sent to an upstream to its answer, all pages included.",
    advice: { explicitBucketBoundaries: [0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10] },
  });
  const upstreamCost = meter.createCounter("pennyblack_upstream_cost_micro_usd", {
    description: "What upstreams charge for their answers, in micro-USD.",
  });
  const upstreamAlerts = meter.createCounter("pennyblack_upstream_alerts", {
    description: "Calls that failed for a reason that only the operator can remove.",
  });
  const circuits = meter.createObservableGauge("pennyblack_upstream_circuit_open", {
    description: "1 while others are asked before this upstream.",
  });

  return {
    countUpstreamCall(upstream, { outcome, seconds: tookSeconds, cost }) {
      upstreamCalls.add(1, { upstream, outcome });
      upstreamSeconds.record(tookSeconds, { upstream });
      upstreamCost.add(Number(cost), { upstream });
    },
    countUpstreamAlert: (upstream, reason) => upstreamAlerts.add(1, { upstream, reason }),
    watchUpstreams(read) {
      circuits.addCallback((gauge) => {
        for (const { name, isOpen } of read()) gauge.observe(isOpen ? 1 : 0, { upstream: name });
      });
    },
  };
}
