import { type CurrentKey, formatUsd, type Key, type KeyBudgetPeriod, type KeySources, toMicros } from "@pennyblack/sdk";
import { formatTime, sanitize, table } from "./terminal.ts";

type Limits = Pick<Key, "searches_per_second" | "searches_in_flight">;

/** A table of keys. Only the key that replaced a rotated key refers to it. */
export function formatKeys(keys: readonly Key[]): string {
  const replaced = new Set(keys.map(({ rotated_from }) => rotated_from));
  const rows = keys.map((key) => [
    key.id,
    `${key.start}…`,
    key.mode,
    key.state === "active" && replaced.has(key.id) && key.expires_at !== null
      ? `until ${formatMinute(key.expires_at)}`
      : key.state,
    formatBudgets(key.budget),
    key.last_used_at === null ? "never" : formatMinute(key.last_used_at),
    key.expires_at === null ? "never" : formatMinute(key.expires_at),
    sanitize(key.name),
  ]);
  return table([["ID", "KEY", "MODE", "STATE", "SPENT/BUDGET", "LAST USED", "EXPIRES", "NAME"], ...rows]);
}

/** `0.12/1.00 day, 3.00/20.00 month` */
function formatBudgets(budget: Key["budget"]): string {
  const periods = (["total", "day", "month"] as const).flatMap((name) => {
    const period = budget?.[name];
    return period ? [`${period.spent}/${period.limit} ${name}`] : [];
  });
  return periods.length === 0 ? "none" : periods.join(", ");
}

/** `2026-11-16 17:20Z` */
function formatMinute(isoTime: string): string {
  return `${new Date(isoTime).toISOString().slice(0, 16).replace("T", " ")}Z`;
}

/** The rows of a table that describes one key. `limits`: what applies to it. Default: its own. */
export function formatKey(key: Key, limits?: CurrentKey["effective_limits"]): string[][] {
  const { budget } = key;
  const periods = [
    ["Total budget", budget?.total],
    ["Daily budget", budget?.day],
    ["Monthly budget", budget?.month],
  ] as const;
  const budgetRows = periods.flatMap(([label, period]) => (period ? [[label, formatBudget(period)]] : []));
  return [
    ["Key", `${key.start}…`],
    ["Name", sanitize(key.name)],
    ["ID", key.id],
    ...(key.external_id ? [["External ID", sanitize(key.external_id)]] : []),
    ["Mode", key.mode],
    ["State", key.state + (key.revoked_at === null ? "" : ` on ${formatTime(key.revoked_at)}`)],
    ["Scopes", key.scopes.join(", ")],
    ["Expires", key.expires_at === null ? "never" : formatTime(key.expires_at)],
    ["Allowed IPs", key.allowed_ips === null ? "any" : key.allowed_ips.join(", ")],
    ...(key.mode === "mgmt"
      ? []
      : [
          ["Limits", formatLimits(key, limits ?? key)],
          ...(budgetRows.length > 0 ? budgetRows : [["Budget", "none"]]),
          ...formatShared(key.budgets),
          ...formatMaxRun(key.max_run),
          ...formatSources(key.sources),
        ]),
    ["Last used", key.last_used_at === null ? "never" : formatTime(key.last_used_at)],
    ["Created", formatTime(key.created_at) + formatCreator(key.created_by)],
  ];
}

function formatShared(budgets: Key["budgets"] | undefined): string[][] {
  return (budgets ?? []).map(({ name, period, limit, spent, resets_at }) => [
    "Shared budget",
    `${sanitize(name)}: ${spent === null ? `${limit} USD per end user and ${period}` : formatBudget({ limit, spent, resets_at })}`,
  ]);
}

function formatMaxRun(maxRun: Key["max_run"] | undefined): string[][] {
  return maxRun ? [["Each run", `at most ${maxRun.max} USD${maxRun.required ? ", required" : ""}`]] : [];
}

function formatSources(sources: KeySources | null | undefined): string[][] {
  const { block = [], only = [] } = sources ?? {};
  return [
    ...(only.length > 0 ? [["Only domains", only.join(", ")]] : []),
    ...(block.length > 0 ? [["Blocked domains", block.join(", ")]] : []),
  ];
}

function formatCreator(by: Key["created_by"]): string {
  return by === null ? "" : ` by ${by.name === null ? `the ${by.type}` : sanitize(by.name)}`;
}

/** The rest of a budget. Zero if its limit was lowered below what was spent. */
export function formatRest({ limit, spent }: { limit: string; spent: string }): string {
  const left = toMicros(limit) - toMicros(spent);
  return formatUsd(left < 0n ? 0n : left);
}

function formatLimits(
  { mode, ...own }: Key,
  { searches_per_second: rate, searches_in_flight: inFlight }: Limits,
): string {
  const isShared = rate < own.searches_per_second || inFlight < own.searches_in_flight;
  const owner = isShared ? `, for all ${mode} keys of the wallet` : "";
  return `${rate} searches per second, ${inFlight} in flight${owner}`;
}

function formatBudget({ limit, spent, resets_at }: KeyBudgetPeriod): string {
  const reset = resets_at === null ? "" : `, resets ${formatTime(resets_at)}`;
  return `${spent} USD spent, ${formatRest({ limit, spent })} USD left of ${limit} USD${reset}`;
}
