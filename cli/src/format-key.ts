import { formatUsd, type Key, type KeyBudgetPeriod, toMicros } from "@pennyblack/sdk";
import { formatTime, sanitize } from "./terminal.ts";

/** The rows of a table that describes one key. */
export function formatKey(key: Key): string[][] {
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
    ["Mode", key.mode],
    ["State", key.state + (key.revoked_at === null ? "" : ` on ${formatTime(key.revoked_at)}`)],
    ["Scopes", key.scopes.join(", ")],
    ["Expires", key.expires_at === null ? "never" : formatTime(key.expires_at)],
    ["Allowed IPs", key.allowed_ips === null ? "any" : key.allowed_ips.join(", ")],
    ["Limits", `${key.searches_per_second} searches per second, ${key.searches_in_flight} in flight`],
    ...(budgetRows.length > 0 ? budgetRows : [["Budget", "none"]]),
    ["Last used", key.last_used_at === null ? "never" : formatTime(key.last_used_at)],
    ["Created", formatTime(key.created_at)],
  ];
}

/** The rest of a budget. Zero if its limit was lowered below what was spent. */
export function formatRest({ limit, spent }: { limit: string; spent: string }): string {
  const left = toMicros(limit) - toMicros(spent);
  return formatUsd(left < 0n ? 0n : left);
}

function formatBudget({ limit, spent, resets_at }: KeyBudgetPeriod): string {
  const reset = resets_at === null ? "" : `, resets ${formatTime(resets_at)}`;
  return `${spent} USD spent, ${formatRest({ limit, spent })} USD left of ${limit} USD${reset}`;
}
