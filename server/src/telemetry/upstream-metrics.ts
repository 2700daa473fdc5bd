import type { Micros } from "../lib/money.ts";
import type { Meter } from "./meter.ts";
import { metricTable } from "./metric-table.ts";

export interface UpstreamMetrics {
  countUpstreamCall: (upstream: string, call: { outcome: string; seconds: number }) => void;
  /** Called when a call is sent. */
  countUpstreamCost: (upstream: string, cost: Micros) => void;
  countUnpaidCall: (upstream: string, cause: UnpaidCause) => void;
  /** For failures only the operator can fix: a rejected credential, an empty account or a rejected request. */
  countUpstreamAlert: (upstream: string, reason: string) => void;
  /** `capRatio`: the part of its cost cap that was spent; undefined without a cap. */
  watchUpstreams: (read: () => { name: string; isOpen: boolean; capRatio: number | undefined }[]) => void;
}

type UnpaidCause = (typeof metricTable.pennyblack_unpaid_upstream_calls.labels.cause)[number];

export function createUpstreamMetrics(meter: Meter): UpstreamMetrics {
  const upstreamCalls = meter.counter("pennyblack_upstream_calls");
  const upstreamSeconds = meter.histogram("pennyblack_upstream_duration_seconds");
  const upstreamCost = meter.counter("pennyblack_upstream_cost_micro_usd");
  const unpaidCalls = meter.counter("pennyblack_unpaid_upstream_calls");
  const upstreamAlerts = meter.counter("pennyblack_upstream_alerts");
  const circuits = meter.observableGauge("pennyblack_upstream_circuit_open");
  const capRatios = meter.observableGauge("pennyblack_upstream_cap_ratio");

  return {
    countUpstreamCall(upstream, { outcome, seconds: tookSeconds }) {
      upstreamCalls.add(1, { upstream, outcome });
      upstreamSeconds.record(tookSeconds, { upstream });
    },
    countUpstreamCost: (upstream, cost) => upstreamCost.add(Number(cost), { upstream }),
    countUnpaidCall: (upstream, cause) => unpaidCalls.add(1, { upstream, cause }),
    countUpstreamAlert: (upstream, reason) => upstreamAlerts.add(1, { upstream, reason }),
    watchUpstreams(read) {
      for (const { name: upstream } of read()) {
        for (const reason of metricTable.pennyblack_upstream_alerts.labels.reason)
          upstreamAlerts.add(0, { upstream, reason });
        for (const cause of metricTable.pennyblack_unpaid_upstream_calls.labels.cause)
          unpaidCalls.add(0, { upstream, cause });
      }
      circuits.addCallback((gauge) => {
        for (const { name, isOpen } of read()) gauge.observe(isOpen ? 1 : 0, { upstream: name });
      });
      capRatios.addCallback((gauge) => {
        for (const { name, capRatio } of read())
          if (capRatio !== undefined) gauge.observe(capRatio, { upstream: name });
      });
    },
  };
}
