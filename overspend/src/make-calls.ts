import { randomUUID } from "node:crypto";
import { setTimeout as wait } from "node:timers/promises";
import type { Match, Target } from "./target.ts";

export interface CallOptions {
  calls: number;
  concurrency: number;
  /** How long a call without an answer is retried. */
  retryMs: number;
  /** The share of attempts whose connection is closed before the answer arrives. */
  drop: number;
  timeoutMs: number;
  onProgress: (counts: Counts) => void;
}

/** Calls by their last answer. */
export interface Counts {
  admitted: number;
  refused: number;
  /** The last attempt had another status. */
  failed: number;
  /** No attempt had an answer. */
  unanswered: number;
  /** Attempts, including retries, and those of them that were dropped. */
  attempts: number;
  dropped: number;
}

type Outcome = "admitted" | "refused" | "failed" | "unanswered";

const retryDelayMs = 200;
const maxRetryDelayMs = 2_000;
const maxDropDelayMs = 50;

/** Makes all calls, `concurrency` of them at a time, and counts them. */
export async function makeCalls(target: Target, options: CallOptions, counts: Counts): Promise<void> {
  let started = 0;
  async function work(): Promise<void> {
    while (started < options.calls) {
      started += 1;
      counts[await makeCall(target, options, counts)] += 1;
      options.onProgress(counts);
    }
  }
  await Promise.all(Array.from({ length: options.concurrency }, work));
}

async function makeCall(target: Target, options: CallOptions, counts: Counts): Promise<Outcome> {
  const id = randomUUID();
  const endsAt = performance.now() + options.retryMs;
  for (let attempt = 1; ; attempt += 1) {
    const isDropped = Math.random() < options.drop;
    counts.attempts += 1;
    if (isDropped) counts.dropped += 1;
    const outcome = await send(target, id, isDropped ? Math.random() * maxDropDelayMs : options.timeoutMs);
    if (outcome === "admitted" || outcome === "refused" || performance.now() > endsAt) return outcome;
    await wait(Math.min(retryDelayMs * attempt, maxRetryDelayMs));
  }
}

async function send({ request, admitted, refused }: Target, id: string, timeoutMs: number): Promise<Outcome> {
  try {
    const response = await fetch(request.url, {
      method: request.method,
      headers: {
        "content-type": "application/json",
        ...request.headers,
        ...(request.idempotencyHeader !== undefined && { [request.idempotencyHeader]: id }),
      },
      ...(request.body !== undefined && { body: JSON.stringify(request.body).replaceAll("{call}", id) }),
      signal: AbortSignal.timeout(Math.ceil(timeoutMs)),
    });
    const text = await response.text();
    if (matches(admitted, response.status, text)) return "admitted";
    return matches(refused, response.status, text) ? "refused" : "failed";
  } catch {
    return "unanswered";
  }
}

function matches({ status, text: part }: Match, code: number, text: string): boolean {
  return status.includes(code) && (part === undefined || text.includes(part));
}
