import { consoleProblems } from "./console-problems.ts";
import type { ProblemRow } from "./problem-row.ts";

// The table of refusals: the only source of our error answers, of their pages under /problems, of the errors in
// openapi.json and of the tests that ask for each one. `detail` is what a caller reads when nothing more
// particular is known; it says what happened, that nothing was charged where that is in doubt, and what to do.

export const problems = {
  malformed_json: {
    status: 400,
    title: "The body is not valid JSON",
    retryable: false,
    detail: "The body could not be read as UTF-8 JSON. Nothing was charged. Send one JSON object.",
    page: "The request body is empty, is cut short, is not UTF-8 or breaks JSON's grammar. Build it with your language's JSON encoder instead of by hand.",
    members: { errors: [{ pointer: "#", code: "malformed_json", detail: "not valid JSON" }] },
  },
  invalid_request: {
    status: 400,
    title: "The request is not valid",
    retryable: false,
    detail: "The request breaks a rule; `errors` names each place. Nothing was charged. Correct it and send it again.",
    page: "A field is missing, unknown, of the wrong type or out of bounds. We never coerce, clamp or ignore a value, because a typo must not cost a cent. `errors` lists each fault with a JSON Pointer to the field. The body takes `query` (required), `n` (1 to 20) and `category` (programming, research, gov, business), and no other field.",
    members: { errors: [{ pointer: "#/n", code: "out_of_range", detail: "must be an integer from 1 to 20" }] },
  },
  query_too_long: {
    status: 400,
    title: "The query is too long",
    retryable: false,
    detail: "The query is longer than can be carried. Nothing was charged. Shorten it; we never cut a query silently.",
    page: "A query has 1 to 2,048 characters, and each upstream has a limit of its own, often 400. If no configured upstream can carry the query, it is refused rather than cut. `max_characters` says how many fit, and `max_words` how many words where an upstream counts those.",
    members: {
      max_characters: 2048,
      errors: [{ pointer: "#/query", code: "too_long", detail: "at most 2048 characters" }],
    },
  },
  conflicting_credentials: {
    status: 400,
    title: "Two different API keys were sent",
    retryable: false,
    detail:
      "The request carries two different keys, and we do not guess whose money to spend. Nothing was charged. Send one key.",
    page: "`Authorization: Bearer` and `x-api-key` (or repeated lines of either) hold different keys. Either header alone works; both with the same key work too.",
    members: { errors: [{ pointer: "#", code: "conflicting_credentials", detail: "send one key" }] },
  },
  authentication_required: {
    status: 401,
    title: "An API key is required",
    retryable: false,
    detail: "No API key was sent. Send `Authorization: Bearer <API_KEY>` or `x-api-key: <API_KEY>`.",
    page: "The request has no key in either header. A key in the URL is never read.",
    headers: { "www-authenticate": 'Bearer realm="search"' },
  },
  api_key_invalid: {
    status: 401,
    title: "The API key is not valid",
    retryable: false,
    detail: "No such API key exists. Check that it was copied whole: it begins with pb_ and has 44 characters.",
    page: "The key is mistyped, cut short, or was never issued here. Its last six characters are a checksum, so a typo is always caught.",
    headers: { "www-authenticate": 'Bearer realm="search", error="invalid_token"' },
  },
  api_key_revoked: {
    status: 401,
    title: "The API key was revoked",
    retryable: false,
    detail: "This API key was revoked and can spend nothing. Nothing was charged. Use another key of your wallet.",
    page: "The key existed and was revoked by its wallet's owner or by the operator. A revoked key cannot spend from the moment its revocation is committed.",
    headers: { "www-authenticate": 'Bearer realm="search", error="invalid_token"' },
  },
  api_key_expired: {
    status: 401,
    title: "The API key has expired",
    retryable: false,
    detail: "This API key's life is over. Nothing was charged. Use another key of your wallet.",
    page: "The key was issued with an end date, which has passed.",
    headers: { "www-authenticate": 'Bearer realm="search", error="invalid_token"' },
  },
  insufficient_balance: {
    status: 402,
    title: "The wallet's balance is too low",
    retryable: false,
    detail:
      "The wallet holds less than the price of a search. Nothing was charged. Top up as `top_up` says, then retry.",
    page: 'A search costs 0.01 USD, paid from a prepaid wallet, and the wallet has less than that. `balance` and `price` are decimal strings in USD. `top_up.url`, also in the `Link` header with `rel="payment"`, is where the wallet\'s owner adds money; where the operator has set up no payments it leads to this page, and the operator adds money with `npm run admin -- wallet top-up`. Retrying without a top-up cannot succeed.',
    members: {
      balance: "0.00",
      price: "0.01",
      currency: "usd",
      top_up: { url: "https://pennyblack.example/top-up", minimum: "0.01", instructions: "Open the address." },
    },
    occurrenceHeaders: { link: '<https://pennyblack.example/top-up>; rel="payment"' },
  },
  balance_reserved: {
    status: 402,
    title: "The balance is set aside for searches in flight",
    retryable: true,
    detail:
      "What is left in the wallet is set aside for searches still running. Nothing was charged. Retry in a second.",
    page: "The wallet has money, but every cent of it is held for searches that have not finished. Those that fail give theirs back. Retry after `Retry-After`, or top up.",
    members: { balance: "0.01", price: "0.01", currency: "usd" },
    retryAfterSeconds: 1,
  },
  insufficient_scope: {
    status: 403,
    title: "The API key may not do this",
    retryable: false,
    detail:
      "This key lacks the scope `required_scope`. Nothing was charged. Search keys search, management keys manage.",
    page: "Keys that begin with pb_live_ or pb_test_ search; keys that begin with pb_mgmt_ read and manage the wallet. `required_scope` names what is missing.",
    members: { required_scope: "search" },
    occurrenceHeaders: { "www-authenticate": 'Bearer realm="search", error="insufficient_scope", scope="search"' },
  },
  ip_not_allowed: {
    status: 403,
    title: "The API key may not be used from this address",
    retryable: false,
    detail:
      "This key is bound to other network addresses. Nothing was charged. Use it from one of them or use another key.",
    page: "The wallet's owner bound the key to a list of networks, and the request came from elsewhere.",
  },
  account_suspended: {
    status: 403,
    title: "The account is suspended",
    retryable: false,
    detail: "The operator suspended this account. Nothing was charged. Write to the operator.",
    page: "All keys of the account are refused until the operator lifts the suspension. The balance is untouched.",
  },
  key_budget_spent: {
    status: 403,
    title: "The API key's budget is spent",
    retryable: false,
    detail:
      "This key may spend no more. Nothing was charged. Wait until `resets_at`, raise the budget or use another key.",
    page: "The wallet has money, but its owner capped what this key may spend in total, per day or per month (UTC). `limit` and `spent` are decimal strings in USD; `resets_at` is null for a total that does not reset. Searches in flight count as spent.",
    members: { limit: "5.00", spent: "5.00", resets_at: "2026-12-01T00:00:00.000Z" },
  },
  run_budget_spent: {
    status: 403,
    title: "The run's budget is spent",
    retryable: false,
    detail:
      "This run may spend no more. Nothing was charged. Finish with what you have, or begin a run with a larger max.",
    page: "The request's `Search-Run` header names a run whose `max` is used up by all who share its name. The first search of a run sets its max; a later, larger max is ignored on purpose.",
    members: { limit: "0.50", spent: "0.50", resets_at: "2026-11-15T13:00:00.000Z" },
  },
  not_found: {
    status: 404,
    title: "There is nothing here",
    retryable: false,
    detail: "This address does not exist. Paths are exact: no trailing slash, lower case. A search is POST /v1/search.",
    page: "The path is unknown, or names something that is not yours. We do not say which.",
  },
  method_not_allowed: {
    status: 405,
    title: "The method is not allowed here",
    retryable: false,
    detail: "This address exists, but not for this method. The `Allow` header lists those it takes.",
    page: "A search is a POST. The `Allow` header of the answer lists the methods of the address.",
    occurrenceHeaders: { allow: "POST" },
  },
  idempotency_in_progress: {
    status: 409,
    title: "A search with this Idempotency-Key is still running",
    retryable: true,
    detail:
      "The first search with this Idempotency-Key has not finished. This request charged nothing. Retry in a second to get its answer.",
    page: "The same key and body are being answered right now. When that search finishes, the same request gets its answer without paying again. If its server died, a retry after 15 seconds takes over.",
    retryAfterSeconds: 1,
  },
  key_limit_reached: {
    status: 409,
    title: "The wallet has as many keys as it may",
    retryable: false,
    detail: "A wallet has at most 1,000 keys that work. Nothing was changed. Revoke one that is no longer used.",
    page: "Keys that are revoked or expired do not count. `GET /v1/keys` lists them with `last_used_at`, which tells the ones nobody uses. A rotation with a grace makes one more key until the grace is over.",
  },
  key_not_active: {
    status: 409,
    title: "The key's life is over",
    retryable: false,
    detail:
      "The key was revoked, has expired or was already rotated, so it cannot be changed like this. Nothing was changed.",
    page: "A revoked key stays as it is. A key that has expired or was rotated before cannot be rotated: the key that took its place names it in `rotated_from`, and that one can. An expired key lives on when its `expires_at` is changed.",
  },
  payload_too_large: {
    status: 413,
    title: "The body is too large",
    retryable: false,
    detail: "The body is larger than 16 KiB. Nothing was charged. A search needs a query, not a document.",
    page: "A body may have 16,384 bytes. `max_bytes` repeats it.",
    members: { max_bytes: 16384 },
  },
  unsupported_media_type: {
    status: 415,
    title: "The body must be uncompressed JSON",
    retryable: false,
    detail: "Send `Content-Type: application/json`, in UTF-8 and without Content-Encoding. Nothing was charged.",
    page: "The content type is missing or is not application/json, its charset is not UTF-8, or the body is compressed.",
    headers: { accept: "application/json" },
  },
  idempotency_key_reused: {
    status: 422,
    title: "This Idempotency-Key was used for another request",
    retryable: false,
    detail:
      "This Idempotency-Key belongs to a search with another body. Nothing was charged. Use a new key for a new search.",
    page: "An Idempotency-Key names one request for 24 hours. The same key with another query, n or category is refused, so that nobody gets the answer to a question they did not ask.",
  },
  rate_limited: {
    status: 429,
    title: "Too many requests",
    retryable: true,
    detail: "This key sends more requests per second than it may. Nothing was charged. Wait as `Retry-After` says.",
    page: "The limit is per key and is stated in the `RateLimit-Policy` header of every answer; `RateLimit` says what is left. A hundred wrong keys in a minute from one address lead here too; keys that worked within the last day go on.",
    occurrenceHeaders: { "ratelimit-policy": '"key";q=1000;w=1', ratelimit: '"key";r=0;t=1' },
    retryAfterSeconds: 1,
  },
  concurrency_limited: {
    status: 429,
    title: "Too many searches at once",
    retryable: true,
    detail:
      "This key has as many searches in flight as it may. Nothing was charged. Retry when one of them has finished.",
    page: "The limit protects everyone from a loop that never waits. Keep fewer searches in flight, or ask for a higher limit.",
    retryAfterSeconds: 1,
  },
  internal_error: {
    status: 500,
    title: "Something broke on our side",
    retryable: true,
    detail: "We failed. Nothing was charged. Retry; if it stays, write to the operator with the request id.",
    page: "A fault of ours. The request id leads the operator to its cause.",
  },
  upstream_error: {
    status: 502,
    title: "The upstream search provider refused the search",
    retryable: true,
    detail:
      "The search failed upstream. Nothing was charged. `retryable` says whether it can succeed later; do not answer from memory.",
    page: "The provider that we asked answered with an error. Its status is forwarded where that tells you the truth; where it would send you after your own key or money (401, 402, 407) or would need headers that would be a lie (405, 426), you get 502. `upstream_status` always has the provider's own status.",
    members: { upstream_status: 503 },
    occurrenceHeaders: { "proxy-status": "search; received-status=503" },
  },
  upstream_invalid_response: {
    status: 502,
    title: "The upstream search provider gave no usable answer",
    retryable: true,
    detail:
      "The upstream's answer could not be used. This is a failure, not an empty result. Nothing was charged. Retry shortly.",
    page: "The provider answered with something that is not a search result: a redirect, the wrong type, broken JSON, too many bytes, or an empty list with a note that its engines failed.",
    members: { upstream_status: 200 },
    occurrenceHeaders: { "proxy-status": "search; error=http_protocol_error; received-status=200" },
    retryAfterSeconds: 2,
  },
  upstream_unreachable: {
    status: 502,
    title: "The upstream search provider could not be reached",
    retryable: true,
    detail: "No connection to the upstream could be made or kept. Nothing was charged. Retry shortly.",
    page: "The connection was refused or reset, or the provider's name or certificate could not be resolved.",
    occurrenceHeaders: { "proxy-status": "search; error=destination_unavailable" },
    retryAfterSeconds: 2,
  },
  payment_processor_unavailable: {
    status: 502,
    title: "The payment processor could not be asked",
    retryable: true,
    detail:
      "The payment processor did not answer as it should. Nothing was charged. Send the same request with the same Idempotency-Key again.",
    page: "We asked the payment processor and got no answer that we can use. A top-up that was begun stays pending: the same Idempotency-Key goes on with it and never opens a second one. Money that was paid meanwhile is credited once, when we hear of it.",
    retryAfterSeconds: 5,
  },
  overloaded: {
    status: 503,
    title: "The service is overloaded",
    retryable: true,
    detail: "More searches arrived than can be served now. Nothing was charged. Retry as `Retry-After` says.",
    page: "We refuse early instead of answering late. Retry with a growing pause.",
    retryAfterSeconds: 2,
  },
  shutting_down: {
    status: 503,
    title: "This server is shutting down",
    retryable: true,
    detail: "This server is about to stop. Nothing was charged. Retry on a new connection.",
    page: "The server was told to stop and no longer begins searches. A new connection reaches another one.",
    retryAfterSeconds: 1,
  },
  ledger_unavailable: {
    status: 503,
    title: "The ledger is not available",
    retryable: true,
    detail: "The ledger could not be reached, so no search was sold. Nothing was charged. Retry as `Retry-After` says.",
    page: "We answer no search that we cannot account for. This answer is given only when it is known that nothing was charged; when that is not known, the connection is closed without a status, and a retry with the same Idempotency-Key finds out without paying twice.",
    retryAfterSeconds: 2,
  },
  upstream_not_configured: {
    status: 503,
    title: "No upstream search provider is configured",
    retryable: true,
    detail:
      "The operator has not connected a search provider yet. Nothing was charged. Test keys (pb_test_) work without one.",
    page: "For operators: give one provider its setting, such as PENNYBLACK_BRAVE_KEY, or PENNYBLACK_SEARXNG_URL with the address of a SearXNG that has its JSON format enabled. `npm run providers -- list` shows them all.",
    retryAfterSeconds: 120,
  },
  payments_not_configured: {
    status: 503,
    title: "No payment processor is configured",
    retryable: true,
    detail:
      "The operator has not set up payments yet. Nothing was charged. Ask the operator to add money to the wallet.",
    page: "For operators: set PENNYBLACK_STRIPE_SECRET_KEY for the server and the worker, and PENNYBLACK_STRIPE_WEBHOOK_SECRET for the server, with Stripe's webhooks sent to /v1/payments/stripe/webhook. Until then, `npm run admin -- credit` books invoices and promotions by hand.",
    retryAfterSeconds: 120,
  },
  upstream_timeout: {
    status: 504,
    title: "The upstream search provider took too long",
    retryable: true,
    detail: "The upstream did not answer in time. Nothing was charged. Retry shortly; do not answer from memory.",
    page: "The search had 10 seconds, or the seconds that `Prefer: wait=N` asked for, and no upstream answered within them. It was given up and its hold released.",
    occurrenceHeaders: { "proxy-status": "search; error=http_response_timeout" },
    retryAfterSeconds: 2,
  },
  ...consoleProblems,
} as const satisfies Record<string, ProblemRow>;

