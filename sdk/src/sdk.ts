// The client. Every method is one call of the API; what a call that fails throws is in errors.ts.

import type {
  Entry,
  Key,
  KeyChanges,
  MadeKey,
  NewKey,
  SearchAnswer,
  SearchResult,
  TopUp,
  UsageLine,
  Wallet,
} from "./answers.ts";
import { type Page, Pages } from "./pages.ts";
import { readMeta } from "./read-meta.ts";
import { type Call, type Connection, send } from "./send.ts";

// oxlint-disable-next-line oxc/no-barrel-file -- A package has one door, and types load nothing.
export type * from "./answers.ts";
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
export type { SearchMeta } from "./read-meta.ts";
export { verifyWebhook, WebhookError, type WebhookEvent, type WebhookHeaders } from "./verify-webhook.ts";

export interface PennyblackOptions {
  apiKey: string;
  /** Where the API is, such as "https://search.example.com". */
  baseUrl: string;
  /** How long a call may take in all, retries included: 60,000. */
  timeoutMs?: number;
  /** How often a call is sent again when that is safe: 3. */
  maxRetries?: number;
  fetch?: typeof fetch;
}

export interface CallOptions {
  signal?: AbortSignal;
  timeoutMs?: number;
}

export type Category = "programming" | "research" | "gov" | "business";

export interface SearchOptions extends CallOptions {
  /** How many results, 1 to 20; 10 if left out. */
  n?: number;
  category?: Category;
  /** A budget that all searches with the same id share. `max` is in USD; `ttl` in seconds, 3,600 if left out. */
  run?: { id: string; max: string; ttl?: number };
  /** Made up if left out. Give your own to find an answer again after this process has ended. */
  idempotencyKey?: string;
  /** Seconds, 1 to 9, after which the API gives up, charging nothing. */
  wait?: number;
  /** Ask why each result stands where it does. */
  explain?: boolean;
}

export interface UsageOptions extends CallOptions {
  from?: Date | string;
  to?: Date | string;
  by?: "hour" | "day";
  group?: ("key" | "category" | "outcome")[];
}

type Query = Record<string, string | number | undefined>;

export class Pennyblack {
  readonly #connection: Connection;

