/** What the headers of a search say about it. Money is in USD, as a decimal string. */
export interface SearchMeta {
  requestId: string;
  /** What this answer cost. "0.00" if it is a replay: then an earlier attempt paid. */
  charge: string;
  /** Only for keys that may read the wallet. */
  balance: string | undefined;
  /** Whether this is the stored answer to an earlier search with the same Idempotency-Key. */
  replayed: boolean;
  idempotencyKey: string;
  /** How many search providers were asked. */
  upstreams: number | undefined;
  /** The ranking rules that were used, such as "programming@3". */
  lens: string | undefined;
  /** Why each result stands where it does, if that was asked for. */
  explanation: string | undefined;
  rateLimit: { limit: number; remaining: number; resetSeconds: number } | undefined;
  /** Milliseconds for each step. */
  timings: Record<string, number>;
}

export function readMeta(headers: Headers, idempotencyKey: string): SearchMeta {
  const upstreams = headers.get("search-upstreams");
  return {
    requestId: headers.get("request-id") ?? "",
    charge: readAmount(headers.get("wallet-charge")) ?? "0.00",
    balance: readAmount(headers.get("wallet-balance")),
    replayed: headers.get("idempotent-replayed") === "true",
    idempotencyKey,
    upstreams: upstreams === null ? undefined : Number(upstreams),
    lens: headers.get("rank-lens") ?? undefined,
    explanation: headers.get("rank-explain") ?? undefined,
    rateLimit: readRateLimit(headers.get("ratelimit-policy"), headers.get("ratelimit")),
    timings: readTimings(headers.get("server-timing") ?? ""),
  };
}

/** `0.01;currency=usd` */
function readAmount(header: string | null): string | undefined {
  return header === null ? undefined : header.split(";")[0];
}

/** `"key";q=20;w=1` and `"key";r=17;t=1` */
function readRateLimit(policy: string | null, state: string | null): SearchMeta["rateLimit"] {
  const limit = /;q=(\d+)/.exec(policy ?? "")?.[1];
  const remaining = /;r=(\d+)/.exec(state ?? "")?.[1];
  const reset = /;t=(\d+)/.exec(state ?? "")?.[1];
  if (limit === undefined || remaining === undefined) return undefined;
  return { limit: Number(limit), remaining: Number(remaining), resetSeconds: Number(reset ?? 0) };
}

/** `auth;dur=0.4, hold;dur=2.1` */
function readTimings(header: string): Record<string, number> {
  const steps = [...header.matchAll(/([\w-]+);dur=([\d.]+)/g)];
  return Object.fromEntries(steps.map(([, step = "", ms]): [string, number] => [step, Number(ms)]));
}
