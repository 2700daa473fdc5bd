import { budgetProblems } from "./budget-problems.ts";
import { consoleProblems } from "./console-problems.ts";
import { oauthProblems } from "./oauth-problems.ts";
import type { ProblemRow } from "./problem-row.ts";
import { serverProblems } from "./server-problems.ts";

// Every error the API returns, and the only source of their documentation: the pages under /problems and docs/problems,
// the error responses in openapi.json, and the tests. `detail` states what happened, that the caller was not charged
// (left out of responses to requests that are not searches), and what to do next. A `{name}` in it is replaced by the member
// or value of that name.

const exampleJsonFault =
  "The request body is not valid JSON at line 1, column 2: strings and field names need double quotes";

/** Problems for people, in the console and in apps that they sign in to. A request with an API key never gets them. */
export const personProblems = { ...consoleProblems, ...oauthProblems } as const;

export const problems = {
  malformed_json: {
    status: 400,
    title: "Malformed JSON",
    detail: "{fault}. You were not charged. {advice}.",
    cause:
      "The request body is empty, truncated, not UTF-8 or not valid JSON. `detail` describes the first error, such as a single quote, a trailing comma or a missing bracket, and gives its line and column.",
    fix: "Build the body with a JSON encoder instead of concatenating strings.",
    members: { errors: [{ pointer: "#", code: "malformed_json", detail: exampleJsonFault }] },
    values: { fault: exampleJsonFault, advice: "Send a single JSON object" },
  },
  invalid_request: {
    status: 400,
    title: "Invalid request",
    detail:
      "`n` must be an integer from 1 to 20, but is 50. You were not charged. Correct the request and send it again.",
    cause:
      "A field is missing, unknown, of the wrong type or out of range, or appears twice. Values are never coerced, clamped or ignored, so a typo cannot cost you a search.",
    fix: "Correct every field listed in `errors`. A name that resembles a known one comes with a suggestion. A search accepts `query` (required), `n` (1 to 20) and `category` (programming, research, gov, business), and no other fields.",
    members: {
      errors: [{ pointer: "#/n", code: "out_of_range", detail: "must be an integer from 1 to 20, but is 50" }],
    },
  },
  query_too_long: {
    status: 400,
    title: "Query too long",
    detail: "The query has {actual}, and the limit is {limit}. You were not charged. Shorten the query.",
    cause:
      "A query can have 1 to 2,048 characters. Each upstream has its own limit, often 400. A query that is too long for every configured upstream is rejected, not truncated.",
    fix: "Shorten the query to `max_characters`, and to `max_words` if that is present.",
    members: {
      characters: 2100,
      max_characters: 2048,
      errors: [
        { pointer: "#/query", code: "too_long", detail: "must have at most 2048 characters, but has 2100 characters" },
      ],
    },
    values: { actual: "2100 characters", limit: "2048 characters" },
  },
  end_user_required: {
    status: 400,
    title: "End user required",
    detail:
      "This key has a budget per end user, and the request names no end user. You were not charged. Send your own ID for the end user in `Search-For`.",
    cause:
      "The wallet's owner limited how much each end user of this key can spend. A search without `Search-For` would avoid the limit.",
    fix: "Send your own ID for the end user in `Search-For`. It must be opaque, not a name or an email address.",
  },
  conflicting_credentials: {
    status: 400,
    title: "Conflicting API keys",
    detail:
      "The request has two different API keys, so the wallet to charge is ambiguous. You were not charged. Send one key.",
    cause:
      "The request sends different keys in `Authorization: Bearer` and `x-api-key`, or sends one of these headers twice with different keys.",
    fix: "Send the key in one header, or the same key in both.",
    members: { errors: [{ pointer: "#", code: "conflicting_credentials", detail: "send one key" }] },
  },
  authentication_required: {
    status: 401,
    title: "Authentication required",
    detail:
      "{fault}. You were not charged. Send the key as `Authorization: Bearer <API_KEY>` or `x-api-key: <API_KEY>`, not in the URL or the body.",
    cause:
      "Neither header contains an API key. If the header is sent but empty, the variable that holds your key is probably not set.",
    fix: "Send `Authorization` with the scheme `Bearer`, a space and the key, or `x-api-key` with the key alone. A key in the URL or the body is not read.",
    values: { fault: "The request has no API key" },
    headers: { "www-authenticate": 'Bearer realm="search"' },
  },
  api_key_invalid: {
    status: 401,
    title: "Invalid API key",
    detail:
      "{fault}. You were not charged. Send the whole key, which starts with `pb_live_`, `pb_test_` or `pb_mgmt_` and has 44 or 55 characters.",
    values: { fault: "This server has no such API key" },
    cause:
      "The key is mistyped or truncated, or was never issued by this server. The last six characters are a checksum, so a typo never matches another key.",
    fix: "Copy the whole key again. If you no longer have it, create another one.",
    headers: { "www-authenticate": 'Bearer realm="search", error="invalid_token"' },
  },
  api_key_revoked: {
    status: 401,
    title: "API key revoked",
    detail: "This API key was revoked. You were not charged. Use another key.",
    cause:
      "The wallet's owner or the operator revoked the key. A revoked key cannot spend from the moment the revocation commits.",
    fix: "Use another key of the wallet, or create one.",
    headers: { "www-authenticate": 'Bearer realm="search", error="invalid_token"' },
  },
  api_key_expired: {
    status: 401,
    title: "API key expired",
    detail: "This API key has expired. You were not charged. Use another key, or extend this one's `expires_at`.",
    cause: "The key's `expires_at` has passed.",
    fix: "Change `expires_at` with a management key or in the console, or use another key.",
    headers: { "www-authenticate": 'Bearer realm="search", error="invalid_token"' },
  },
  insufficient_balance: {
    status: 402,
    title: "Insufficient balance",
    detail:
      "The wallet balance ({balance} USD) is below the price of a search ({price} USD). You were not charged. Top up at {top_up_url} and retry.",
    cause:
      "A search costs 0.01 USD, paid from a prepaid wallet, and the wallet has less than that. If a payment was refunded or disputed after it was spent, the wallet owes the amount in `owed`. Any money that is added or released pays off this debt first.",
    fix: 'Add money at `top_up.url`, which is also in the `Link` header with `rel="payment"`. `top_up.minimum` covers the debt and one search. If the operator has not set up payments, that URL is this page, and the operator adds money with `npm run admin -- wallet top-up`. A retry fails until money is added.',
    members: {
      balance: "0.00",
      price: "0.01",
      currency: "usd",
      owed: "0.00",
      top_up: { url: "https://pennyblack.example/top-up", minimum: "0.01", instructions: "Open the URL to add money." },
    },
    values: { top_up_url: "https://pennyblack.example/top-up" },
    occurrenceHeaders: { link: '<https://pennyblack.example/top-up>; rel="payment"' },
  },
  balance_reserved: {
    status: 402,
    title: "Balance on hold",
    retryable: true,
    detail:
      "The remaining balance ({balance} USD) is on hold for searches in flight. You were not charged. Retry after the number of seconds in `Retry-After`.",
    cause:
      "The wallet has money, but all of it is on hold for searches in flight. Searches that fail release their hold.",
    fix: "Retry after the number of seconds in `Retry-After`, or top up.",
    members: { balance: "0.01", price: "0.01", currency: "usd" },
    retryAfterSeconds: 1,
  },
  insufficient_scope: {
    status: 403,
    title: "Insufficient scope",
    detail: "This key does not have the `{required_scope}` scope. You were not charged. {advice}.",
    cause:
      "The key does not have the scope in `required_scope`. Keys that start with `pb_live_` or `pb_test_` search. Keys that start with `pb_mgmt_` read and manage the wallet.",
    fix: "Use a key that has the scope. `keys:write` includes `keys:read`.",
    members: { required_scope: "search" },
    values: { advice: "To search, use a key that starts with `pb_live_` or `pb_test_`" },
    occurrenceHeaders: { "www-authenticate": 'Bearer realm="search", error="insufficient_scope", scope="search"' },
  },
  ip_not_allowed: {
    status: 403,
    title: "IP address not allowed",
    detail:
      "This key cannot be used from {ip}. You were not charged. Send the request from one of the key's `allowed_ips`, or use another key.",
    cause:
      "The wallet's owner restricted the key to a list of networks (`allowed_ips`), and the request came from a different address.",
    fix: "Send the request from one of these networks, add your address to the key's `allowed_ips`, or use another key.",
    values: { ip: "203.0.113.7" },
  },
  account_suspended: {
    status: 403,
    title: "Account suspended",
    detail: "The operator has suspended this account. You were not charged. Contact the operator.",
    cause:
      "The operator suspended the account. All of its keys are rejected until the suspension is lifted. The balance is unaffected.",
    fix: "Contact the operator.",
  },
  key_budget_spent: {
    status: 403,
    title: "Key budget spent",
    detail:
      "This key has spent {spent} USD of its {limit} USD budget. You were not charged. Finish with the results you have, or wait until `resets_at` if it is set.",
    cause:
      "The wallet has money, but its owner limited how much this key can spend, either with its own limits or with the shared budget in `budget`. Days, ISO weeks and months are in UTC. A search in flight counts as spent.",
    fix: "Wait until `resets_at`. A total budget does not reset. The owner of the wallet can change the budget in the console at `increase.url` or with a management key. A key with the scope `budgets:request` can send the request in `increase.request`, which asks a person to raise a shared budget for some hours.",
    members: {
      limit: "5.00",
      spent: "5.00",
      currency: "usd",
      resets_at: "2030-02-01T00:00:00.000Z",
      budget: { id: null, name: null, period: "month" },
      increase: { url: "https://pennyblack.example/console" },
    },
  },
  run_budget_spent: {
    status: 403,
    title: "Run budget spent",
    detail:
      'The run "{run}" has spent {spent} USD of its {limit} USD budget. You were not charged. Finish with the results you have.',
    cause:
      "The request's `Search-Run` header names a run whose `max` is spent. All searches with the same run name share it. The first search of a run sets its `max`. A higher `max` in a later search is ignored, so that a caller cannot raise its own limit.",
    fix: "Finish with the results you have. The agent's developer decides how much a run can spend.",
    members: { limit: "0.50", spent: "0.50", currency: "usd", resets_at: "2030-01-31T13:00:00.000Z" },
    values: { run: "nightly-report" },
  },
  end_user_budget_spent: {
    status: 403,
    title: "End-user budget spent",
    detail:
      "The end user in `Search-For` has spent {spent} USD of the {limit} USD that this key allows each end user. You were not charged. Finish with the results you have, or wait until `resets_at`.",
    cause:
      "The wallet's owner limited how much each end user of this key, or of the shared budget in `budget`, can spend per day, ISO week or month (UTC). The end user in the request's `Search-For` header has reached that limit. A search in flight counts as spent. Searches for other end users still work.",
    fix: "Wait until `resets_at`. The owner of the wallet can change the key's `end_user_limit` or the shared budget.",
    members: {
      limit: "0.10",
      spent: "0.10",
      currency: "usd",
      resets_at: "2030-02-01T00:00:00.000Z",
      budget: { id: null, name: null, period: "day" },
      increase: { url: "https://pennyblack.example/console" },
    },
  },
  not_found: {
    status: 404,
    title: "Not found",
    detail:
      "Nothing exists at this path. To search, send `POST /v1/search`. Paths are lower-case and have no trailing slash.",
    cause:
      "The path does not exist, or it names a resource that is not yours. The response does not reveal whether another wallet has a resource with this id.",
    fix: "Check the path, and the wallet your key belongs to. If the path resembles one that exists, `detail` suggests it.",
  },
  method_not_allowed: {
    status: 405,
    title: "Method not allowed",
    detail: "This path does not support {method}. Use {allowed}.",
    values: { method: "GET", allowed: "`POST`" },
    cause: "The path exists, but not for this method.",
    fix: "Use a method listed in the `Allow` header. A search is a POST.",
    occurrenceHeaders: { allow: "POST" },
  },
  idempotency_in_progress: {
    status: 409,
    title: "Search still in progress",
    retryable: true,
    detail:
      "The first search with this Idempotency-Key is still running. You were not charged for this request. Retry after the number of seconds in `Retry-After` to get its answer.",
    cause: "Another request with the same Idempotency-Key and body is in flight.",
    fix: "Retry after the number of seconds in `Retry-After`. Once the first request finishes, a retry returns its answer at no extra cost. If its server crashed, a retry after 15 seconds takes over.",
    retryAfterSeconds: 1,
  },
  ...budgetProblems,
  key_limit_reached: {
    status: 409,
    title: "Key limit reached",
    detail: "A wallet can have at most 1,000 active keys. No key was created. Revoke a key you no longer use.",
    cause:
      "The wallet has 1,000 active keys. Revoked and expired keys do not count. Rotating a key with a grace period adds one key until the grace period ends.",
    fix: "Revoke keys you no longer use. `last_used_at` in `GET /v1/keys` shows which ones.",
  },
  key_not_active: {
    status: 409,
    title: "Key not active",
    detail:
      "The key is revoked, expired or already rotated, and cannot be changed this way. No changes were made. Use an active key.",
    cause: "A revoked key cannot be changed. An expired or already rotated key cannot be rotated.",
    fix: "Rotate its successor, the key whose `rotated_from` is this key's id. An expired key becomes active again when you change its `expires_at`.",
  },
  payload_too_large: {
    status: 413,
    title: "Request body too large",
    detail: "The request body is larger than {max_bytes} bytes. You were not charged. Send a smaller body.",
    cause: "The request body has more than 16,384 bytes, or more than the `max_bytes` of this path.",
    fix: "Send a smaller body.",
    members: { max_bytes: 16384 },
  },
  unsupported_media_type: {
    status: 415,
    title: "Unsupported media type",
    detail: "{fault}. You were not charged. Send uncompressed UTF-8 JSON with `Content-Type: application/json`.",
    values: { fault: "The request has no `Content-Type` header" },
    cause:
      "The content type is missing or is not `application/json`, the charset is not UTF-8, or the body is compressed.",
    fix: "Send uncompressed UTF-8 JSON with `Content-Type: application/json`.",
    headers: { accept: "application/json" },
  },
  idempotency_key_reused: {
    status: 422,
    title: "Idempotency key reused",
    detail:
      "This Idempotency-Key was already used with a different body. You were not charged. Use a new key for a new search.",
    cause:
      "An Idempotency-Key identifies one request for 24 hours. This one was sent before with a different query, n or category. It is rejected because you would otherwise receive the answer to a different search.",
    fix: "Use a new Idempotency-Key for every new search, and the same one only for its retries.",
  },
  rate_limited: {
    status: 429,
    title: "Rate limit exceeded",
    retryable: true,
    detail:
      "The limit of {max} requests per second for {subject} was exceeded. You were not charged. Retry after the number of seconds in `Retry-After`.",
    cause:
      "The key, its wallet or your network sent too many requests. `exceeded` names the limit. A key and its wallet each have a limit, and the test keys of a wallet share a lower one. An IP address that sends more than a hundred invalid keys within a minute also gets this error. Keys that worked within the last day are still accepted from it.",
    fix: "Retry after the number of seconds in `Retry-After`. To slow down before you reach a limit, read the headers of every response. `RateLimit-Policy` describes the limit you are closest to, and `RateLimit` gives the number of requests left.",
    members: {
      exceeded: { limit: "key_rate", applies_to: "key", max: 1000, window_seconds: 1, retry_after_seconds: 1 },
    },
    occurrenceHeaders: { "ratelimit-policy": '"key";q=1000;w=1', ratelimit: '"key";r=0;t=1' },
    values: { max: "1000", subject: "this key" },
    retryAfterSeconds: 1,
  },
  concurrency_limited: {
    status: 429,
    title: "Concurrency limit exceeded",
    retryable: true,
    detail:
      "The limit of {max} requests in flight for {subject} was reached. You were not charged. Retry when one of them has finished.",
    cause:
      "Too many requests were in flight at once. `exceeded` names the limit. A key and its wallet each have a limit, the test keys of a wallet share a lower one, and a wallet can use only a share of one server. A request counts from the moment its key is identified until the request ends, including while you send its body.",
    fix: "Keep fewer searches in flight, or ask the operator for a higher limit.",
    members: {
      exceeded: { limit: "key_in_flight", applies_to: "key", max: 1000, retry_after_seconds: 1 },
    },
    values: { max: "1000", subject: "this key" },
    retryAfterSeconds: 1,
  },
  unpaid_calls_limited: {
    status: 429,
    title: "Unpaid call limit exceeded",
    retryable: true,
    detail:
      "This wallet reached its limit of {max} unpaid upstream calls per minute, for searches that were abandoned, reached the timeout set with `Prefer: wait`, or got an invalid response from the search provider. You were not charged. Retry after the number of seconds in `Retry-After`, and give each search more time.",
    cause:
      "You are not charged for a search that you abandon, that reaches your `Prefer: wait` timeout, or that gets an invalid response, but the search provider was called. Each wallet has an allowance of 20 such calls, which refills by 5 per minute. Every paid search adds one call to it, up to 1,000, so a wallet whose searches mostly succeed does not reach the limit. Other failures of the search provider never count.",
    fix: "Wait for the response (10 seconds are always enough) and remove `Prefer: wait`, or raise it.",
    members: {
      exceeded: {
        limit: "wallet_unpaid_calls",
        applies_to: "wallet",
        max: 5,
        window_seconds: 60,
        retry_after_seconds: 12,
      },
    },
    occurrenceHeaders: { "ratelimit-policy": '"unpaid";q=5;w=60', ratelimit: '"unpaid";r=0;t=12' },
    values: { max: "5" },
    retryAfterSeconds: 12,
  },
  ...serverProblems,
  ...personProblems,
} as const satisfies Record<string, ProblemRow>;

