import { readIdempotencyKey } from "../http/input/idempotency-key.ts";
import type { Principal } from "../keys/keys.ts";
import { type Micros, priceMicros } from "../lib/money.ts";
import type { MaxOnlyDomains, SourcePolicy } from "../lib/source-policy.ts";
import { Problem } from "../problems/problems.ts";
import type { Hit, QueryLimit } from "../providers/provider.ts";
import type { Ranked } from "../ranking/ranking.ts";
import type { Ledger, ReleaseRequest } from "../wallet/wallet.ts";
import { formatBudgetHeaders } from "./budget-headers.ts";
import type { SearchResult } from "./clean-results.ts";
import type { FindHits } from "./find-hits.ts";
import { holdOutcomeToProblem, type TopUpApi } from "./hold-problem.ts";
import type { Claim } from "./idempotency.ts";
import type { SearchSlot } from "./limit-searches.ts";
import { narrowSources } from "./narrow-sources.ts";
import { openReplay } from "./open-replay.ts";
import { outcomeOf } from "./outcome-of.ts";
import { parseSearch, type SearchInput } from "./parse-search.ts";
import type { SearchCalls, StartCalls } from "./search-calls.ts";
import type { SearchFacts } from "./search-facts.ts";
import {
  assertSentOnce,
  type RankOptions,
  readEndUser,
  readRankOptions,
  readRun,
  readWait,
  timeLeftMs,
} from "./search-headers.ts";
import type { Steps } from "./steps.ts";
import { encodeStoredAnswer } from "./stored-answer.ts";

// One paid search, from authentication to the response. A search that succeeds is charged exactly once, no matter how often it is
// retried with its Idempotency-Key. A search that fails is not charged.
//   - the price is held before an upstream is queried, so two searches cannot spend the same cent;
//   - a failure between hold and capture releases the hold;
//   - the capture writes the charge, its ledger entry and the stored answer in one transaction;
//   - the response is sent only after the capture has committed.
// The order of the steps is documented, because it decides which error is returned when several apply.

export async function search(request: SearchRequest, dependencies: SearchDependencies): Promise<SearchAnswer> {
  const { searchId, steps, facts } = request;
  const caller = await steps.time("auth", () => dependencies.authenticate(request));
  facts.caller = caller;
  let slot: SearchSlot | undefined;
  let calls: SearchCalls | undefined;
  let isPaid = false;
  try {
    slot = await dependencies.acquireSlot(caller);
    request.setHeaders(slot.headers);
    const { headers, input, sources } = await readSearch(request, caller, dependencies);
    assertSentOnce(request.rawHeaders, headers);
    const run = readRun(headers["search-run"], caller.maxRun);
    facts.run = run?.name;
    const endUserId = readEndUser(headers["search-for"]);
    const ranking = readRankOptions(headers);
    const idempotencyKey = readIdempotencyKey(headers["idempotency-key"]);
    const wait = readWait(headers.prefer);
    if (wait !== undefined) request.setHeaders({ "preference-applied": `wait=${wait}` });
    const claim = idempotencyKey ? await dependencies.makeClaim(caller, idempotencyKey, input) : undefined;
    const endUser = endUserId === undefined ? undefined : await dependencies.toStoredEndUser(caller, endUserId);
    facts.endUser = endUser;
    // Only test keys, whose invalid requests have a separate limit.
    if (slot.countValid) request.setHeaders(await slot.countValid());
    calls = await dependencies.startCalls(caller, wait);

    const hold = { searchId, walletId: caller.walletId };
    const held = await steps.time("hold", () =>
      dependencies.hold(
        { ...hold, keyId: caller.keyId, run, category: input.category, idempotency: claim, endUser },
        timeLeftMs(wait, steps.elapsedMs()),
      ),
    );
    const setBudgetHeaders = (charge: Micros): void => {
      if (held.budgets)
        request.setHeaders(formatBudgetHeaders(held.budgets, { run: run?.name, charge, now: Date.now() }));
    };
    setBudgetHeaders(0n);
    if (held.outcome === "replayed" && claim) {
      const replay = openReplay(claim.open(held.answer), caller);
      facts.kind = "replay";
      return { caller, ...replay, charge: 0n, balance: held.balance, isReplayed: true };
    }
    if (held.outcome !== "held") throw holdOutcomeToProblem(held, run?.name, { ...dependencies, ...hold });
    facts.kind = "search";

    let found: FoundAnswer;
    try {
      const query = { caller, input, sources, claim, calls, ranking, wait };
      found = await findAnswer(request, dependencies, query);
    } catch (error) {
      await steps.trace("release", () =>
        dependencies.release({ ...hold, outcome: outcomeOf(error), ...steps.record() }, caller.mode),
      );
      throw error;
    }
    request.setHeaders(found.headers);

    const paid = await steps.time("capture", () =>
      dependencies.capture({ ...hold, answer: found.storedAnswer, ...steps.record() }),
    );
    if (paid.state !== "captured")
      throw new Problem("ledger_unavailable", { cause: new Error(`capture too late: ${paid.state}`) });
    isPaid = true;
    // A test search spends play money.
    setBudgetHeaders(priceMicros);
    const charge = caller.mode === "live" ? priceMicros : 0n;
    const { body: answer, filtered, provider } = found;
    return { caller, body: answer, filtered, charge, balance: paid.balance, isReplayed: false, provider };
  } finally {
    calls?.end(isPaid);
    slot?.release();
  }
}

