import type { UpstreamAnswer, UpstreamFailure } from "../providers/provider.ts";
import type { Log } from "../telemetry/log.ts";
import type { Metrics } from "../telemetry/metrics.ts";

/** Counts a call to an upstream, and alerts if only the operator can fix its failure. */
export function recordCall(
  { metrics, log }: { metrics: Pick<Metrics, "countUpstreamCall" | "countUpstreamAlert">; log: Pick<Log, "error"> },
  answer: UpstreamAnswer,
): void {
  const { provider, tookMs } = answer;
  metrics.countUpstreamCall(provider, { outcome: answer.ok ? "ok" : answer.reason, seconds: tookMs / 1_000 });
  if (answer.ok) return;
  const alert = alertFor(answer);
  if (alert === undefined) return;
  metrics.countUpstreamAlert(provider, alert);
  log.error({ provider, upstreamStatus: answer.upstreamStatus }, alerts[alert]);
}

const alerts = {
  credential: "upstream rejected our credential",
  account_empty: "upstream account out of credit",
  request: "upstream rejected our request",
} as const;

function alertFor({ reason, upstreamStatus = 0 }: UpstreamFailure): keyof typeof alerts | undefined {
  if (reason === "credential" || reason === "account_empty") return reason;
  // The adapter does not declare a capability correctly, or the upstream is misconfigured, such as SearXNG without JSON.
  return reason === "status" && upstreamStatus < 500 ? "request" : undefined;
}
