import type { WalletSummary } from "@pennyblack/sdk";
import { useQuery } from "@tanstack/react-query";
import { type Mode, summaryQuery } from "../../api/wallet.ts";
import { Metric } from "../../components/metric.tsx";
import { ErrorState } from "../../components/states.tsx";
import { addMoney, formatMoney, toNumber } from "../../format/format-money.ts";
import { formatCount, formatDays, formatMs, formatPercent } from "../../format/format-time.ts";
import classes from "./overview.module.css";

export function OverviewMetrics({ walletId, mode }: { walletId: string; mode: Mode }) {
  const { data, error, refetch, isPending } = useQuery(summaryQuery(walletId, mode));
  if (isPending) return <MetricsSkeleton />;
  if (!data) return <ErrorState error={error} title="Couldn't load wallet data." onRetry={refetch} />;
  return (
    <div className={classes.metrics}>
      {mode === "live" ? <BalanceMetric summary={data} /> : <TestSearchesMetric summary={data} />}
      <TodayMetric summary={data} />
      <SuccessMetric summary={data} />
    </div>
  );
}

export function MetricsSkeleton() {
  return (
    <div className={classes.metrics} aria-busy="true">
      {["Balance", "Searches today", "Success rate"].map((label) => (
        <Metric key={label} label={label} value="" isLoading />
      ))}
    </div>
  );
}

interface SummaryProps {
  summary: WalletSummary;
}

function BalanceMetric({ summary }: SummaryProps) {
  const { available, held, runway_days: days, burn_per_day: burn, hours } = summary;
  const spent = addMoney(hours.map(({ charged }) => charged));
  const notes = [
    days === null ? undefined : `${formatDays(days)} left`,
    `${formatMoney(spent)} spent in 24 hours`,
    toNumber(held) > 0 ? `${formatMoney(held)} on hold` : undefined,
  ];
  return (
    <Metric
      label="Balance"
      value={formatMoney(available)}
      description={notes.filter((note) => note !== undefined).join(", ")}
      tone={toNumber(available) > 0 || toNumber(burn) === 0 ? "plain" : "danger"}
    />
  );
}

function TestSearchesMetric({ summary }: SummaryProps) {
  return (
    <Metric
      label="Test searches (24 hours)"
      value={formatCount(summary.last_24h.searches, "search", "searches")}
      description="free, with synthetic results"
    />
  );
}

function TodayMetric({ summary }: SummaryProps) {
  const { searches, usual_searches_by_now: typical } = summary.today;
  return (
    <Metric
      label="Searches today (UTC)"
      value={formatCount(searches, "search", "searches")}
      description={typical === null ? "no typical day to compare yet" : `typically ${Math.round(typical)} by now`}
    />
  );
}

function SuccessMetric({ summary }: SummaryProps) {
  const { success_rate: rate, p50_ms: p50, p95_ms: p95, searches, succeeded, refusals, replays } = summary.last_24h;
  const failed = searches - succeeded;
  const atLeast = summary.last_24h.at_least ? "at least " : "";
  const notes = [
    ...(p95 === null || p50 === null ? [] : [`p95 ${formatMs(p95)}`, `p50 ${formatMs(p50)}`]),
    ...(failed > 0 ? [`${failed.toLocaleString("en")} failed`] : []),
    ...(refusals > 0 ? [`${atLeast}${refusals.toLocaleString("en")} refused`] : []),
    ...(replays > 0 ? [`${atLeast}${formatCount(replays, "replay", "replays")}`] : []),
  ];
  return (
    <Metric
      label="Success rate (24 hours)"
      value={rate === null ? "no searches" : formatPercent(rate)}
      description={notes.join(", ")}
      tone={rate !== null && rate < 0.9 ? "warning" : "plain"}
    />
  );
}
