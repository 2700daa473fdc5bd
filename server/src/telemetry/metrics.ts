import { priceMicros } from "../lib/money.ts";
import { type LimitName, limitNames } from "../problems/exceeded-limit.ts";
import { createMeter } from "./meter.ts";
import { faultOf, metricTable, type RequestKind } from "./metric-table.ts";
import { createProcessMetrics, type ProcessMetrics } from "./process-metrics.ts";
import { createUpstreamMetrics, type UpstreamMetrics } from "./upstream-metrics.ts";

/** The metrics of a server. Label values come from our own tables, never from a caller. */
export interface Metrics extends UpstreamMetrics, ProcessMetrics {
  countRequest: (request: EndedRequest) => void;
  countRejected: (limit: LimitName) => void;
  /** Counts a search in flight until the returned function is called. */
  trackInFlight: () => () => void;
  countCaptured: () => void;
  countReleased: () => void;
  /** Counts a search that succeeded but was not charged, or is not known to have been charged. */
  countLost: (reason: "expired" | "unknown") => void;
  countBatch: (kind: string, size: number) => void;
  timeLedger: (kind: string, seconds: number) => void;
  watchWaiting: (read: () => { holds: number; settlements: number }) => void;
  /** A request that failed because no listed secret opens the data key of its wallet. */
  countUnopenedDataKey: () => void;
  /** Zero after a successful reload. */
  setReloadFaults: (faults: number) => void;
  /** In the Prometheus text format. */
  render: () => Promise<string>;
  close: () => void;
}

interface EndedRequest {
  kind: RequestKind;
  outcome: string;
  /** The mode of the key; "unauthenticated" without a key that can search. */
  mode: (typeof metricTable.pennyblack_search_requests.labels.mode)[number];
  seconds: number;
  ownSeconds: number;
}

export function createMetrics(): Metrics {
  const meter = createMeter();
  const requests = meter.counter("pennyblack_search_requests");
  const seconds = meter.histogram("pennyblack_search_duration_seconds");
  const ownSeconds = meter.histogram("pennyblack_search_own_duration_seconds");
  const rejected = meter.counter("pennyblack_requests_rejected_by_limit");
  const inFlight = meter.observableGauge("pennyblack_searches_in_flight");
  const captured = meter.counter("pennyblack_captured_micro_usd");
  const released = meter.counter("pennyblack_released_micro_usd");
  const lost = meter.counter("pennyblack_lost_captures");
  const ledgerSeconds = meter.histogram("pennyblack_ledger_duration_seconds");
  const batches = meter.histogram("pennyblack_ledger_batch_size");
  const waiting = meter.observableGauge("pennyblack_ledger_waiting");
  const unopened = meter.counter("pennyblack_data_keys_not_opened");
  const reloadFaults = meter.gauge("pennyblack_reload_faults");

  // Prometheus detects an increase only from a value it has already scraped, so every counter starts at zero. Otherwise the
  // first loss or failure would be missed.
  for (const outcome of metricTable.pennyblack_search_requests.labels.outcome)
    for (const kind of outcome === "replayed" ? ["replay"] : ["search", "refusal"])
      requests.add(0, { kind, outcome, mode: "live", fault: faultOf(outcome) });
  for (const reason of metricTable.pennyblack_lost_captures.labels.reason) lost.add(0, { reason });
  for (const limit of limitNames) rejected.add(0, { limit });
  for (const counter of [captured, released, unopened]) counter.add(0);
  reloadFaults.record(0);

  let searchesInFlight = 0;
  inFlight.addCallback((gauge) => gauge.observe(searchesInFlight));

  return {
    ...createUpstreamMetrics(meter),
    ...createProcessMetrics(meter),
    countRequest(request) {
      const { kind, outcome, mode } = request;
      const fault = faultOf(outcome);
      requests.add(1, { kind, outcome, mode, fault });
      seconds.record(request.seconds);
      if (mode === "live" && fault !== "caller") ownSeconds.record(request.ownSeconds);
    },
    countUnopenedDataKey: () => unopened.add(1),
    countRejected: (limit) => rejected.add(1, { limit }),
    trackInFlight() {
      searchesInFlight += 1;
      return () => {
        searchesInFlight -= 1;
      };
    },
    countCaptured: () => captured.add(Number(priceMicros)),
    countReleased: () => released.add(Number(priceMicros)),
    countLost: (reason) => lost.add(1, { reason }),
    countBatch: (kind, size) => batches.record(size, { kind }),
    timeLedger: (kind, tookSeconds) => ledgerSeconds.record(tookSeconds, { kind }),
    watchWaiting(read) {
      waiting.addCallback((gauge) => {
        const { holds, settlements } = read();
        gauge.observe(holds, { lane: "holds" });
        gauge.observe(settlements, { lane: "settlements" });
      });
    },
    setReloadFaults: (faults) => reloadFaults.record(faults),
    render: meter.render,
    close: meter.close,
  };
}
