// The interface of a search provider.
//
// An adapter is two pure functions, `request` and `response`, and its capabilities as data. It opens no connection, reads
// no clock and keeps no state. `call-provider.ts` makes the calls, so that deadlines, size limits and the rule that
// credentials are sent only to the configured host are enforced in one place.

import type { CostCap } from "../lib/cost-cap.ts";
import type { SourcePolicy } from "../lib/source-policy.ts";

export type Category = "programming" | "research" | "gov" | "business";

/** A validated search. */
export interface UpstreamSearch {
  query: string;
  n: number;
  category?: Category | undefined;
  /**
   * The source policy; every result is checked afterwards. An adapter with domain filters gets as much of it as they accept: the
   * domains of `only`, or else some or all of `block`. The others get none.
   */
  sources?: SourcePolicy | undefined;
}

/** One result from the upstream, before any cleaning: only the types are checked. */
export interface Hit {
  title: string;
  url: string;
  snippet: string;
}

export interface UpstreamCall {
  method: "GET" | "POST";
  url: string;
  headers: Record<string, string>;
  body?: string | undefined;
}

/** A complete response. Header names are lower case. */
export interface UpstreamReply {
  status: number;
  headers: Record<string, string>;
  body: string;
}

export type FailureReason =
  | "status" // any other 4xx or 5xx
  | "credential" // the operator's credential was rejected
  | "account_empty" // the operator's account has no credit left
  | "throttled" // rate limited
  | "timeout" // our deadline passed
  | "unreachable" // refused, reset, DNS, TLS: no status was received
  | "invalid_response" // a response that is not a search result
  | "aborted"; // the caller disconnected

export type ParsedReply =
  | { ok: true; hits: Hit[]; more: boolean }
  | { ok: false; reason: FailureReason; retryAfterSeconds?: number | undefined };

/** Maximum length in code points, and in words separated by white space. */
export interface QueryLimit {
  characters: number;
  words?: number;
}

export interface DomainFilter {
  only: number;
  block: number;
}

/** A configured provider. */
export interface Provider {
  name: string;
  /** The vendor's API documentation. */
  documentation: string;
  queryLimit: QueryLimit;
  /** Maximum number of results per request. */
  resultsPerPage: number;
  maxPages: number;
  /** Cost of a search for `n` results to the operator, in micro-USD. */
  costMicros: (n: number) => bigint;
  /**
   * The most domains that a request can restrict its results to, and exclude, each with its subdomains. Undefined without such
   * parameters: operators in the query do not count, because a query can contain others.
   */
  domainFilter?: DomainFilter;
  /** Its empty answers can hide failures, so another upstream is queried before an empty result is returned. */
  emptyIsUnreliable?: boolean;
  /** `page` counts from 1. */
  request(search: UpstreamSearch, page: number): UpstreamCall;
  /** Must not throw for any body. */
  response(reply: UpstreamReply): ParsedReply;
}

/** A provider as the operator configured it. */
export interface Upstream {
  name: string;
  /** In the order in which they are tried. */
  keys: readonly [UpstreamKey, ...UpstreamKey[]];
  cap?: CostCap | undefined;
}

export interface UpstreamKey {
  /** The first and last four characters, for operators. Undefined if it is not the key of an account with a vendor. */
  label: string | undefined;
  /** Sends this key. In all other respects, the providers of all keys are the same. */
  provider: Provider;
}

/**
 * The export of a provider's file: its name and the settings that enable it. For `brave` this is PENNYBLACK_BRAVE_KEY, for
 * `searxng` PENNYBLACK_SEARXNG_URL.
 */
export interface Adapter {
  name: string;
  /** A provider without a default URL is enabled by setting its URL. */
  defaultUrl?: string;
  /** A provider that requires a key is enabled by setting the key. */
  key: "required" | "optional" | "none";
  /** Default names of the three result fields, for upstreams where they are configurable. */
  defaultFields?: FieldNames;
  create(settings: AdapterSettings): Provider;
}

export interface AdapterSettings {
  /** Without a trailing slash. */
  url: string;
  /** Empty only if `key` is not required. */
  key: string;
  fields: FieldNames;
}

export interface FieldNames {
  title: string;
  url: string;
  snippet: string;
}

/** `hits` are in the upstream's order and may be more than `n`; ranking selects. */
export interface UpstreamSuccess {
  ok: true;
  provider: string;
  hits: Hit[];
  tookMs: number;
}

export interface UpstreamFailure {
  ok: false;
  provider: string;
  reason: FailureReason;
  /** Present whenever a final status was received, even if the rest of the response was unusable. */
  upstreamStatus?: number | undefined;
  /** As sent by the upstream, not clamped. */
  retryAfterSeconds?: number | undefined;
  /** For a timeout: `deadlineMs` of the call passed, rather than a shorter internal limit such as that for connecting. */
  isDeadline?: boolean;
  /**
   * The reason no call was sent: an open circuit, with the failure of an earlier call, or the operator's cost cap. `retryAfterSeconds`
   * is the time until the next call.
   */
  blockedBy?: "circuit" | "cap";
  tookMs: number;
}

export type UpstreamAnswer = UpstreamSuccess | UpstreamFailure;

export interface QueryOptions {
  /** Aborted when the caller disconnects. */
  signal: AbortSignal;
  /** Maximum duration of the whole call, including all pages. */
  deadlineMs: number;
  /** Called before each upstream call. The returned function is called with its outcome. */
  startAttempt?: ((upstream: string) => (outcome: string, upstreamStatus?: number) => void) | undefined;
  /** Called once, when the first request of the call is sent. From then on the upstream may charge for the call. */
  onSent?: (() => void) | undefined;
}

export type QueryUpstream = (search: UpstreamSearch, options: QueryOptions) => Promise<UpstreamAnswer>;
