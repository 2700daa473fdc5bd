import { queryOptions } from "@tanstack/react-query";
import { api } from "./client.ts";
import { type Mode, walletPath } from "./wallet.ts";

/** What one key did on one day (UTC). */
export interface DayOfKey {
  start: string;
  mode: Mode;
  key_id: string;
  searches: number;
  charged: string;
}

interface Usage {
  as_of: string;
  usage: DayOfKey[];
  next_cursor: string | null;
}

export interface DailyUse {
  asOf: string;
  days: DayOfKey[];
}

export const dailyUseQuery = (walletId: string, days: number) =>
  queryOptions({
    queryKey: ["wallet", walletId, "daily-use", days],
    queryFn: ({ signal }) => readDailyUse(walletId, days, signal),
    refetchInterval: 60_000,
  });

async function readDailyUse(walletId: string, days: number, signal: AbortSignal): Promise<DailyUse> {
  const from = new Date(Date.now() - (days - 1) * 86_400_000).toISOString().slice(0, 10);
  const path = walletPath(walletId, `usage?by=day&group=key&limit=2000&from=${from}`);
  const found: DayOfKey[] = [];
  let cursor = "";
  for (;;) {
    // Each page says where the next begins.
    const page = await api<Usage>(path + cursor, { signal });
    found.push(...page.usage);
    if (page.next_cursor === null) return { asOf: page.as_of, days: found };
    cursor = `&cursor=${encodeURIComponent(page.next_cursor)}`;
  }
}
