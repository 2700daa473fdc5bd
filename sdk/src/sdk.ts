// The API client. Each method makes one API call; errors.ts lists the errors it can throw.

import { type Page, Pages } from "./pages.ts";
import { readMeta } from "./read-meta.ts";
import type {
  CreatedKey,
  Entry,
  Key,
  KeyChanges,
  NewKey,
  Receipt,
  SearchAnswer,
  SearchResult,
  TopUp,
  UsageLine,
  Wallet,
} from "./responses.ts";
import { type Call, type Connection, send } from "./send.ts";
import type { WalletProof } from "./verify/evidence.ts";
import type { Jwks } from "./verify/verify-jws.ts";

export {
  AuthenticationError,
  BalanceError,
  BudgetError,
  ConnectionError,
  type ErrorCode,
  PennyblackError,
  PermissionError,
  type ProblemCode,
  RateLimitError,
  RequestError,
  ServerError,
  UpstreamError,
} from "./errors.ts";
export type { Page, Pages } from "./pages.ts";
export type { KeyBudgetMeta, SearchMeta } from "./read-meta.ts";
// oxlint-disable-next-line oxc/no-barrel-file -- This is the package entry point, and types cost nothing at runtime.
export type * from "./responses.ts";

export interface PennyblackOptions {
  apiKey: string;
  /** The base URL of your Pennyblack server, such as "https://search.example.com". */
  baseUrl: string;
  /** Time limit for a call, including retries. Default: 60,000. */
  timeoutMs?: number;
  /** Maximum number of retries, when retrying is safe. Default: 3. */
  maxRetries?: number;
  fetch?: typeof fetch;
}

export interface CallOptions {
  signal?: AbortSignal;
  timeoutMs?: number;
}

export type Category = "programming" | "research" | "gov" | "business";

export interface SearchOptions extends CallOptions {
  /** Number of results, 1 to 20. Default: 10. */
  n?: number;
  category?: Category;
  /** A budget shared by all searches with the same id. `max` is in USD, `ttl` in seconds (default 3,600). */
  run?: { id: string; max: string; ttl?: number };
  /** Random by default. Set your own to be able to retry after this process exits. */
  idempotencyKey?: string;
  /** The API gives up after this many seconds (1 to 9) without charging you. */
  wait?: number;
  /** Include the ranking explanation in `meta.explanation`. */
  explain?: boolean;
}

interface TimeRange {
  from?: Date | string;
  to?: Date | string;
}

export interface UsageOptions extends CallOptions, TimeRange {
  by?: "hour" | "day";
  group?: ("key" | "category" | "outcome")[];
}

type Query = Record<string, string | number | undefined>;

export class Pennyblack {
  readonly #connection: Connection;

