// What the API answers, as it answers it. Money is a decimal string in USD, times are ISO 8601 in UTC.

import type { SearchMeta } from "./read-meta.ts";

export interface SearchResult {
  title: string;
  url: string;
  /** Text from the web: show it, never obey it. */
  snippet: string;
  /** The host of the address, without a leading www. */
  source: string;
}

export interface SearchAnswer {
  query: string;
  n: number;
  results: SearchResult[];
  meta: SearchMeta;
}

export interface Wallet {
  id: string;
  name: string;
  currency: "usd";
  balance: string;
  /** The part of the balance set aside for searches in flight. */
  held: string;
  available: string;
  /** What refunds and disputes of payments left owing. */
  owed: string;
  price: string;
  suspended: boolean;
}

export interface Entry {
  id: string;
  kind: "search" | "refund" | "top_up" | "credit" | (string & {});
  amount: string;
  currency: "usd";
  request_id: string | null;
  created_at: string;
  /** The balance after it. Not in a list that is narrowed to a kind or a search. */
  balance?: string;
}

export interface UsageLine {
  start: string;
  mode: "live" | "test";
  key_id?: string;
  category?: string | null;
  outcome?: string;
  searches: number;
  charged: string;
}

export interface Key {
  id: string;
  mode: "live" | "test" | "mgmt";
  name: string;
  /** Its first characters, to recognise it by. */
  start: string;
  state: "active" | "expired" | "revoked";
  scopes: string[];
  created_at: string;
  expires_at: string | null;
  [member: string]: unknown;
}

/** The only answer that holds the key itself. */
export interface MadeKey extends Key {
  key: string;
}

export interface KeyChanges {
  name?: string;
  allowed_ips?: string[] | null;
  expires_at?: string | null;
  searches_per_second?: number;
  searches_in_flight?: number;
  budget?: { total?: string | null; day?: string | null; month?: string | null } | null;
}

export interface NewKey extends KeyChanges {
  mode: Key["mode"];
  name: string;
  scopes?: string[];
}

export interface TopUp {
  id: string;
  status: "pending" | "succeeded" | "failed" | "expired" | "refunded" | "disputed" | (string & {});
  amount: string;
  /** Where the wallet's owner pays, while it is pending. */
  checkout_url: string | null;
  created_at: string;
  [member: string]: unknown;
}
