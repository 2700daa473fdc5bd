// The API client. Each method makes one API call; errors.ts lists the errors it can throw.

import type {
  Category,
  CurrentKey,
  Entry,
  EntryKind,
  Receipt,
  SearchResponse,
  UsagePeriod,
  UsageReport,
  Wallet,
  WalletProof,
  WalletSummary,
} from "./api.ts";
import { check, checkNames, isText, type OptionNames } from "./check-options.ts";
import type { Pages } from "./pages.ts";
import { readMeta, type SearchMeta } from "./read-meta.ts";
import { type Duration, deriveRepeatKey } from "./repeat.ts";
import {
  type CallOptions,
  checkCallOptions,
  checkIdempotencyKey,
  checkTimeout,
  createRequests,
  type ListOptions,
  type Requests,
  type TimeRange,
  toIsoString,
} from "./requests.ts";
import {
  createActivity,
  createAlerts,
  createAutoTopUp,
  createBudgets,
  createEndUsers,
  createKeys,
  createLenses,
  createRuns,
  createSearches,
  createTopUps,
  createWebhooks,
  toPath,
} from "./resources.ts";
import { type Connection, type RequestEvent, type ResponseEvent, send } from "./send.ts";
import { describeRuntime, readApiKey, readBaseUrl } from "./settings.ts";
import type { Jwks } from "./verify/verify-jws.ts";

export type * from "./api.ts";
export { describeRank, type RankDescription } from "./describe-rank.ts";
export {
  AuthenticationError,
  BalanceError,
  BudgetError,
  ConnectionError,
  type ErrorCode,
  type ErrorWithCode,
  PennyblackError,
  PermissionError,
  RateLimitError,
  RequestError,
  ServerError,
  UpstreamError,
} from "./errors.ts";
export { formatUsd, toMicros } from "./money.ts";
export type { Page, Pages } from "./pages.ts";
export { parseExplanation, type RankExplanation } from "./parse-explanation.ts";
export type { KeyBudgetMeta, SearchMeta } from "./read-meta.ts";
export type { Duration } from "./repeat.ts";
export type { CallOptions, ListOptions } from "./requests.ts";
export type { ActivityFilter, ListSearchesOptions } from "./resources.ts";
export type { RequestEvent, ResponseEvent } from "./send.ts";

export interface PennyblackOptions {
  /** Default: the environment variable PENNYBLACK_API_KEY. */
  apiKey?: string | undefined;
  /** The base URL of your server, such as "https://search.example.com". Default: PENNYBLACK_URL. */
  baseUrl?: string | undefined;
  /** Time limit for a call, including retries. Default: 60,000. */
  timeoutMs?: number;
  /** Maximum number of retries, when retrying is safe. Default: 3. */
  maxRetries?: number;
  /** The secret from which `repeat` derives Idempotency-Keys. Clients with the same secret share answers. Default: apiKey. */
  repeatSecret?: string;
  fetch?: typeof fetch;
  /** Called before each attempt, for logs and metrics. Errors that it throws are ignored. */
  onRequest?: (event: RequestEvent) => void;
  /** Called after each attempt, with or without a response. Errors that it throws are ignored. */
  onResponse?: (event: ResponseEvent) => void;
}

export interface SearchOptions extends CallOptions {
  /** Number of results, 1 to 20. Default: 10. */
  n?: number;
  category?: Category;
  /** A budget shared by all searches with the same id. `max` is in USD, `ttl` in seconds (default 3,600). */
  run?: { id: string; max: string; ttl?: number };
  /** Your ID for the end user on whose behalf you search, 1 to 64 letters, digits or any of `_.:@/+=|-`. */
  for?: string;
  /** Random by default. Set your own to be able to retry after this process exits. */
  idempotencyKey?: string;
  /**
   * Identical searches (query, n and category) within this time window share one answer and one charge. At most "24h".
   * Windows are aligned to the clock: "20m" starts a new one at :00, :20 and :40.
   */
  repeat?: Duration;
  /** Your deadline for the call in seconds (1 to 9), including its retries. After it, the search fails and is free. */
  wait?: number;
  /** Include the ranking explanation in `meta.explanation`. */
  explain?: boolean;
  /** `false` ranks by the hand-written rules only, without published lists of domains. Default: true. */
  registries?: boolean;
}

export interface SearchAnswer extends SearchResponse {
  meta: SearchMeta;
}

export interface EntriesOptions extends ListOptions, TimeRange {
  /** Only the charge and refund of this search. */
  requestId?: string;
  kind?: EntryKind;
}

