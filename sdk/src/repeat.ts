// The `repeat` option: one Idempotency-Key for identical searches within a time window, in any number of processes. The
// first of them is charged; the API returns its stored answer to the others.

import type { Category } from "./api.ts";
import { check } from "./check-options.ts";

/** A duration such as "90s", "20m" or "24h". */
export type Duration = `${number}${"s" | "m" | "h"}`;

export interface RepeatableSearch {
  query: string;
  n?: number | undefined;
  category?: Category | undefined;
}

const secondsPerUnit: Record<string, number> = { s: 1, m: 60, h: 3_600 };
// The API stores an answer for 24 hours. A longer window would charge a second time before it ends.
const maxSeconds = 86_400;

/**
 * Windows are aligned to the Unix epoch. The query is the last part, because only it can contain a line break. Python's
 * client derives the same keys; clients/cases.json has examples.
 */
export async function deriveRepeatKey(
  secret: string,
  { query, n = 10, category }: RepeatableSearch,
  repeat: Duration,
  nowMs: number,
): Promise<string> {
  const seconds = parseDuration(repeat);
  const window = Math.floor(nowMs / 1_000 / seconds);
  const text = ["pennyblack repeat", seconds, window, n, category ?? "", query.trim()].join("\n");
  const encoder = new TextEncoder();
  const hash = { name: "HMAC", hash: "SHA-256" };
  const key = await crypto.subtle.importKey("raw", encoder.encode(secret), hash, false, ["sign"]);
  const bytes = new Uint8Array(await crypto.subtle.sign("HMAC", key, encoder.encode(text)));
  return [...bytes].map((byte) => byte.toString(16).padStart(2, "0")).join("");
}

function parseDuration(repeat: string): number {
  const [, count, unit = ""] = /^(\d{1,5})([smh])$/.exec(repeat) ?? [];
  const seconds = Number(count) * (secondsPerUnit[unit] ?? 0);
  check(seconds >= 1 && seconds <= maxSeconds, 'repeat must be a duration from "1s" to "24h", such as "20m".');
  return seconds;
}
