import { createHmac } from "node:crypto";
import { formatUsd, type Micros } from "../lib/money.ts";
import type { Dialect } from "./dialect.ts";
import type { TranslatedSearch } from "./to-search.ts";

/** The settings of a key for the compatibility endpoints, whose clients cannot send our headers. */
export interface Compat {
  /** Parameters that are ignored instead of refused. */
  ignore: readonly string[];
  /** A repeated search within this time is not charged again. */
  repeatSeconds?: number;
  /** The budget of every run that a client names. */
  run?: { maxMicros: Micros; ttlSeconds: number };
}

export type RequestHeaders = Record<string, string | undefined>;

/** The names in `Pennyblack-Ignore` and in the settings of the key. */
export function readIgnore(headers: RequestHeaders, settings: Compat | undefined): ReadonlySet<string> {
  const names = (headers["pennyblack-ignore"] ?? "").split(",").map((name) => name.trim());
  return new Set([...names.filter((name) => name !== ""), ...(settings?.ignore ?? [])]);
}

interface Derivation {
  headers: RequestHeaders;
  settings: Compat | undefined;
  search: TranslatedSearch["search"];
  /** The policy of the key, narrowed by the request. */
  sources: TranslatedSearch["sources"];
  /** The API key of the request. */
  key: string;
  now: number;
}

/** The headers of ours that follow from the vendor's headers and the settings of the key. A header that was sent is kept. */
export function deriveHeaders({ idHeaders }: Dialect, derivation: Derivation): RequestHeaders {
  const { headers, settings: { repeatSeconds, run } = {} } = derivation;
  const user = idHeaders && headers[idHeaders.user];
  const runName = idHeaders && headers[idHeaders.run];
  return {
    ...(user !== undefined && { "search-for": user }),
    ...(runName !== undefined &&
      run && { "search-run": `${runName}; max=${formatUsd(run.maxMicros)}; ttl=${run.ttlSeconds}` }),
    ...(repeatSeconds !== undefined && { "idempotency-key": deriveRepeatKey(derivation, repeatSeconds) }),
    ...headers,
  };
}

/**
 * The same for the same search with the same source policy in the same period. It depends on the API key, which is not stored, so that the stored hash
 * of an Idempotency-Key cannot be compared with those of likely queries.
 */
export function deriveRepeatKey(
  { search: { query, n, category }, sources, key, now }: Pick<Derivation, "search" | "sources" | "key" | "now">,
  repeatSeconds: number,
): string {
  const period = Math.floor(now / (repeatSeconds * 1_000));
  const text = JSON.stringify([
    query.trim(),
    n,
    category ?? null,
    repeatSeconds,
    period,
    ...(sources ? [sources] : []),
  ]);
  return `repeat-${createHmac("sha256", key).update(text).digest("base64url")}`;
}
