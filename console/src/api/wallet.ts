import type { Wallet } from "@pennyblack/sdk";
import { queryOptions } from "@tanstack/react-query";
import { api } from "./client.ts";

export type Mode = "live" | "test";

export function walletPath(walletId: string, rest: string): string {
  return `/console/api/wallets/${walletId}/${rest}`;
}

export interface Hour {
  start: string;
  searches: number;
  ok: number;
  charged: string;
}

export interface Summary {
  balance: string;
  held: string;
  available: string;
  owed: string;
  burn_per_day: string;
  runway_days: number | null;
  today: { searches: number; charged: string; usual_searches_by_now: number | null };
  last_24h: {
    searches: number;
    ok: number;
    success_rate: number | null;
    p50_ms: number | null;
    p95_ms: number | null;
  };
  hours: Hour[];
}

export const walletQuery = (walletId: string) =>
  queryOptions({
    queryKey: ["wallet", walletId],
    queryFn: () => api<Wallet>(walletPath(walletId, "wallet")),
  });

export const summaryQuery = (walletId: string, mode: Mode) =>
  queryOptions({
    queryKey: ["wallet", walletId, "summary", mode],
    queryFn: () => api<Summary>(walletPath(walletId, `wallet/summary?mode=${mode}`)),
    refetchInterval: 60_000,
  });