/** Reads and checks the body and the domains that it may return. */
async function readSearch(
  request: SearchRequest,
  caller: Principal,
  dependencies: SearchDependencies,
): Promise<{ headers: SearchRequest["headers"]; input: SearchInput; sources: SourcePolicy | undefined }> {
  const { body, headers, sources: requested } = await request.readInput(caller);
  const sources = narrowSources(caller, requested, dependencies.maxOnlyDomains());
  const input = parseSearch(body, dependencies.queryLimits(caller.mode, sources));
  return { headers, input: { ...input, ...(requested && { requested }) }, sources };
}

interface AnswerQuery {
  caller: Principal;
  input: SearchInput;
  sources: SourcePolicy | undefined;
  claim: Claim | undefined;
  calls: SearchCalls;
  ranking: RankOptions;
  /** The seconds in `Prefer: wait`. */
  wait: number | undefined;
}

interface FoundAnswer {
  body: Buffer;
  /** The body, encrypted for a retry with the same Idempotency-Key. Undefined without one. */
  storedAnswer: Buffer | undefined;
  filtered: number | undefined;
  headers: Record<string, string>;
  provider: string;
}

/** Queries the upstreams, ranks their results and encodes the response. */
async function findAnswer(
  { signal, steps }: SearchRequest,
  dependencies: SearchDependencies,
  { caller, input, sources, claim, calls, ranking, wait }: AnswerQuery,
): Promise<FoundAnswer> {
  const deadlineMs = timeLeftMs(wait, steps.elapsedMs());
  const options = { signal, deadlineMs, waitSeconds: wait, calls, startAttempt: steps.startAttempt };
  const { hits, provider, queried } = await steps.time("upstream", () =>
    steps.waitExternally(() => dependencies.findHits(caller.mode, { ...input, sources }, options)),
  );
  const { results, lens, explain, filtered } = steps.trace("rank", () =>
    dependencies.rank(hits, { ...input, sources, hasRegistries: ranking.hasRegistries }),
  );
  const body = Buffer.from(JSON.stringify({ query: input.query, n: results.length, results }));
  const explanation = ranking.isExplained ? { "rank-explain": explain() } : {};
  return {
    body,
    storedAnswer: claim?.seal(encodeStoredAnswer({ body, keyId: caller.keyId, filtered })),
    filtered,
    headers: { "search-upstreams": String(queried), "rank-lens": lens, ...explanation },
    provider,
  };
}

/** The request, without the web framework. */
export interface SearchRequest {
  /** Also the id of the hold and of the charge. */
  searchId: string;
  /** Header lines as received: name, value, name, value. */
  rawHeaders: readonly string[];
  headers: Record<string, string | undefined>;
  ip: string;
  steps: Steps;
  /**
   * Reads the body, and the headers that describe the search, on demand: a request without a valid key or over its limits is
   * never parsed.
   */
  readInput(caller: Principal): Promise<RequestInput>;
  /** Aborts when the caller disconnects. */
  signal: AbortSignal;
  /** Filled in as they become known, for the metrics and the record of a request that is refused or replayed. */
  facts: SearchFacts;
  /** Sets headers of the response, whether it succeeds or fails. */
  setHeaders(headers: Record<string, string>): void;
}

export interface RequestInput {
  body: Buffer;
  headers: SearchRequest["headers"];
  /** Narrows the policy of the key. */
  sources?: SourcePolicy | undefined;
}

export interface SearchAnswer {
  caller: Principal;
  body: Buffer;
  charge: Micros;
  balance: Micros;
  isReplayed: boolean;
  /** The number of results that a source policy removed. Undefined without a policy. */
  filtered?: number | undefined;
  /** For the operator's accounting; never sent to the caller. */
  provider?: string;
}

export interface RankInput extends SearchInput {
  sources: SourcePolicy | undefined;
  hasRegistries: boolean;
}

/** The dependencies of a search on other modules, which app/search-app.ts provides. */
export interface SearchDependencies extends Pick<Ledger, "hold" | "capture"> {
  /** Sets `facts.caller` before it refuses a key that exists. */
  authenticate: (request: Pick<SearchRequest, "rawHeaders" | "headers" | "ip" | "facts">) => Promise<Principal>;
  /** Applies the limits of the key, of its wallet and of this server. */
  acquireSlot(caller: Principal): Promise<SearchSlot>;
  /** Of the upstreams that can apply the policy. */
  queryLimits(mode: Principal["mode"], sources: SourcePolicy | undefined): readonly QueryLimit[];
  maxOnlyDomains(): MaxOnlyDomains;
  /** The id in `Search-For` in the form in which it is stored. */
  toStoredEndUser(caller: Principal, id: string): Promise<string>;
  startCalls: StartCalls;
  findHits: FindHits;
  /** `filtered`: the number of results that the policy removed, if there is one. */
  rank(hits: readonly Hit[], input: RankInput): Ranked<SearchResult> & { filtered?: number };
  /** Never rejects: a hold that cannot be released expires. */
  release(request: ReleaseRequest, mode: Principal["mode"]): Promise<void>;
  makeClaim(caller: Principal, idempotencyKey: string, input: SearchInput): Promise<Claim>;
  topUpUrl: string;
  publicUrl: string;
  /** Undefined if payments are not configured. */
  topUpApi?: TopUpApi | undefined;
}
