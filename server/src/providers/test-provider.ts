// The upstream behind `pb_test_` keys. It never leaves the machine, and the same search always gets the same answer, so
// that callers can write tests against it. Queries that begin with `test:` ask for a failure.

import { createHash } from "node:crypto";
import { setTimeout as wait } from "node:timers/promises";
import type { AskOptions, FailureReason, Hit, UpstreamAnswer, UpstreamFailure, UpstreamSearch } from "./provider.ts";
import { reasonForStatus } from "./reason-for-status.ts";

const name = "test";

export async function askTestUpstream(search: UpstreamSearch, options: AskOptions): Promise<UpstreamAnswer> {
  if (options.signal.aborted) return failure("aborted", 0);

  const wish = parseTestQuery(search.query);
  switch (wish.kind) {
    case "hits":
      return { ok: true, provider: name, hits: inventHits(search), tookMs: 0 };
    case "empty":
      return { ok: true, provider: name, hits: [], tookMs: 0 };
    case "slow":
      return answerSlowly(search, wish.ms, options);
    case "upstream":
      return { ...failure(wish.reason, 0), upstreamStatus: wish.upstreamStatus };
    // The story refuses these before it asks anyone. Results here would let a broken refusal look like success.
    case "problem":
      return failure("invalid_response", 0);
  }
}

export type TestWish =
  | { kind: "hits" }
  | { kind: "empty" }
  | { kind: "slow"; ms: number }
  | { kind: "upstream"; reason: FailureReason; upstreamStatus?: number }
  /** The code of a problem that the story is to answer with, or a word that nobody knows. */
  | { kind: "problem"; code: string };

/** Only a query that is one word beginning with `test:` is a wish; `test: a title` is a search like any other. */
export function parseTestQuery(query: string): TestWish {
  const word = /^test:(\S+)$/.exec(query)?.[1];
  if (word === undefined) return { kind: "hits" };
  if (word === "empty") return { kind: "empty" };

  const ms = /^slow=(\d{1,5})$/.exec(word)?.[1];
  if (ms !== undefined && Number(ms) <= longestWaitMs) return { kind: "slow", ms: Number(ms) };

  const status = /^upstream_([45]\d\d)$/.exec(word)?.[1];
  if (status !== undefined) {
    return { kind: "upstream", reason: reasonForStatus(Number(status)), upstreamStatus: Number(status) };
  }

  const reason = failuresWithoutStatus.get(word);
  return reason === undefined ? { kind: "problem", code: word } : { kind: "upstream", reason };
}

const longestWaitMs = 10_000;

const failuresWithoutStatus = new Map<string, FailureReason>([
  ["upstream_timeout", "timeout"],
  ["upstream_unreachable", "unreachable"],
  ["upstream_invalid_response", "invalid_response"],
]);

async function answerSlowly(
  search: UpstreamSearch,
  ms: number,
  { signal, deadlineMs }: AskOptions,
): Promise<UpstreamAnswer> {
  const tookMs = Math.min(ms, deadlineMs);
  const hasWaited = await wait(tookMs, true, { signal }).catch(() => false);
  if (!hasWaited) return failure("aborted", tookMs);
  return ms > deadlineMs ? failure("timeout", tookMs) : { ok: true, provider: name, hits: inventHits(search), tookMs };
}

function failure(reason: FailureReason, tookMs: number): UpstreamFailure {
  return { ok: false, provider: name, reason, tookMs };
}

// Names that RFC 2606 and RFC 6761 keep free for ever: no made-up result leads to somebody's site.
const hosts = ["example.com", "www.example.org", "docs.example.net", "library.example", "news.example"];
const kinds = ["Guide", "Reference", "Overview", "Questions and answers", "Case study"];

function inventHits({ query, n, category }: UpstreamSearch): Hit[] {
  const subject = category === undefined ? query : `${query} (${category})`;
  return Array.from({ length: n }, (_, index) => {
    const digest = createHash("sha256")
      .update(JSON.stringify([query, category, index]))
      .digest();
    const host = pick(hosts, digest.readUInt8(0));
    const kind = pick(kinds, digest.readUInt8(1));
    return {
      title: `${kind}: ${subject}`,
      url: `https://${host}/${category ?? "general"}/${digest.toString("hex", 2, 10)}`,
      snippet: `${kind} number ${index + 1} on ${subject}. This result was made up for a test key.`,
    };
  });
}

function pick(choices: readonly string[], byte: number): string {
  return choices[byte % choices.length] ?? "";
}
