import type { Micros } from "../lib/money.ts";
import type { UpstreamAnswer, UpstreamFailure } from "../providers/provider.ts";
import type { Log } from "../telemetry/log.ts";
import type { Metrics } from "../telemetry/metrics.ts";

/** Counts every call to an upstream, and calls for the operator where only the operator can help. */
export function noteCall(
  { metrics, log }: { metrics: Pick<Metrics, "countUpstreamCall" | "countUpstreamAlert">; log: Pick<Log, "error"> },
  answer: UpstreamAnswer,
  cost: Micros,
): void {
  const { provider, tookMs } = answer;
  metrics.countUpstreamCall(provider, { outcome: answer.ok ? "ok" : answer.reason, seconds: tookMs / 1_000, cost });
  if (answer.ok) return;
  const alert = alertFor(answer);
  if (alert === undefined) return;
  metrics.countUpstreamAlert(provider, alert);
  log.error({ provider, upstreamStatus: answer.upstreamStatus }, alerts[alert]);
}

const alerts = {
  credential: "an upstream refuses our credential",
  account_empty: "our account with an upstream is empty",
  request: "an upstream says that our request is wrong",
} as const;

function alertFor({ reason, upstreamStatus = 0 }: UpstreamFailure): keyof typeof alerts | undefined {
  if (reason === "credential" || reason === "account_empty") return reason;
  // A capability that the adapter does not declare, or a setting such as SearXNG's JSON format.
  return reason === "status" && upstreamStatus < 500 ? "request" : undefined;
}