export type ProblemCode = keyof typeof problems;

export const problemCodes = Object.keys(problems) as ProblemCode[];

export function isProblemCode(text: string): text is ProblemCode {
  return Object.hasOwn(problems, text);
}

export const problemRow = (code: ProblemCode): ProblemRow => problems[code];

export interface ProblemOptions {
  detail?: string;
  /** Other than the row's: forwarded from an upstream, or that of a request too broken to reach a route. */
  status?: number;
  retryable?: boolean;
  retryAfterSeconds?: number | undefined;
  members?: Record<string, unknown>;
  headers?: Record<string, string>;
  cause?: unknown;
}

/** Ends the request. `detail` and `members` are read by callers, `cause` only by us. */
export class Problem extends Error {
  readonly code: ProblemCode;
  readonly title: string;
  readonly status: number;
  readonly retryable: boolean;
  readonly detail: string;
  readonly retryAfterSeconds: number | undefined;
  readonly members: Record<string, unknown>;
  readonly headers: Record<string, string>;

  constructor(code: ProblemCode, options: ProblemOptions = {}) {
    const row = problemRow(code);
    super(code, { cause: options.cause });
    this.code = code;
    this.title = row.title;
    this.status = options.status ?? row.status;
    this.retryable = options.retryable ?? row.retryable;
    this.detail = options.detail ?? row.detail;
    this.retryAfterSeconds = options.retryAfterSeconds ?? row.retryAfterSeconds;
    this.members = options.members ?? {};
    this.headers = { ...row.headers, ...options.headers };
  }
}