export type ProblemCode = keyof typeof problems;

export const problemCodes = Object.keys(problems) as ProblemCode[];

export function isProblemCode(text: string): text is ProblemCode {
  return Object.hasOwn(problems, text);
}

export const problemRow = (code: ProblemCode): ProblemRow => problems[code];

export interface ProblemOptions {
  detail?: string;
  /** Overrides the status in the table, for example with an upstream's. */
  status?: number;
  retryable?: boolean;
  retryAfterSeconds?: number | undefined;
  members?: Record<string, unknown>;
  /** For the placeholders in `detail` that are not members. */
  values?: Record<string, unknown>;
  headers?: Record<string, string>;
  cause?: unknown;
}

/** Ends the request. `detail` and `members` are sent to the caller; `cause` is only logged. */
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
    const values = { ...options.members, ...options.values };
    super(code, { cause: options.cause });
    this.code = code;
    this.title = row.title;
    this.status = options.status ?? row.status;
    this.retryable = options.retryable ?? row.retryable ?? false;
    this.detail = options.detail ?? row.detail.replace(/\{(\w+)\}/g, (_, name: string) => String(values[name]));
    this.retryAfterSeconds = this.retryable ? (options.retryAfterSeconds ?? row.retryAfterSeconds) : undefined;
    this.members = options.members ?? {};
    this.headers = { ...row.headers, ...options.headers };
  }

  /** For requests that are not searches: only a search can be charged. */
  get detailWithoutCharge(): string {
    return this.detail.replace(" You were not charged.", "");
  }
}

/**
 * A problem with the example values of its row: for the documentation, and for test queries that request it. With `now`,
 * a budget resets at the next midnight UTC instead of on the fixed day of the documentation.
 */
export function exampleProblem(code: ProblemCode, now?: Date): Problem {
  const { members = {}, values = {}, occurrenceHeaders = {} } = problemRow(code);
  const midnight = now && new Date(Date.UTC(now.getUTCFullYear(), now.getUTCMonth(), now.getUTCDate() + 1));
  const reset = midnight && "resets_at" in members ? { resets_at: midnight.toISOString() } : {};
  return new Problem(code, { members: { ...members, ...reset }, values, headers: occurrenceHeaders });
}
