import { parseExplanation, type RankExplanation } from "./parse-explanation.ts";

/** Metadata from the response headers of a search. Amounts are decimal strings in USD. */
export interface SearchMeta {
  requestId: string;
  /** The price charged for this response. "0.00" for a replay, because an earlier attempt was charged. */
  charge: string;
  /** Only for keys with the `wallet:read` scope. */
  balance: string | undefined;
  /** Whether this is the stored response to an earlier search with the same Idempotency-Key. */
  replayed: boolean;
  idempotencyKey: string;
  /** The number of search providers queried. */
  upstreams: number | undefined;
  /** The number of results removed by the source policy of the key. Undefined without a policy. */
  filtered: number | undefined;
  /** The ranking rules applied, such as "programming@3". */
  lens: string | undefined;
  /** The explanation of each result's rank. Only with the `explain` option. */
  explanation: RankExplanation[] | undefined;
  rateLimit: { limit: number; remaining: number; resetSeconds: number } | undefined;
  /** How much of the run's budget is spent and left, including this search. Only with the `run` option. */
  run: { id: string; spent: string; left: string } | undefined;
  /** The same for each limit of the key and each shared budget that it names. `resetSeconds` is undefined for totals. */
  keyBudgets: KeyBudgetMeta[];
  /** The same for the end user. Only with the `for` option and a key that has an `end_user_limit`. */
  endUserBudget: { spent: string; left: string; resetSeconds: number } | undefined;
  /** Milliseconds per step. */
  timings: Record<string, number>;
}

export interface KeyBudgetMeta {
  period: "total" | "day" | "week" | "month";
  spent: string;
  left: string;
  resetSeconds: number | undefined;
  /** The id of a shared budget. Undefined for the key's own limits. */
  budgetId: string | undefined;
}

export function readMeta(headers: Headers, idempotencyKey: string): SearchMeta {
  const upstreams = headers.get("search-upstreams");
  const filtered = headers.get("search-filtered");
  const explanation = headers.get("rank-explain");
  return {
    requestId: headers.get("request-id") ?? "",
    charge: parseAmount(headers.get("wallet-charge")) ?? "0.00",
    balance: parseAmount(headers.get("wallet-balance")),
    replayed: headers.get("idempotent-replayed") === "true",
    idempotencyKey,
    upstreams: upstreams === null ? undefined : Number(upstreams),
    filtered: filtered === null ? undefined : Number(filtered),
    lens: headers.get("rank-lens") ?? undefined,
    explanation: explanation === null ? undefined : parseExplanation(explanation),
    rateLimit: parseRateLimit(headers.get("ratelimit-policy"), headers.get("ratelimit")),
    run: parseRun(headers.get("search-run") ?? ""),
    keyBudgets: (headers.get("key-budget") ?? "").split(",").flatMap(parseKeyBudget),
    endUserBudget: parseEndUserBudget(headers.get("end-user-budget") ?? ""),
    timings: parseTimings(headers.get("server-timing") ?? ""),
  };
}

/** `0.01;currency=usd` */
function parseAmount(header: string | null): string | undefined {
  return header === null ? undefined : header.split(";")[0];
}

/** `"key";q=20;w=1` and `"key";r=17;t=1` */
function parseRateLimit(policy: string | null, state: string | null): SearchMeta["rateLimit"] {
  const limit = /;q=(\d+)/.exec(policy ?? "")?.[1];
  const remaining = /;r=(\d+)/.exec(state ?? "")?.[1];
  const reset = /;t=(\d+)/.exec(state ?? "")?.[1];
  if (limit === undefined || remaining === undefined) return undefined;
  return { limit: Number(limit), remaining: Number(remaining), resetSeconds: Number(reset ?? 0) };
}

/** `nightly; spent=0.02; left=0.48` */
function parseRun(header: string): SearchMeta["run"] {
  const [, id, spent, left] = /^([^;]+); *spent=([\d.]+); *left=([\d.]+)/.exec(header) ?? [];
  return id === undefined || spent === undefined || left === undefined ? undefined : { id, spent, left };
}

/** `day; spent=0.02; left=0.98; resets=41213; budget=<id>` */
function parseKeyBudget(item: string): KeyBudgetMeta[] {
  const pattern =
    /^ *(total|day|week|month); *spent=([\d.]+); *left=([\d.]+)(?:; *resets=(\d+))?(?:; *budget=([\w-]+))?/;
  const [, period, spent, left, resets, budgetId] = pattern.exec(item) ?? [];
  if (period === undefined || spent === undefined || left === undefined) return [];
  const resetSeconds = resets === undefined ? undefined : Number(resets);
  return [{ period: period as KeyBudgetMeta["period"], spent, left, resetSeconds, budgetId }];
}

/** `spent=0.02; left=0.08; resets=41213` */
function parseEndUserBudget(header: string): SearchMeta["endUserBudget"] {
  const [, spent, left, resets] = /^spent=([\d.]+); *left=([\d.]+); *resets=(\d+)/.exec(header) ?? [];
  if (spent === undefined || left === undefined) return undefined;
  return { spent, left, resetSeconds: Number(resets) };
}

/** `auth;dur=0.4, hold;dur=2.1` */
function parseTimings(header: string): Record<string, number> {
  const steps = [...header.matchAll(/([\w-]+);dur=([\d.]+)/g)];
  return Object.fromEntries(steps.map(([, step = "", ms]): [string, number] => [step, Number(ms)]));
}