export interface UsageOptions extends ListOptions, TimeRange {
  by?: "hour" | "day";
  /** "end_user" only alone and by day. */
  group?: ("key" | "category" | "outcome" | "end_user")[];
  /** Only searches for this end user. By day, without another `group`. */
  for?: string;
}

export class Pennyblack {
  readonly #connection: Connection;
  readonly #requests: Requests;
  readonly #repeatSecret: string;
  /** Manages the wallet's API keys. */
  readonly keys: ReturnType<typeof createKeys>;
  /** Manages the budgets that keys share. */
  readonly budgets: ReturnType<typeof createBudgets>;
  /** Adds money to the wallet. */
  readonly topUps: ReturnType<typeof createTopUps>;
  /** Charges a saved card when the balance is low. */
  readonly autoTopUp: ReturnType<typeof createAutoTopUp>;
  /** The low-balance alert. */
  readonly alerts: ReturnType<typeof createAlerts>;
  /** How the ids of end users are stored. */
  readonly endUsers: ReturnType<typeof createEndUsers>;
  readonly webhooks: ReturnType<typeof createWebhooks>;
  readonly searches: ReturnType<typeof createSearches>;
  readonly runs: ReturnType<typeof createRuns>;
  /** Who changed what. */
  readonly activity: ReturnType<typeof createActivity>;
  /** The published ranking rules. */
  readonly lenses: ReturnType<typeof createLenses>;