  constructor({ apiKey, baseUrl, timeoutMs = 60_000, maxRetries = 3, fetch: ownFetch }: PennyblackOptions) {
    if (typeof apiKey !== "string" || !/^[\x21-\x7e]+$/.test(apiKey)) throw new TypeError("apiKey is not an API key.");
    const address = new URL(baseUrl);
    if (!/^https?:$/.test(address.protocol)) throw new TypeError("baseUrl begins with https:// or http://.");
    this.#connection = {
      apiKey,
      baseUrl: address.origin + address.pathname.replace(/\/+$/, ""),
      timeoutMs,
      maxRetries,
      // Looked up at each call, since tests and tracers put their own in its place.
      fetch: ownFetch ?? ((input, init) => fetch(input, init)),
    };
  }

  /** One search for 0.01 USD, charged only if it answers. Sent again safely: no retry pays twice. */
  async search(query: string, options: SearchOptions = {}): Promise<SearchAnswer> {
    const { n, category, idempotencyKey = crypto.randomUUID(), signal, timeoutMs } = options;
    const { body, headers } = await send(this.#connection, {
      method: "POST",
      path: "/v1/search",
      body: { query, n, category },
      headers: searchHeaders(options),
      idempotencyKey: checkIdempotencyKey(idempotencyKey),
      mayCharge: true,
      isRepeatable: true,
      signal,
      timeoutMs,
    });
    return {
      ...(body as { query: string; n: number; results: SearchResult[] }),
      meta: readMeta(headers, idempotencyKey),
    };
  }

  /** What the wallet holds. */
  wallet(options?: CallOptions): Promise<Wallet> {
    return this.#get("/v1/wallet", {}, options);
  }

  /** Every movement of money, newest first; with `requestId`, those of one search: "was I charged?" */
  entries({ requestId, limit, ...options }: CallOptions & { requestId?: string; limit?: number } = {}): Pages<Entry> {
    return this.#list("/v1/wallet/entries", "entries", { request_id: requestId, limit }, options);
  }

  /** How many searches there were, and what they cost, by hour or day. */
  usage({ from, to, by, group, ...options }: UsageOptions = {}): Pages<UsageLine> {
    const query = { from: toText(from), to: toText(to), by, group: group?.join(",") };
    return this.#list("/v1/usage", "usage", query, options);
  }

  /** What the key of this client is and may do. */
  key(options?: CallOptions): Promise<Key> {
    return this.#get("/v1/key", {}, options);
  }

  /** The keys of the wallet, for a management key. */
  readonly keys = {
    list: ({ limit, ...options }: CallOptions & { limit?: number } = {}): Pages<Key> =>
      this.#list("/v1/keys", "keys", { limit }, options),
    get: (id: string, options?: CallOptions): Promise<Key> => this.#get(keyPath(id), {}, options),
    /** The answer holds the key itself, this once. Not sent again if no answer comes. */
    create: (key: NewKey, options?: CallOptions): Promise<MadeKey> =>
      this.#change({ method: "POST", path: "/v1/keys", body: key, isRepeatable: false, ...options }),
    update: (id: string, changes: KeyChanges, options?: CallOptions): Promise<Key> =>
      this.#change({ method: "PATCH", path: keyPath(id), body: changes, isRepeatable: true, ...options }),
    /** A new key in the place of this one, which works for `graceSeconds` more. */
    rotate: (id: string, { graceSeconds, ...options }: CallOptions & { graceSeconds: number }): Promise<MadeKey> => {
      const body = { grace_seconds: graceSeconds };
      return this.#change({ method: "POST", path: `${keyPath(id)}/rotate`, body, isRepeatable: false, ...options });
    },
    revoke: (id: string, options?: CallOptions): Promise<Key> =>
      this.#change({ method: "DELETE", path: keyPath(id), isRepeatable: true, ...options }),
  };

  /** Money into the wallet, for a management key. */
  readonly topUps = {
    /** `amount` is in USD, such as "20.00". The wallet's owner pays at the `checkout_url` of the answer. */
    create: (
      { idempotencyKey = crypto.randomUUID(), ...body }: { amount: string; idempotencyKey?: string },
      options?: CallOptions,
    ): Promise<TopUp> =>
      this.#change({
        method: "POST",
        path: "/v1/wallet/top-ups",
        body,
        idempotencyKey: checkIdempotencyKey(idempotencyKey),
        isRepeatable: true,
        ...options,
      }),
    list: ({ limit, ...options }: CallOptions & { limit?: number } = {}): Pages<TopUp> =>
      this.#list("/v1/wallet/top-ups", "top_ups", { limit }, options),
    get: (id: string, options?: CallOptions): Promise<TopUp> =>
      this.#get(`/v1/wallet/top-ups/${encodeURIComponent(id)}`, {}, options),
  };

  async #change<Body>(call: Call): Promise<Body> {
    return (await send(this.#connection, call)).body as Body;
  }

  #get<Body>(path: string, query: Query, options: CallOptions = {}): Promise<Body> {
    return this.#change({ method: "GET", path: path + toQuery(query), isRepeatable: true, ...options });
  }

  #list<Item>(path: string, name: string, query: Query, options: CallOptions): Pages<Item> {
    return new Pages<Item>(async (cursor): Promise<Page<Item>> => {
      const body = await this.#get<Record<string, unknown>>(path, { ...query, cursor }, options);
      return { items: body[name] as Item[], nextCursor: body["next_cursor"] as string | null };
    });
  }
}

function searchHeaders({ run, wait, explain }: SearchOptions): Record<string, string> {
  // Checked here, because a header that cannot be sent looks like a connection that failed.
  if (run && !(/^[\w.:@/-]{1,128}$/.test(run.id) && /^\d{1,9}(\.\d{1,6})?$/.test(run.max))) {
    throw new TypeError('run looks like { id: "my-task", max: "0.50", ttl: 3600 }, with max as a string.');
  }
  if (wait !== undefined && !(Number.isInteger(wait) && wait >= 1 && wait <= 9)) {
    throw new TypeError("wait is a whole number of seconds from 1 to 9.");
  }
  return {
    ...(run && { "search-run": `${run.id}; max=${run.max}${run.ttl === undefined ? "" : `; ttl=${run.ttl}`}` }),
    ...(wait !== undefined && { prefer: `wait=${wait}` }),
    ...(explain && { "rank-explain": "1" }),
  };
}

function checkIdempotencyKey(key: string): string {
  if (!/^[\x20-\x7e]{1,255}$/.test(key)) throw new TypeError("idempotencyKey is 1 to 255 printable ASCII characters.");
  return key;
}

function keyPath(id: string): string {
  return `/v1/keys/${encodeURIComponent(id)}`;
}

function toText(moment: Date | string | undefined): string | undefined {
  return moment instanceof Date ? moment.toISOString() : moment;
}

function toQuery(query: Query): string {
  const given = new URLSearchParams();
  for (const [name, value] of Object.entries(query)) if (value !== undefined) given.set(name, String(value));
  return given.size === 0 ? "" : `?${given.toString()}`;
}
