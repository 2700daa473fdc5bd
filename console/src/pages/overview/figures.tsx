import { useQuery } from "@tanstack/react-query";
import { type Hour, type Mode, type Summary, summaryQuery } from "../../api/wallet.ts";
import { Figure } from "../../parts/figure.tsx";
import { Failure } from "../../parts/states.tsx";
import { addMoney, formatMoney, toNumber } from "../../words/format-money.ts";
import { formatCount, formatDays, formatMs, formatPercent } from "../../words/format-time.ts";
import classes from "./overview.module.css";

/** The three numbers that people watch. */
export function Figures({ walletId, mode }: { walletId: string; mode: Mode }) {
  const { data, error, refetch, isPending } = useQuery(summaryQuery(walletId, mode));
  if (isPending) return <NoFigures />;
  if (!data) return <Failure error={error} what="The figures of this wallet could not be read." retry={refetch} />;
  return (
    <div className={classes.figures}>
      {mode === "live" ? <Balance summary={data} /> : <TestSearches summary={data} />}
      <Today summary={data} />
      <Success summary={data} />
    </div>
  );
}

/** In their place until they come. */
export function NoFigures() {
  return (
    <div className={classes.figures} aria-busy="true">
      {["Balance", "Searches today", "Answered"].map((label) => (
        <Figure key={label} label={label} value="" isLoading />
      ))}
    </div>
  );
}

interface OfSummary {
  summary: Summary;
}

function Balance({ summary }: OfSummary) {
  const { available, held, runway_days: days, hours } = summary;
  const spent = addMoney(hours.map(({ charged }) => charged));
  const notes = [
    days === null ? undefined : `about ${formatDays(days)} left`,
    `${formatMoney(spent)} spent in 24 hours`,
    toNumber(held) > 0 ? `${formatMoney(held)} set aside` : undefined,
  ];
  return (
    <Figure
      label="Balance"
      value={formatMoney(available)}
      note={notes.filter((note) => note !== undefined).join(", ")}
      tone={toNumber(available) > 0 || days === null ? "plain" : "danger"}
      line={unlessFlat(hours.map(({ charged }) => toNumber(charged)))}
    />
  );
}

function TestSearches({ summary }: OfSummary) {
  return (
    <Figure
      label="Test searches, last 24 hours"
      value={formatCount(summary.last_24h.searches, "search", "searches")}
      note="free, with made-up results"
      line={unlessFlat(summary.hours.map(({ searches }) => searches))}
    />
  );
}

function Today({ summary }: OfSummary) {
  const { searches, usual_searches_by_now: usual } = summary.today;
  return (
    <Figure
      label="Searches today, UTC"
      value={formatCount(searches, "search", "searches")}
      note={usual === null ? "no usual day to compare with yet" : `usually ${Math.round(usual)} by now`}
      line={unlessFlat(summary.hours.map(({ searches: ofHour }) => ofHour))}
    />
  );
}

function Success({ summary }: OfSummary) {
  const { success_rate: rate, p50_ms: p50, p95_ms: p95, searches, ok } = summary.last_24h;
  const failed = searches - ok;
  const pace = p95 === null || p50 === null ? [] : [`p95 ${formatMs(p95)}`, `p50 ${formatMs(p50)}`];
  return (
    <Figure
      label="Answered, last 24 hours"
      value={rate === null ? "no searches" : formatPercent(rate)}
      note={[...pace, ...(failed > 0 ? [`${failed} failed`] : [])].join(", ")}
      tone={rate !== null && rate < 0.9 ? "warning" : "plain"}
      line={searches === 0 ? [] : shares(summary.hours)}
    />
  );
}

/** A line along the ground says nothing. */
function unlessFlat(values: number[]): number[] {
  return values.some((value) => value > 0) ? values : [];
}

/** An hour without a search failed nobody. */
function shares(hours: readonly Hour[]): number[] {
  return hours.map(({ searches, ok }) => (searches === 0 ? 1 : ok / searches));
}
