// The contract between us and a search provider. It knows no implementer.
//
// An adapter is two pure functions, `request` and `response`, and its capabilities as data. It opens no connection,
// reads no clock and keeps no state: `call-provider.ts` does the talking, so that deadlines, size limits and the rule
// "a credential never leaves for another host" are kept in one place for every upstream.

export type Category = "programming" | "research" | "gov" | "business";

/** A search that has passed validation; nobody below checks it again. */
export interface UpstreamSearch {
  query: string;
  n: number;
  category?: Category | undefined;
}

/** One result as the upstream wrote it, before any hygiene: only the types are certain. */
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

/** A complete answer. Header names are lower case. */
export interface UpstreamReply {
  status: number;
  headers: Record<string, string>;
  body: string;
}

export type FailureReason =
  | "status" // it answered with a 4xx or 5xx that is about nothing of ours
  | "credential" // it refuses the operator's credential
  | "account_empty" // the operator's account with it has run dry
  | "throttled" // it asks us to slow down
  | "timeout" // a deadline of ours passed
  | "unreachable" // refused, reset, DNS, TLS: no status was received
  | "invalid_response" // it answered, but not with anything we can call a search result
  | "aborted"; // whoever asked has gone

export type ParsedReply =
  | { ok: true; hits: Hit[]; more: boolean }
  | { ok: false; reason: FailureReason; retryAfterSeconds?: number | undefined };

/** How long a query may be, in code points and in words apart by white space. */
export interface QueryLimit {
  characters: number;
  words?: number;
}

/** A provider that an operator has switched on. */
export interface Provider {
  name: string;
  /** The vendor's page that the adapter follows. */
  documentation: string;
  longestQuery: QueryLimit;
  /** How many results one request can bring. */
  resultsPerPage: number;
  mostPages: number;
  /** What a search for `n` results costs the operator, in micro-USD. */
  costMicros: (n: number) => bigint;
  /** Its empty answers have been seen to hide failures: another upstream is asked before "nothing" is believed. */
  emptyNeedsProof?: boolean;
  /** `page` counts from 1. */
  request(search: UpstreamSearch, page: number): UpstreamCall;
  /** Must not throw, whatever the body says. */
  response(reply: UpstreamReply): ParsedReply;
}

/**
 * What the file of a provider exports: its name and what an operator must say to switch it on. The settings of `brave`
 * are PENNYBLACK_BRAVE_KEY and PENNYBLACK_BRAVE_URL.
 */
export interface Adapter {
  name: string;
  /** Where it is reached unless the operator says otherwise. One without a usual place is switched on by its URL. */
  usualUrl?: string;
  /** One that needs a key is switched on by it. */
  key: "required" | "optional" | "none";
  /** What an index calls our three fields, for an upstream where that is the operator's choice. */
  usualFields?: FieldNames;
  create(settings: AdapterSettings): Provider;
}

export interface AdapterSettings {
  /** Without a trailing slash. */
  url: string;
  /** Empty only where `key` is not required. */
  key: string;
  fields: FieldNames;
}

export interface FieldNames {
  title: string;
  url: string;
  snippet: string;
}

/** `hits` keeps the upstream's order and may hold more than `n`: ranking chooses. */
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
  /** Present whenever a final status was received, also when what followed it was useless. */
  upstreamStatus?: number | undefined;
  /** As the upstream said it, not yet clamped. */
  retryAfterSeconds?: number | undefined;
  tookMs: number;
}

export type UpstreamAnswer = UpstreamSuccess | UpstreamFailure;

export interface AskOptions {
  /** Fires when the caller has gone. */
  signal: AbortSignal;
  /** How long the whole answer may take, all pages included, counted from now. */
  deadlineMs: number;
  /** Called before each upstream is asked; what it returns, with what came of it. */
  startAttempt?: ((upstream: string) => (outcome: string, upstreamStatus?: number) => void) | undefined;
}

export type AskUpstream = (search: UpstreamSearch, options: AskOptions) => Promise<UpstreamAnswer>;