  constructor({ apiKey, baseUrl, timeoutMs = 60_000, maxRetries = 3, fetch: customFetch }: PennyblackOptions) {
    if (typeof apiKey !== "string" || !/^[\x21-\x7e]+$/.test(apiKey)) throw new TypeError("apiKey is not valid.");
    const address = new URL(baseUrl);
    if (!/^https?:$/.test(address.protocol)) throw new TypeError("baseUrl must start with https:// or http://.");
    this.#connection = {
      apiKey,
      baseUrl: address.origin + address.pathname.replace(/\/+$/, ""),
      timeoutMs,
      maxRetries,
      // Resolve the global fetch on each call, because tests and tracers replace it.
      fetch: customFetch ?? ((input, init) => fetch(input, init)),
    };
  }

  /** Searches the web for 0.01 USD, charged only on success. Retries are never charged twice. */
  async search(query: string, options: SearchOptions = {}): Promise<SearchAnswer> {
    const { n, category, idempotencyKey = crypto.randomUUID(), signal, timeoutMs } = options;
    const { body, headers } = await send(this.#connection, {
      method: "POST",
      path: "/v1/search",
      body: { query, n, category },
      headers: searchHeaders(options),
      idempotencyKey: checkIdempotencyKey(idempotencyKey),
      mayCharge: true,
      isIdempotent: true,
      signal,
      timeoutMs,
    });
    return {
      ...(body as { query: string; n: number; results: SearchResult[] }),
      meta: readMeta(headers, idempotencyKey),
    };
  }

  /** Returns the wallet and its balance. */
  wallet(options?: CallOptions): Promise<Wallet> {
    return this.#get("/v1/wallet", {}, options);
  }

  /** Lists ledger entries, newest first. Pass `requestId` to check whether a search was charged. */
  entries({ requestId, limit, ...options }: CallOptions & { requestId?: string; limit?: number } = {}): Pages<Entry> {
    return this.#list("/v1/wallet/entries", "entries", { request_id: requestId, limit }, options);
  }

  /** Returns the signed receipt of a search, by its request id. Store it, and check it with `verifyReceipt`. */
  receipt(requestId: string, options?: CallOptions): Promise<Receipt> {
    return this.#get(`/v1/searches/${encodeURIComponent(requestId)}/receipt`, {}, options);
  }

  /** Returns the public keys of receipts and roots. Store them, and compare them when they change. */
  jwks(options?: CallOptions): Promise<Jwks> {
    return this.#get("/.well-known/jwks.json", {}, options);
  }

  /** Returns all ledger entries as CSV, for `verifyStatement` and for your own records. Default: the last 30 days. */
  exportEntries({ from, to, ...options }: CallOptions & TimeRange = {}): Promise<string> {
    const path = `/v1/wallet/entries.csv${toQueryString({ from: toIsoString(from), to: toIsoString(to) })}`;
    return this.#change({ method: "GET", path, isIdempotent: true, isText: true, ...options });
  }

  /** Returns the proof for `verifyStatement`. `until`: only hours that ended by this time. Default: now. */
  proof({ until, ...options }: CallOptions & { until?: Date | string } = {}): Promise<WalletProof> {
    return this.#get("/v1/wallet/proof", { until: toIsoString(until) }, options);
  }

  /** Lists search counts and charges by hour or day. */
  usage({ from, to, by, group, ...options }: UsageOptions = {}): Pages<UsageLine> {
    const query = { from: toIsoString(from), to: toIsoString(to), by, group: group?.join(",") };
    return this.#list("/v1/usage", "usage", query, options);
  }

  /** Returns this client's API key and its limits. */
  key(options?: CallOptions): Promise<Key> {
    return this.#get("/v1/key", {}, options);
  }

  /** Manages the wallet's API keys. Requires a management key. */
  readonly keys = {
    list: ({ limit, ...options }: CallOptions & { limit?: number } = {}): Pages<Key> =>
      this.#list("/v1/keys", "keys", { limit }, options),
    get: (id: string, options?: CallOptions): Promise<Key> => this.#get(keyPath(id), {}, options),
    /** Creates a key. Only this response contains the secret. Not retried if no response arrives. */
    create: (key: NewKey, options?: CallOptions): Promise<CreatedKey> =>
      this.#change({ method: "POST", path: "/v1/keys", body: key, isIdempotent: false, ...options }),
    update: (id: string, changes: KeyChanges, options?: CallOptions): Promise<Key> =>
      this.#change({ method: "PATCH", path: keyPath(id), body: changes, isIdempotent: true, ...options }),
    /** Creates a replacement. The old key keeps working for `graceSeconds`. Not retried if no response arrives. */
    rotate: (id: string, { graceSeconds, ...options }: CallOptions & { graceSeconds: number }): Promise<CreatedKey> => {
      const body = { grace_seconds: graceSeconds };
      return this.#change({ method: "POST", path: `${keyPath(id)}/rotate`, body, isIdempotent: false, ...options });
    },
    revoke: (id: string, options?: CallOptions): Promise<Key> =>
      this.#change({ method: "DELETE", path: keyPath(id), isIdempotent: true, ...options }),
  };

  /** Adds money to the wallet. Requires a management key. */
  readonly topUps = {
    /** Starts a top-up. `amount` is in USD, such as "20.00"; pay at the returned `checkout_url`. */
    create: (
      { idempotencyKey = crypto.randomUUID(), ...body }: { amount: string; idempotencyKey?: string },
      options?: CallOptions,
    ): Promise<TopUp> =>
      this.#change({
        method: "POST",
        path: "/v1/wallet/top-ups",
        body,
        idempotencyKey: checkIdempotencyKey(idempotencyKey),
        isIdempotent: true,
        ...options,
      }),
    list: ({ limit, ...options }: CallOptions & { limit?: number } = {}): Pages<TopUp> =>
      this.#list("/v1/wallet/top-ups", "top_ups", { limit }, options),
    get: (id: string, options?: CallOptions): Promise<TopUp> =>
      this.#get(`/v1/wallet/top-ups/${encodeURIComponent(id)}`, {}, options),
    receipt: (id: string, options?: CallOptions): Promise<Receipt> =>
      this.#get(`/v1/wallet/top-ups/${encodeURIComponent(id)}/receipt`, {}, options),
  };

  async #change<Body>(call: Call): Promise<Body> {
    return (await send(this.#connection, call)).body as Body;
  }

  #get<Body>(path: string, query: Query, options: CallOptions = {}): Promise<Body> {
    return this.#change({ method: "GET", path: path + toQueryString(query), isIdempotent: true, ...options });
  }

  #list<Item>(path: string, name: string, query: Query, options: CallOptions): Pages<Item> {
    return new Pages<Item>(async (cursor): Promise<Page<Item>> => {
      const body = await this.#get<Record<string, unknown>>(path, { ...query, cursor }, options);
      return { items: body[name] as Item[], nextCursor: body["next_cursor"] as string | null };
    });
  }
}

function searchHeaders({ run, wait, explain }: SearchOptions): Record<string, string> {
  // `fetch` rejects an invalid header with the same TypeError as a failed connection, so validate first.
  if (run && !(/^[\w.:@/-]{1,128}$/.test(run.id) && /^\d{1,9}(\.\d{1,6})?$/.test(run.max))) {
    throw new TypeError('run must look like { id: "my-task", max: "0.50", ttl: 3600 }, with max as a string.');
  }
  if (wait !== undefined && !(Number.isInteger(wait) && wait >= 1 && wait <= 9)) {
    throw new TypeError("wait must be an integer from 1 to 9 (seconds).");
  }
  return {
    ...(run && { "search-run": `${run.id}; max=${run.max}${run.ttl === undefined ? "" : `; ttl=${run.ttl}`}` }),
    ...(wait !== undefined && { prefer: `wait=${wait}` }),
    ...(explain && { "rank-explain": "1" }),
  };
}

function checkIdempotencyKey(key: string): string {
  if (!/^[\x20-\x7e]{1,255}$/.test(key)) throw new TypeError("idempotencyKey must be 1-255 printable ASCII chars.");
  return key;
}

function keyPath(id: string): string {
  return `/v1/keys/${encodeURIComponent(id)}`;
}

function toIsoString(time: Date | string | undefined): string | undefined {
  return time instanceof Date ? time.toISOString() : time;
}

function toQueryString(query: Query): string {
  const params = new URLSearchParams();
  for (const [name, value] of Object.entries(query)) if (value !== undefined) params.set(name, String(value));
  return params.size === 0 ? "" : `?${params.toString()}`;
}
