import type { KeyObject } from "node:crypto";
import { readIdempotencyKey } from "../http/idempotency-key.ts";
import { NoAnswer } from "../http/no-answer.ts";
import type { Principal } from "../keys/keys.ts";
import { type Micros, priceMicros } from "../lib/money.ts";
import { Problem } from "../problems.ts";
import type { Hit, QueryLimit } from "../providers/provider.ts";
import type { Ranked } from "../ranking/ranking.ts";
import type { Tracing } from "../telemetry/tracing.ts";
import type { Ledger, ReleaseRequest } from "../wallet/wallet.ts";
import type { SearchResult } from "./clean-results.ts";
import type { FindHits } from "./find-hits.ts";
import { type Claim, makeClaim } from "./idempotency.ts";
import type { EnterLimits } from "./limits.ts";
import { parseSearch, type SearchInput } from "./parse-search.ts";
import { refuseHold, type TopUpApi } from "./refusals.ts";
import { readRun, readWait, timeLeftMs } from "./search-headers.ts";
import type { Steps } from "./steps.ts";

// One paid search, read from top to bottom. The order is published: it decides which refusal wins.
// A 200 is charged exactly once and anything else nothing, because
//   - the price is held before an upstream is asked, so two searches cannot spend the same cent;
//   - whatever fails between hold and capture releases the hold;
//   - the capture writes the charge, its ledger entry and the stored answer in one transaction;
//   - nothing is answered before the capture is known.

export async function search(request: SearchRequest, parts: SearchParts): Promise<SearchAnswer> {
  const caller = await request.steps.time("auth", () => parts.authenticate(request));
  request.noteCaller(caller);
  const progress = { isHeld: false };
  return searchFor(caller, request, parts, progress).catch((failure: unknown) => {
    if (!progress.isHeld) parts.noteUnheld(caller, outcomeOf(failure));
    throw failure;
  });
}

async function searchFor(
  caller: Principal,
  request: SearchRequest,
  parts: SearchParts,
  progress: { isHeld: boolean },
): Promise<SearchAnswer> {
  const { searchId, headers, steps } = request;
  const place = await parts.enterLimits(caller);
  request.tell({ "ratelimit-policy": place.rateLimitPolicy, ratelimit: place.rateLimit });
  try {
    const input = parseSearch(await request.readBody(), parts.queryLimits(caller.mode));
    const run = readRun(headers["search-run"]);
    const idempotencyKey = readIdempotencyKey(headers["idempotency-key"]);
    const wait = readWait(headers.prefer);
    if (wait !== undefined) request.tell({ "preference-applied": `wait=${wait}` });
    const claim = idempotencyKey ? makeClaim(parts.secret, caller, idempotencyKey, input) : undefined;

    const hold = { searchId, walletId: caller.walletId };
    const held = await steps.time("hold", () =>
      parts.hold({ ...hold, keyId: caller.keyId, run, category: input.category, idempotency: claim }),
    );
    if (held.outcome === "replayed" && claim) {
      parts.noteUnheld(caller, "replayed");
      return { caller, body: claim.open(held.answer), charge: 0n, balance: held.balance, isReplayed: true };
    }
    if (held.outcome !== "held") throw refuseHold(held, parts);
    progress.isHeld = true;

    const deadlineMs = timeLeftMs(wait, steps.elapsedMs());
    const { body, answer, provider, facts } = await steps
      .time("upstream", () =>
        parts.findHits(caller.mode, input, { signal: request.signal, deadlineMs, startAttempt: steps.startAttempt }),
      )
      .then(({ hits, provider, asked }) => {
        const { results, lens, explain } = steps.trace("rank", () => parts.rank(hits, input));
        const reasons = headers["rank-explain"] === "1" ? { "rank-explain": explain() } : {};
        const facts = { "search-upstreams": String(asked), "rank-lens": lens, ...reasons };
        return { ...encodeAnswer(input, results, claim), provider, facts };
      })
      .catch(async (failure: unknown) => {
        await steps.trace("release", () => parts.release({ ...hold, outcome: outcomeOf(failure) }, caller.mode));
        throw failure;
      });

    request.tell(facts);
    const paid = await steps.time("capture", () => parts.capture({ ...hold, answer }));
    if (paid.state !== "captured") throw new Problem("ledger_unavailable", { cause: new Error(`late: ${paid.state}`) });
    const charge = caller.mode === "live" ? priceMicros : 0n;
    return { caller, body, charge, balance: paid.balance, isReplayed: false, provider };
  } finally {
    place.leave();
  }
}

/** What HTTP hands to the story. */
export interface SearchRequest {
  /** Names the request, the hold and the charge. */
  searchId: string;
  /** Header lines as they came, names and values in turn. */
  rawHeaders: readonly string[];
  headers: Record<string, string | undefined>;
  ip: string;
  steps: Steps;
  /** Reads the body only when asked, so that nobody without a key or over a limit makes us parse. */
  readBody(): Promise<Buffer>;
  /** Fires when the caller has gone. */
  signal: AbortSignal;
  /** Whose request it is, as soon as that is known: for the operator's counts. */
  noteCaller(caller: Principal): void;
  /** Headers of the answer, whatever the answer will be. */
  tell(headers: Record<string, string>): void;
}

export interface SearchAnswer {
  caller: Principal;
  body: Buffer;
  charge: Micros;
  balance: Micros;
  isReplayed: boolean;
  /** Who answered: for the operator's books, never for the caller. */
  provider?: string;
}

/** The other rooms, as functions; app.ts hands them in. */
export interface SearchParts extends Pick<Ledger, "hold" | "capture"> {
  authenticate(request: Pick<SearchRequest, "rawHeaders" | "ip">): Promise<Principal>;
  enterLimits: EnterLimits;
  queryLimits(mode: Principal["mode"]): readonly QueryLimit[];
  findHits: FindHits;
  rank(hits: Hit[], input: SearchInput): Ranked<SearchResult>;
  /** Never rejects: what could not be released expires by itself. */
  release(request: ReleaseRequest, mode: Principal["mode"]): Promise<void>;
  /** Called for every paid search, whether or not its caller is still there to hear of it. */
  noteCharge(answer: SearchAnswer): void;
  /** Called for every request of a known caller that has no hold to be found by: refused before it, or replayed. */
  noteUnheld(caller: Principal, outcome: string): void;
  /** Where searches are traced. */
  startTrace?: Tracing["startSearch"] | undefined;
  secret: KeyObject;
  topUpUrl: string;
  /** Where a program can open a top-up, if payments are configured. */
  topUpApi?: TopUpApi | undefined;
}

function outcomeOf(failure: unknown): string {
  if (failure instanceof Problem) return failure.code;
  return failure instanceof NoAnswer ? "caller_left" : "internal_error";
}

/** The bytes to send, and the same bytes as they rest for a retry. */
function encodeAnswer(input: SearchInput, results: SearchResult[], claim: Claim | undefined) {
  const body = Buffer.from(JSON.stringify({ query: input.query, n: results.length, results }));
  return { body, answer: claim?.seal(body) };
}