  constructor(options: PennyblackOptions = {}) {
    checkNames(options, Object.keys(clientOptions), " of the client");
    const { timeoutMs = 60_000, maxRetries = 3, repeatSecret, fetch: customFetch, onRequest, onResponse } = options;
    const apiKey = readApiKey(options);
    const baseUrl = readBaseUrl(options);
    checkTimeout(timeoutMs);
    check(Number.isInteger(maxRetries) && maxRetries >= 0, "maxRetries must be an integer of at least 0.");
    check(repeatSecret !== "", "repeatSecret is empty.");
    this.#connection = {
      apiKey,
      baseUrl,
      timeoutMs,
      maxRetries,
      // Resolve the global fetch on each call, because tests and tracers replace it.
      fetch: customFetch ?? ((input, init) => fetch(input, init)),
      userAgent: describeRuntime(),
      onRequest,
      onResponse,
    };
    this.#requests = createRequests(this.#connection);
    this.#repeatSecret = repeatSecret ?? apiKey;
    this.keys = createKeys(this.#requests);
    this.budgets = createBudgets(this.#requests);
    this.topUps = createTopUps(this.#requests);
    this.autoTopUp = createAutoTopUp(this.#requests);
    this.alerts = createAlerts(this.#requests);
    this.endUsers = createEndUsers(this.#requests);
    this.webhooks = createWebhooks(this.#requests);
    this.searches = createSearches(this.#requests);
    this.runs = createRuns(this.#requests);
    this.activity = createActivity(this.#requests);
    this.lenses = createLenses(this.#requests);
  }

  /** Searches the web for 0.01 USD, charged only on success. Retries are never charged twice. */
  async search(query: string, options: SearchOptions = {}): Promise<SearchAnswer> {
    checkCallOptions(options, Object.keys(searchOptions));
    const { n, category, wait, signal, timeoutMs } = options;
    const idempotencyKey = await this.#chooseIdempotencyKey(query, options);
    const { body, headers } = await send(this.#connection, {
      method: "POST",
      path: "/v1/search",
      body: { query, n, category },
      headers: searchHeaders(options),
      idempotencyKey,
      mayCharge: true,
      isIdempotent: true,
      listName: "results",
      signal,
      timeoutMs,
      waitSeconds: wait,
    });
    return {
      ...(body as SearchResponse),
      meta: readMeta(headers, idempotencyKey),
    };
  }

  /** Chosen once per call: a retry after the end of the `repeat` window uses the key of the first attempt. */
  async #chooseIdempotencyKey(query: string, { n, category, idempotencyKey, repeat }: SearchOptions): Promise<string> {
    if (repeat === undefined) return checkIdempotencyKey(idempotencyKey ?? crypto.randomUUID());
    check(idempotencyKey === undefined, "Pass either repeat or idempotencyKey, not both.");
    return deriveRepeatKey(this.#repeatSecret, { query, n, category }, repeat, Date.now());
  }

  /** Returns the wallet and its balance. */
  wallet(options?: CallOptions): Promise<Wallet> {
    return this.#requests.get("/v1/wallet", {}, options);
  }

  /** Returns the balance, how many days it lasts, and the searches of the last 24 hours. Default mode: "live". */
  summary({ mode, ...options }: CallOptions & { mode?: WalletSummary["mode"] } = {}): Promise<WalletSummary> {
    return this.#requests.get("/v1/wallet/summary", { mode }, options);
  }

  /** Lists ledger entries, newest first. Pass `requestId` to check whether a search was charged. */
  entries({ requestId, from, to, kind, limit, ...options }: EntriesOptions = {}): Pages<Entry> {
    const query = { request_id: requestId, from: toIsoString(from), to: toIsoString(to), kind, limit };
    return this.#requests.list("/v1/wallet/entries", "entries", query, options);
  }

  /** Returns the signed receipt of a search, by its request id. Store it, and check it with `verifyReceipt`. */
  receipt(requestId: string, options?: CallOptions): Promise<Receipt> {
    return this.#requests.get(`${toPath("searches", requestId)}/receipt`, {}, options);
  }

  /** Returns the public keys of receipts and roots. Store them, and compare them when they change. */
  jwks(options?: CallOptions): Promise<Jwks> {
    return this.#requests.get("/.well-known/jwks.json", {}, options);
  }

  /** Returns all ledger entries as CSV, for `verifyStatement` and for your own records. Default: the last 30 days. */
  exportEntries({ from, to, ...options }: CallOptions & TimeRange = {}): Promise<string> {
    const query = { from: toIsoString(from), to: toIsoString(to) };
    return this.#requests.getText("/v1/wallet/entries.csv", "text/csv", query, options);
  }

  /** Returns the proof for `verifyStatement`. `until`: only hours that ended by this time. Default: now. */
  proof({ until, ...options }: CallOptions & { until?: Date | string } = {}): Promise<WalletProof> {
    return this.#requests.get("/v1/wallet/proof", { until: toIsoString(until) }, options);
  }

  /** Lists the numbers of searches, replays and refusals, and the charges, by hour or day. */
  usage({
    from,
    to,
    by,
    group,
    for: endUser,
    limit,
    ...options
  }: UsageOptions = {}): Pages<UsagePeriod, Omit<UsageReport, "usage" | "next_cursor">> {
    check(group === undefined || Array.isArray(group), 'group must be a list such as ["key"].');
    const query = { from: toIsoString(from), to: toIsoString(to), by, group: group?.join(","), for: endUser, limit };
    return this.#requests.list("/v1/usage", "usage", query, options);
  }

  /** Returns this client's API key and the limits that apply to it. */
  key(options?: CallOptions): Promise<CurrentKey> {
    return this.#requests.get("/v1/key", {}, options);
  }
}

const clientOptions: OptionNames<PennyblackOptions> = {
  apiKey: true,
  baseUrl: true,
  timeoutMs: true,
  maxRetries: true,
  repeatSecret: true,
  fetch: true,
  onRequest: true,
  onResponse: true,
};

const searchOptions: OptionNames<Omit<SearchOptions, keyof CallOptions>> = {
  n: true,
  category: true,
  run: true,
  for: true,
  idempotencyKey: true,
  repeat: true,
  wait: true,
  explain: true,
  registries: true,
};

// `fetch` rejects an invalid header with the same TypeError as a failed connection, so validate first.
function searchHeaders({ run, for: endUser, wait, explain, registries }: SearchOptions): Record<string, string> {
  const isWait = wait === undefined || (Number.isInteger(wait) && wait >= 1 && wait <= 9);
  check(isWait, "wait must be an integer from 1 to 9 (seconds).");
  const isEndUser = endUser === undefined || isText(endUser, /^[\w.:@/+=|-]{1,64}$/);
  check(isEndUser, "for must have 1 to 64 letters, digits or any of _.:@/+=|-");
  return {
    ...(run !== undefined && { "search-run": runHeader(run) }),
    ...(endUser !== undefined && { "search-for": endUser }),
    ...(explain && { "rank-explain": "1" }),
    ...(registries === false && { "rank-registries": "0" }),
  };
}

const runExample = '{"id": "my-task", "max": "0.50", "ttl": 3600}';

function runHeader(run: NonNullable<SearchOptions["run"]>): string {
  const { id, max, ttl } = Object(run) as Partial<typeof run>;
  const isNamed = isText(id, /^[\w.:@/-]{1,128}$/);
  // Not a number: 0.1 + 0.2 is not 0.3.
  const isLimited = isText(max, /^\d{1,9}(\.\d{1,6})?$/);
  const isValid = isNamed && isLimited && (ttl === undefined || Number.isInteger(ttl));
  check(isValid, `run must look like ${runExample}, with max as a string and ttl in seconds.`);
  checkNames(run, ["id", "max", "ttl"], " of run");
  return `${id}; max=${max}${ttl === undefined ? "" : `; ttl=${ttl}`}`;
}
