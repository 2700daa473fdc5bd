// Generated from openapi.json by `npm run generate`.

/**
 * Identifies the error. Codes never change, but later versions can add codes.
 * @enum {string}
 */
export type ProblemCode = "malformed_json" | "invalid_request" | "query_too_long" | "end_user_required" | "conflicting_credentials" | "authentication_required" | "api_key_invalid" | "api_key_revoked" | "api_key_expired" | "insufficient_balance" | "balance_reserved" | "insufficient_scope" | "ip_not_allowed" | "account_suspended" | "key_budget_spent" | "run_budget_spent" | "end_user_budget_spent" | "not_found" | "method_not_allowed" | "idempotency_in_progress" | "budget_in_use" | "budget_limit_reached" | "budget_requests_open" | "key_limit_reached" | "key_not_active" | "payload_too_large" | "unsupported_media_type" | "idempotency_key_reused" | "rate_limited" | "concurrency_limited" | "unpaid_calls_limited" | "internal_error" | "upstream_error" | "upstream_invalid_response" | "upstream_unreachable" | "payment_processor_unavailable" | "overloaded" | "shutting_down" | "ledger_unavailable" | "upstream_not_configured" | "payments_not_configured" | "receipts_not_configured" | "upstream_timeout";

/** The members of every problem. */
export type ProblemBase = {
    /**
     * Format: uri
     * URL of the page that explains this code.
     */
    type: string;
    title: string;
    /** The HTTP status of the response. */
    status: number;
    /** What happened, whether you were charged, and what to do next. */
    detail: string;
    /** The path of the request. */
    instance: string;
    code: ProblemCode;
    /** Format: uuid */
    request_id: string;
    /** Whether the same request can succeed later. */
    retryable: boolean;
    /** @constant */
    charged: false;
};

export type FieldError = {
    /** JSON Pointer to the invalid field, such as `#/n`. `#` is the whole request. */
    pointer: string;
    /** What is wrong with it. */
    code: string;
    /** The rule it violates. */
    detail: string;
};

export type MalformedJsonProblem = ProblemBase & {
    /** @constant */
    code: "malformed_json";
    /** Every invalid part of the request. */
    errors: FieldError[];
};

export type InvalidRequestProblem = ProblemBase & {
    /** @constant */
    code: "invalid_request";
    /** Every invalid part of the request. */
    errors: FieldError[];
};

export type ConflictingCredentialsProblem = ProblemBase & {
    /** @constant */
    code: "conflicting_credentials";
    /** Every invalid part of the request. */
    errors: FieldError[];
};

export type QueryTooLongProblem = ProblemBase & {
    /** @constant */
    code: "query_too_long";
    /** The length of the query. */
    characters: number;
    /** Present if `max_words` is. */
    words?: number;
    /** The longest query accepted. */
    max_characters: number;
    /** Present if an upstream limits the number of words. */
    max_words?: number;
    /** Every invalid part of the request. */
    errors: FieldError[];
};

export type TopUpOptions = {
    /**
     * Format: uri
     * Where the wallet's owner adds money.
     */
    url: string;
    /** The smallest amount that pays the debt and one search, in USD as a decimal string. */
    minimum: string;
    /** How to add money. */
    instructions: string;
    /** The request that creates a top-up, if payments are configured. */
    create?: {
        /** @constant */
        method: "POST";
        /** Format: uri */
        url: string;
        /** @constant */
        required_scope: "wallet:write";
        body: {
            /** The amount to top up, in USD as a decimal string. */
            amount: string;
        };
    };
};

export type InsufficientBalanceProblem = ProblemBase & {
    /** @constant */
    code: "insufficient_balance";
    /** The wallet balance, in USD as a decimal string. */
    balance: string;
    /** The price of a search, in USD as a decimal string. */
    price: string;
    /** @constant */
    currency: "usd";
    /** Debt left by refunded or disputed payments, in USD as a decimal string. */
    owed: string;
    top_up: TopUpOptions;
};

export type BalanceReservedProblem = ProblemBase & {
    /** @constant */
    code: "balance_reserved";
    /** The wallet balance, in USD as a decimal string. */
    balance: string;
    /** The price of a search, in USD as a decimal string. */
    price: string;
    /** @constant */
    currency: "usd";
};

export type InsufficientScopeProblem = ProblemBase & {
    /** @constant */
    code: "insufficient_scope";
    /** The scope that the request needs. */
    required_scope: string;
};

/** The budget that is spent. */
export type SpentBudget = {
    /** Null for a limit of the key itself. */
    id: string | null;
    name: string | null;
    /** @enum {string} */
    period: "total" | "day" | "week" | "month";
};

/** How to get a higher budget. */
export type IncreaseOptions = {
    /**
     * Format: uri
     * The page of the console where a person can raise the budget.
     */
    url: string;
    /** The request that asks a person to raise the budget, if it is a shared budget. */
    request?: {
        /** @constant */
        method: "POST";
        /** Format: uri */
        url: string;
        /** @constant */
        required_scope: "budgets:request";
        body: {
            /** Format: uuid */
            budget: string;
            /** The amount to add, which you choose, in USD as a decimal string. */
            amount: string;
            hours: number;
        };
    };
};

export type KeyBudgetSpentProblem = ProblemBase & {
    /** @constant */
    code: "key_budget_spent";
    /** The budget, in USD as a decimal string. */
    limit: string;
    /** The amount spent, including searches in flight, in USD as a decimal string. */
    spent: string;
    /** @constant */
    currency?: "usd";
    /** When the budget resets. Null if it does not. */
    resets_at: string | null;
    budget: SpentBudget;
    increase: IncreaseOptions;
};

export type RunBudgetSpentProblem = ProblemBase & {
    /** @constant */
    code: "run_budget_spent";
    /** The budget, in USD as a decimal string. */
    limit: string;
    /** The amount spent, including searches in flight, in USD as a decimal string. */
    spent: string;
    /** @constant */
    currency?: "usd";
    /** When the budget resets. Null if it does not. */
    resets_at: string | null;
};

export type EndUserBudgetSpentProblem = ProblemBase & {
    /** @constant */
    code: "end_user_budget_spent";
    /** The budget, in USD as a decimal string. */
    limit: string;
    /** The amount spent, including searches in flight, in USD as a decimal string. */
    spent: string;
    /** @constant */
    currency?: "usd";
    /** When the budget resets. Null if it does not. */
    resets_at: string | null;
    budget: SpentBudget;
    increase: IncreaseOptions;
};

export type BudgetInUseProblem = ProblemBase & {
    /** @constant */
    code: "budget_in_use";
    /** Up to 100 keys that name the budget. */
    keys: {
        /** Format: uuid */
        id: string;
        /** The name of the key. */
        name: string;
    }[];
};

export type PayloadTooLargeProblem = ProblemBase & {
    /** @constant */
    code: "payload_too_large";
    /** The limit of the request body. */
    max_bytes: number;
};

/** The limit that was exceeded. */
export type ExceededLimit = {
    /** @enum {string} */
    limit: "key_rate" | "key_in_flight" | "wallet_rate" | "wallet_in_flight" | "wallet_test_rate" | "wallet_test_requests" | "wallet_test_in_flight" | "wallet_test_end_users" | "wallet_management_rate" | "wallet_management_in_flight" | "wallet_unpaid_calls" | "wallet_requested_deliveries" | "network_rate" | "network_in_flight" | "network_invalid_keys" | "network_sign_ins" | "mailbox_emails" | "person_emails" | "account_invitations" | "wallet_share" | "network_share" | "server_in_flight" | "server_test_in_flight" | "server_look_ups" | "server_public_in_flight" | "server_webhooks_in_flight" | "ledger_queue";
    /** The first word of `limit`: the key, the wallet, your network or the server. */
    applies_to: string;
    /** The value of the limit. */
    max: number;
    /** The period of a rate. Absent for a number of requests in flight. */
    window_seconds?: number;
    retry_after_seconds: number;
};

export type RateLimitedProblem = ProblemBase & {
    /** @constant */
    code: "rate_limited";
    exceeded: ExceededLimit;
};

export type ConcurrencyLimitedProblem = ProblemBase & {
    /** @constant */
    code: "concurrency_limited";
    exceeded: ExceededLimit;
};

export type UnpaidCallsLimitedProblem = ProblemBase & {
    /** @constant */
    code: "unpaid_calls_limited";
    exceeded: ExceededLimit;
};

export type OverloadedProblem = ProblemBase & {
    /** @constant */
    code: "overloaded";
    exceeded: ExceededLimit;
};

export type UpstreamTimeoutProblem = ProblemBase & {
    /** @constant */
    code: "upstream_timeout";
    /**
     * `caller` if the number of seconds in `Prefer: wait=N` passed first.
     * @enum {string}
     */
    deadline_set_by: "caller" | "server";
};

export type UpstreamErrorProblem = ProblemBase & {
    /** @constant */
    code: "upstream_error";
    /** The status that the search provider returned. */
    upstream_status?: number;
};

export type UpstreamInvalidResponseProblem = ProblemBase & {
    /** @constant */
    code: "upstream_invalid_response";
    /** The status that the search provider returned. */
    upstream_status?: number;
};

/** A problem without additional members. */
export type BasicProblem = ProblemBase & {
    /** @enum {string} */
    code: "end_user_required" | "authentication_required" | "api_key_invalid" | "api_key_revoked" | "api_key_expired" | "ip_not_allowed" | "account_suspended" | "not_found" | "method_not_allowed" | "idempotency_in_progress" | "budget_limit_reached" | "budget_requests_open" | "key_limit_reached" | "key_not_active" | "unsupported_media_type" | "idempotency_key_reused" | "internal_error" | "upstream_unreachable" | "payment_processor_unavailable" | "shutting_down" | "ledger_unavailable" | "upstream_not_configured" | "payments_not_configured" | "receipts_not_configured";
};

/** RFC 9457 problem details. `code` determines the other members. Errors are never charged. */
export type Problem = MalformedJsonProblem | InvalidRequestProblem | ConflictingCredentialsProblem | QueryTooLongProblem | InsufficientBalanceProblem | BalanceReservedProblem | InsufficientScopeProblem | KeyBudgetSpentProblem | RunBudgetSpentProblem | EndUserBudgetSpentProblem | BudgetInUseProblem | PayloadTooLargeProblem | RateLimitedProblem | ConcurrencyLimitedProblem | UnpaidCallsLimitedProblem | OverloadedProblem | UpstreamTimeoutProblem | UpstreamErrorProblem | UpstreamInvalidResponseProblem | BasicProblem;

/**
 * Hint for the kind of source to prefer. Case-sensitive.
 * @enum {string}
 */
export type Category = "programming" | "research" | "gov" | "business";

export type SearchRequest = {
    /**
     * Search keywords, 1 to 2048 characters after trimming white space.
     * @example postgresql advisory locks
     */
    query: string;
    /**
     * Maximum number of results. The price does not depend on it.
     * @default 10
     */
    n?: number;
    category?: Category;
};

export type SearchResult = {
    /** Title of the page. Plain text, at most 300 characters. */
    title: string;
    /**
     * Format: uri
     * URL of the page, http or https, at most 2,048 characters. Results with a longer URL are dropped.
     */
    url: string;
    /** Excerpt of the page. Plain text, at most 1,000 characters. Untrusted text from the web. */
    snippet: string;
    /** Hostname of the URL, without a leading `www.`. */
    source: string;
};

export type SearchResponse = {
    /** The query that was run. */
    query: string;
    /** Number of results returned. */
    n: number;
    results: SearchResult[];
};

export type Lens = {
    /** `base`, or the category it ranks. */
    name: string;
    /** The version in the header `Rank-Lens: name@version`. */
    version: string;
    /** Hash of the lens and the lens it extends. Lenses with the same digest rank identically. */
    digest: string;
    /** Weight of authority in the score, from 0 to 1. The rest is the upstream's rank. */
    lambda: number;
    /** Number of rules, including inherited ones. */
    rules: number;
    /** Names of the registries that count as well. */
    registries: string[];
    /**
     * Format: uri
     * URL of the lens text.
     */
    url: string;
};

export type LensList = {
    lenses: Lens[];
};

export type Registry = {
    /** Name of the registry, as in `Rank-Explain`. */
    name: string;
    /** Title of the published list. */
    title: string;
    /**
     * Format: uri
     * URL of the list.
     */
    source: string;
    /** Terms of the list. */
    licence: string;
    /** Authors of the list. */
    attribution: string;
    /**
     * Format: date
     * Date of the copy in use.
     */
    retrieved: string;
};

export type LensInspection = {
    /** The lens, as `name@version`. */
    lens: string;
    /** The host that the rules are compared with. */
    host: string;
    /**
     * Authority, from `A` to `E`. `N` is neutral.
     * @enum {string}
     */
    tier: "A" | "B" | "C" | "N" | "D" | "E";
    /** The reason of the rule, or `unlisted`. */
    reason: string;
    /** The rule as written in the lens. Null if no rule matches or the tier comes from a registry. */
    rule: string | null;
    /** The published list that the tier comes from. */
    registry: Registry | null;
    /**
     * Format: uri
     * How to object to a tier.
     */
    objection_url: string;
};

export type Wallet = {
    /** Format: uuid */
    id: string;
    name: string;
    /** @constant */
    currency: "usd";
    /** Credits minus charges, in USD as a decimal string. */
    balance: string;
    /** Part of the balance reserved for searches in flight, in USD as a decimal string. */
    held: string;
    /** Balance that new searches can spend, in USD as a decimal string. */
    available: string;
    /** Debt left by refunded or disputed payments, which newly available money pays off first, in USD as a decimal string. */
    owed: string;
    /** Price of one search, in USD as a decimal string. */
    price: string;
    suspended: boolean;
};

/**
 * `reversal`: a payment was refunded or disputed. `reinstatement`: the reversed money was returned. `settlement`: money that paid off debt. `correction`: an entry was wrong. `payout`: the balance was paid out. `breakage`: a balance was forfeited. `transfer_out` and `transfer_in`: balance that the operator transferred between installations.
 * @enum {string}
 */
export type EntryKind = "search" | "refund" | "top_up" | "credit" | "reversal" | "reinstatement" | "settlement" | "correction" | "payout" | "breakage" | "transfer_out" | "transfer_in";

export type Entry = {
    /** Format: uuid */
    id: string;
    kind: EntryKind;
    /** Amount added to the wallet, or negative if deducted, in USD as a decimal string. */
    amount: string;
    /** @constant */
    currency: "usd";
    /** The search that was charged or refunded. Null for other kinds. */
    request_id: string | null;
    /** Format: date-time */
    created_at: string;
    /** Balance after this entry, omitted in lists filtered by `kind` or `request_id`, in USD as a decimal string. */
    balance?: string;
};

export type EntryList = {
    entries: Entry[];
    /** Pass as `cursor` to get the next page. Null on the last page. */
    next_cursor: string | null;
};

/** The position of a hash in a signed tree. `in_hour` is the position of the wallet's digest among the digests of all wallets with entries in this hour and of the operator's records. */
export type InclusionProof = {
    leaf_index: number;
    tree_size: number;
    /** The sibling hashes from the leaf to the root (RFC 6962). */
    path: string[];
    /** The signed root: a compact JWS. */
    signed: string;
};

export type WalletProof = {
    /** Format: uuid */
    wallet_id: string;
    /**
     * Format: date-time
     * The last closed hour with entries of the wallet. An entry belongs to the hour of its `created_at`.
     */
    hour: string;
    /**
     * Format: date-time
     * The wallet has no other entries between this hour and this time.
     */
    complete_until: string;
    /** The digest of all entries up to and including this hour. */
    digest: string;
    in_hour: InclusionProof;
    /** The position of the hour's root in the tree of the day. Null until the day is complete. */
    in_day: InclusionProof | null;
};

export type Receipt = {
    /** A compact JWS (RFC 7515) signed with Ed25519. Its claims: `iss`, `iat`, `jti`, `sub` (the wallet), `kind` (`search` or `top_up`), `id`, `status`, `amount`, `currency` and `entries`, the ledger entries with microseconds. Verify it with `/.well-known/jwks.json`. */
    receipt: string;
};

/** @enum {string} */
export type KeyMode = "live" | "test" | "mgmt";

export type KeyBudgetPeriod = {
    limit: string;
    spent: string;
    /** Null if it does not reset. */
    resets_at: string | null;
};

export type KeyBudget = {
    /** In total. It does not reset. */
    total: KeyBudgetPeriod | null;
    /** Per day. It resets at midnight UTC. */
    day: KeyBudgetPeriod | null;
    /** Per month. It resets on the first day of the month, UTC. */
    month: KeyBudgetPeriod | null;
};

export type KeyEndUserLimit = {
    amount: string;
    /** @enum {string} */
    period: "day" | "month";
};

export type BudgetOfKey = {
    /** Format: uuid */
    id: string;
    name: string;
    /** @enum {string} */
    period: "total" | "day" | "week" | "month";
    /** @enum {string} */
    per: "wallet" | "end_user";
    /** The amount, and its temporary increase. */
    limit: string;
    /** By all of its keys. Null for a budget per end user. */
    spent: string | null;
    /** When the current period ends. Null if it does not. */
    resets_at: string | null;
};

/** Budget of every run that a client names. Without it, searches have no run. */
export type CompatRun = {
    /** Budget of a run in USD, at least 0.01. */
    max: string;
    /** How long a run lasts, such as `1h`. At most `30d`. */
    ttl: string;
};

/** Settings for the compatibility endpoints, whose clients cannot send our headers. */
export type KeyCompat = {
    /** Parameters to ignore instead of refusing the search: groups such as `domains` or `freshness`, or single parameters of a compatibility endpoint such as `include_domains`. */
    ignore?: string[];
    /** Do not charge again for the same search within this time, such as `20m`. Applies to MCP too. At most `24h`. */
    repeat?: string;
    run?: CompatRun;
};

/** The domains that searches with the key may return, such as `example.com` or `docs.example.com`. A domain includes its subdomains. At most 200 in both lists together, stored in lower case and ASCII. A change replaces both lists. */
export type KeySources = {
    /** Results from these domains and their subdomains are removed. */
    block?: string[];
    /** Results from all other domains are removed. `block` takes precedence. */
    only?: string[];
};

export type MaxRun = {
    /** The largest `max` of a run that a search can name, in USD. */
    max: string;
    /** Whether every search must name a run. */
    required: boolean;
};

export type KeyCreator = {
    /** @enum {string} */
    type: "person" | "key" | "operator";
    id: string | null;
    /** The email address of the person, or the current name of the key. */
    name: string | null;
};

export type Key = {
    /** Format: uuid */
    id: string;
    mode: KeyMode;
    name: string;
    /** The first characters of the key, to recognize it by. `oauth` for a connected app, which has no secret. */
    start: string;
    /** @enum {string} */
    state: "active" | "expired" | "revoked";
    scopes: string[];
    /** Null for any address. */
    allowed_ips: string[] | null;
    searches_per_second: number;
    searches_in_flight: number;
    /** Spending limits in USD. Searches in flight count as spent. Null without a budget. */
    budget: KeyBudget | null;
    /** Maximum amount that each end user can spend with this key. Null without a limit. */
    end_user_limit: KeyEndUserLimit | null;
    /** The shared budgets that searches of this key also spend from, in the order in which they refuse. */
    budgets: BudgetOfKey[];
    /** Null without settings. */
    compat: KeyCompat | null;
    /** Your own id, unique among the keys of a mode that are not revoked, by which `pennyblack apply` finds the object. Null for none. */
    external_id: string | null;
    /** Null if results of every domain are returned. */
    sources: KeySources | null;
    /** Null if searches can name any run, or none. */
    max_run: MaxRun | null;
    /** Null for no expiry. */
    expires_at: string | null;
    /** Null if not revoked. */
    revoked_at: string | null;
    revoked_reason: ("owner" | "operator" | "leaked" | "account_deleted") | null;
    /** The id of the key that this one replaced. */
    rotated_from: string | null;
    /** Up to a minute old. Null if never used. */
    last_used_at: string | null;
    /** Format: date-time */
    created_at: string;
    /** The person or key that created, rotated or connected the key. Null for the first keys of an account, and in `GET /v1/key`, which works with every key. */
    created_by: KeyCreator | null;
};

export type EffectiveLimits = {
    searches_per_second: number;
    searches_in_flight: number;
};

export type CurrentKey = Key & {
    /** The lower of the key's limits and the limits that the wallet's live or test keys share. Null for a management key, which cannot search. */
    effective_limits: EffectiveLimits | null;
};

export type KeyList = {
    keys: Key[];
    /** Pass as `cursor` to get the next page. Null on the last page. */
    next_cursor: string | null;
};

/** Spending limits of a live or test key: total, per day and per month (UTC). A test key spends play money. Null removes a limit. A change leaves omitted limits as they are. */
export type KeyBudgetLimits = {
    total?: string | null;
    day?: string | null;
    month?: string | null;
};

/** Maximum amount that each end user can spend with a live or test key per day or month (UTC). Searches must then name an end user in `Search-For`. Null for no limit. */
export type EndUserLimit = {
    /** USD as a decimal string. */
    amount: string;
    /** @enum {string} */
    period: "day" | "month";
};

/** Limits the runs that searches of a live or test key can name in `Search-Run`. A search with a larger `max`, or without a run if one is required, gets 400. Null for no limit. A change replaces both fields. */
export type NewMaxRun = {
    /** The largest `max` of a run that a search can name, in USD, at least 0.01. */
    max: string;
    /**
     * Whether every search must name a run.
     * @default false
     */
    required?: boolean;
};

/** @enum {string} */
export type Scope = "search" | "wallet:read" | "wallet:write" | "keys:read" | "keys:write" | "webhooks:write" | "activity:read" | "budgets:request";

export type CreateKeyRequest = {
    mode: KeyMode;
    /** A name of your choice, shown in lists and alerts. Never sent to an upstream. */
    name: string;
    allowed_ips?: string[] | null;
    expires_at?: string | null;
    /** @default 1000 */
    searches_per_second?: number;
    /** @default 1000 */
    searches_in_flight?: number;
    budget?: KeyBudgetLimits | null;
    end_user_limit?: EndUserLimit | null;
    /** The ids of shared budgets (`POST /v1/budgets`) of the key's mode that its searches also spend from. An empty list removes all. */
    budgets?: string[];
    compat?: KeyCompat | null;
    sources?: KeySources | null;
    max_run?: NewMaxRun | null;
    /** Your own id, unique among the keys of a mode that are not revoked, by which `pennyblack apply` finds the object. Null for none. */
    external_id?: string | null;
    /** Live and test keys can have `search`, `wallet:read` and `budgets:request`, management keys all scopes except `search` and `budgets:request`. `keys:write` includes `keys:read`. Default: `search` for live and test keys, all scopes of your own key for management keys. */
    scopes?: Scope[];
};

export type CreatedKey = Key & {
    /** The key itself. It is returned only once. */
    key: string;
};

export type UpdateKeyRequest = {
    /** A name of your choice, shown in lists and alerts. Never sent to an upstream. */
    name?: string;
    allowed_ips?: string[] | null;
    expires_at?: string | null;
    /** @default 1000 */
    searches_per_second?: number;
    /** @default 1000 */
    searches_in_flight?: number;
    budget?: KeyBudgetLimits | null;
    end_user_limit?: EndUserLimit | null;
    /** The ids of shared budgets (`POST /v1/budgets`) of the key's mode that its searches also spend from. An empty list removes all. */
    budgets?: string[];
    compat?: KeyCompat | null;
    sources?: KeySources | null;
    max_run?: NewMaxRun | null;
    /** Your own id, unique among the keys of a mode that are not revoked, by which `pennyblack apply` finds the object. Null for none. */
    external_id?: string | null;
};

export type RotateKeyRequest = {
    /** How long the old key keeps working. 0 to expire it immediately. */
    grace_seconds: number;
};

export type BudgetIncrease = {
    amount: string;
    /** Format: date-time */
    ends_at: string;
};

export type Budget = {
    /** Format: uuid */
    id: string;
    /** @enum {string} */
    mode: "live" | "test";
    name: string;
    amount: string;
    /** @enum {string} */
    period: "total" | "day" | "week" | "month";
    /** @enum {string} */
    per: "wallet" | "end_user";
    /** A temporary increase, which a person has approved. Until `ends_at`, each period has `amount` more. Null if there is none. */
    increase: BudgetIncrease | null;
    /** Percentages of the amount at which you are warned. */
    alerts: number[];
    /** Your own id, unique among the budgets of a mode that are not archived, by which `pennyblack apply` finds the object. Null for none. */
    external_id: string | null;
    /** Spent in the current period, including searches in flight. Null for a budget per end user. */
    spent: string | null;
    /** When the current period ends. Null if it does not. */
    resets_at: string | null;
    /** Null if not archived. */
    archived_at: string | null;
    /** Format: date-time */
    created_at: string;
    created_by: KeyCreator | null;
};

export type BudgetList = {
    budgets: Budget[];
    /** Pass as `cursor` to get the next page. Null on the last page. */
    next_cursor: string | null;
};

export type CreateBudgetRequest = {
    /**
     * The mode of its keys. A budget of test keys counts play money.
     * @enum {string}
     */
    mode: "live" | "test";
    /** A name of your choice. A search that the budget refuses returns it. */
    name: string;
    /** USD as a decimal string, at least 0.01. */
    amount: string;
    /** Percentages of the amount at which you are warned, at most once each per period. Default: 80 and 95, and none per end user. */
    alerts?: number[];
    /** Your own id, unique among the budgets of a mode that are not archived, by which `pennyblack apply` finds the object. Null for none. */
    external_id?: string | null;
    /**
     * `total` does not reset. Days, ISO weeks (from Monday) and months are in UTC. It cannot be changed.
     * @enum {string}
     */
    period: "total" | "day" | "week" | "month";
    /**
     * `wallet`: all searches of its keys share the amount. `end_user`: each end user in `Search-For` has the amount, and `period` cannot be `total`. It cannot be changed. Default: `wallet`.
     * @enum {string}
     */
    per?: "wallet" | "end_user";
};

export type UpdateBudgetRequest = {
    /** A name of your choice. A search that the budget refuses returns it. */
    name?: string;
    /** USD as a decimal string, at least 0.01. */
    amount?: string;
    /** Percentages of the amount at which you are warned, at most once each per period. Default: 80 and 95, and none per end user. */
    alerts?: number[];
    /** Your own id, unique among the budgets of a mode that are not archived, by which `pennyblack apply` finds the object. Null for none. */
    external_id?: string | null;
};

export type CreateBudgetRequestRequest = {
    /** The id of a shared budget that the key names. */
    budget: string;
    /** USD to add to the amount of each period, at least 0.01. */
    amount: string;
    /** How long the increase lasts once it is approved. */
    hours: number;
};

export type BudgetRequest = {
    /** Format: uuid */
    id: string;
    /** Format: uuid */
    budget: string;
    amount: string;
    hours: number;
    /** @constant */
    state: "open";
    /**
     * Format: uri
     * The page of the console where a person decides.
     */
    url: string;
};

export type Search = {
    /**
     * Format: uuid
     * The `Request-Id` of its response.
     */
    request_id: string;
    /**
     * `search`: its price was held. `refused`: rejected before that, for example by a limit. `replayed`: answered from its `Idempotency-Key`. Only a search can be charged.
     * @enum {string}
     */
    kind: "search" | "refused" | "replayed";
    /**
     * Format: date-time
     * When the price of the search was held, or the refused or replayed request arrived.
     */
    at: string;
    /** @enum {string} */
    mode: "live" | "test";
    /** Format: uuid */
    key_id: string;
    key_name: string | null;
    category: string | null;
    /** `ok`, or the problem code of the failure or refusal. `pending`: in flight. `expired`, `caller_left` and `released`: ended without a response and was not charged. `replayed`: answered from its `Idempotency-Key`. */
    outcome: string;
    /** Amount charged, before any refund, in USD as a decimal string. */
    charged: string;
    /** Milliseconds from the arrival of the request to the charge or release. Null while the search is in flight, and if there was no hold. An expired search has no `steps` and counts from its hold. */
    ms: number | null;
    /** The parts of `ms`. Null while the search is in flight, if it expired, and if there was no hold. */
    steps: {
        /** Finding the key. */
        auth: number;
        /** Limits, reading the request, and holding the price. */
        hold: number;
        /** Waiting for upstreams. */
        upstream: number;
        /** Ranking and encoding the results. */
        rank: number;
        /** The charge or release. */
        ledger: number;
    } | null;
    /** The end user in its `Search-For` header: a hash that starts with `~`, or the id if the wallet stores plain ids. Null without one. */
    end_user: string | null;
    /** The run named by its `Search-Run` header. Null without a run, for a test search, and once the run is deleted, an hour after it ends. A request that was refused before its header was read has none. */
    run: string | null;
    /** How a refused or replayed request was sent: to the API, a compatibility endpoint, `/mcp` or the playground. Null for a search. */
    transport: ("http" | "compat" | "mcp" | "playground") | null;
};

export type UnlistedRequests = {
    /**
     * Format: date-time
     * Refusals and replays are listed and counted from this time on.
     */
    since: string;
    /** Refusals and replays that match the filters and are not stored individually, because a key had more than 20 in a minute or the wallet more than 100 in a minute or 5,000 in a day. Counted in whole hours. */
    count: number;
    /** There can be more, because a server crashed in one of these hours or had too many different requests to count. */
    at_least: boolean;
};

export type SearchList = {
    searches: Search[];
    /**
     * Format: date-time
     * Searches sent before this time are not listed. With `kind=refused` or `replayed`: requests.
     */
    since: string;
    /** Null if the list excludes refusals and replays, or is filtered by `run` or `for`, by which they are not counted. */
    unlisted: UnlistedRequests | null;
    /** Pass as `cursor` to get the next page. With a filter, a page scans at most 5,000 searches, so it can be short or empty without being the last. */
    next_cursor: string | null;
};

export type SearchDetails = Search & {
    /** Its charge and refund, newest first, with the balance after each. */
    entries: Entry[];
};

export type Run = {
    /** The id sent in `Search-Run`. */
    run: string;
    /** Amount spent, including searches in flight, in USD as a decimal string. */
    spent: string;
    /** Its `max`, in USD as a decimal string. */
    limit: string;
    /** Number of searches counted in `spent`. */
    searches: number;
    /**
     * Format: date-time
     * When its first search started it.
     */
    first_at: string;
    /** Format: date-time */
    expires_at: string;
};

export type RunList = {
    runs: Run[];
    /** Pass as `cursor` to get the next page. Null on the last page. */
    next_cursor: string | null;
};

export type UsagePeriod = {
    /**
     * Format: date-time
     * Start of the hour or day, in UTC.
     */
    start: string;
    /** @enum {string} */
    mode: "live" | "test";
    /** Format: uuid */
    key_id?: string;
    category?: string | null;
    /** `ok`, or the problem code of the failure or refusal. `expired`, `caller_left` and `released`: ended without a response and was not charged. `replayed`: answered from its `Idempotency-Key` and was not charged again. */
    outcome?: string;
    /** A hash that starts with `~`, or the id if the wallet stores plain ids. */
    end_user?: string;
    /** Requests whose price was held, whether they succeeded or failed. */
    searches: number;
    /** Requests answered from their `Idempotency-Key`. Not by end user. */
    replays?: number;
    /** Requests rejected before their price was held. Not by end user. */
    refusals?: number;
    /** Amount in USD as a decimal string. */
    charged: string;
};

export type UsageReport = {
    /** Format: date-time */
    from: string;
    /** Format: date-time */
    to: string;
    /** @enum {string} */
    by: "hour" | "day";
    /**
     * Format: date-time
     * All searches that finished before this time are counted. It is the current time, or a few minutes earlier for a very busy wallet. A period that ends later is not complete.
     */
    as_of: string;
    /** There can be more replays and refusals than reported, because a server crashed in this period or had too many different ones to count. Searches are exact. */
    at_least: boolean;
    /** @constant */
    currency: "usd";
    usage: UsagePeriod[];
    /** Pass as `cursor` to get the next page. Null on the last page. */
    next_cursor: string | null;
};

export type HourlySearches = {
    /** Format: date-time */
    start: string;
    searches: number;
    succeeded: number;
    replays: number;
    refusals: number;
    /** Total charged for them, in USD as a decimal string. */
    charged: string;
};

export type WalletSummary = {
    /** @enum {string} */
    mode: "live" | "test";
    /** @constant */
    currency: "usd";
    /**
     * Format: date-time
     * All searches that finished before this time are counted. It is the current time, or a few minutes earlier for a very busy wallet.
     */
    as_of: string;
    /** Credits minus charges, in USD as a decimal string. */
    balance: string;
    /** Part of the balance reserved for searches in flight, in USD as a decimal string. */
    held: string;
    /** Balance that new searches can spend, in USD as a decimal string. */
    available: string;
    /** Debt left by refunded or disputed payments, in USD as a decimal string. */
    owed: string;
    /** Average charges per day over the last 7 x 24 hours, or since the first charge if that is more recent (but at least one day), in USD as a decimal string. */
    burn_per_day: string;
    /** `available` divided by `burn_per_day`, to one decimal. Null without charges in the last seven days, and in the first 24 hours after the first charge. */
    runway_days: number | null;
    today: {
        /** Searches held since midnight UTC that have finished. */
        searches: number;
        /** Replays of an `Idempotency-Key` since midnight UTC. */
        replays: number;
        /** Requests refused since midnight UTC, before their price was held. */
        refusals: number;
        /** Total charged for them, in USD as a decimal string. */
        charged: string;
        /** Average number of searches by this time of day, over the previous seven days or since the first search. Null on the first day. */
        usual_searches_by_now: number | null;
    };
    last_24h: {
        /** Total of `hours`. */
        searches: number;
        /** Searches that succeeded. The others failed. */
        succeeded: number;
        /** Requests answered from their `Idempotency-Key`. */
        replays: number;
        /** Requests rejected before their price was held. */
        refusals: number;
        /** There can be more replays and refusals, because a server crashed or had too many different ones to count. */
        at_least: boolean;
        /** `succeeded` divided by `searches`. A search whose caller disconnected did not succeed. Replays and refusals do not count. */
        success_rate: number | null;
        /** Median time from the arrival of the request to the charge, over the latest 1,000 successful searches of the last 24 hours. */
        p50_ms: number | null;
        /** 95th percentile of the same searches. */
        p95_ms: number | null;
    };
    /** The current hour and the 23 before it, oldest first, in UTC. */
    hours: HourlySearches[];
};

export type AlertSettings = {
    /** Address that receives alerts about the balance, shared budgets and webhooks, if the operator has configured email. Null for no email. */
    email: string | null;
    /** Alert when the balance falls below this amount, in USD, at most once an hour. Null for no alert. */
    low_balance: string | null;
};

export type EndUserSettings = {
    /**
     * How the ids in `Search-For` are stored: as hashes under a key of the wallet, or as they are sent. Default: `hashed`.
     * @enum {string}
     */
    ids: "hashed" | "plain";
};

/** @enum {string} */
export type EventType = "wallet.low_balance" | "wallet.depleted" | "top_up.succeeded" | "top_up.failed" | "key.created" | "key.rotated" | "key.revoked" | "key.budget_spent" | "budget.threshold" | "budget.spent" | "budget.increase_requested" | "service.incident";

export type Webhook = {
    /** Format: uuid */
    id: string;
    /** An https URL on the public internet. */
    url: string;
    /** For your own use. */
    description: string;
    events: EventType[];
    /** Your own id, unique among the webhooks of the wallet, by which `pennyblack apply` finds the object. Null for none. */
    external_id: string | null;
    enabled: boolean;
    /** `gone`: the endpoint returned 410. `failing`: every delivery failed for five days. */
    disabled_reason: ("owner" | "gone" | "failing") | null;
    /** Time of the first failure since the last success. */
    failing_since: string | null;
    /** Until this time, deliveries are also signed with the previous secret. */
    previous_secret_until: string | null;
    /** Format: date-time */
    created_at: string;
};

export type WebhookList = {
    endpoints: Webhook[];
};

export type CreateWebhookRequest = {
    /** An https URL on the public internet. */
    url: string;
    /** For your own use. */
    description?: string;
    events?: EventType[];
    /** Your own id, unique among the webhooks of the wallet, by which `pennyblack apply` finds the object. Null for none. */
    external_id?: string | null;
};

export type CreatedWebhook = Webhook & {
    /** Signing secret. Shown only once. */
    secret: string;
};

export type UpdateWebhookRequest = {
    /** An https URL on the public internet. */
    url?: string;
    /** For your own use. */
    description?: string;
    events?: EventType[];
    enabled?: boolean;
    /** Your own id, unique among the webhooks of the wallet, by which `pennyblack apply` finds the object. Null for none. */
    external_id?: string | null;
};

export type DeletedWebhook = {
    /** Format: uuid */
    id: string;
    /** @constant */
    deleted: true;
};

export type RotatedWebhookSecret = {
    /** Format: uuid */
    id: string;
    /** Signing secret. Shown only once. */
    secret: string;
    /** Format: date-time */
    previous_secret_until: string;
};

export type DeliveryEvent = {
    /** Format: uuid */
    id: string;
    type: string;
    /** Format: date-time */
    created_at: string;
};

export type Delivery = {
    /** Format: uuid */
    id: string;
    /** Format: uuid */
    endpoint_id: string;
    event: DeliveryEvent;
    /** @enum {string} */
    status: "pending" | "delivered" | "failed";
    attempts: number;
    /** HTTP status of the last response. */
    response_status: number | null;
    /** Why the last attempt failed: status, redirect, timeout, unreachable, private_address (no public address is known), not_https, endpoint_disabled. */
    error: string | null;
    /** Time of the last attempt. */
    last_attempt_at: string | null;
    /** Time of the next attempt, while the delivery is pending. */
    next_attempt_at: string | null;
    /** Format: date-time */
    created_at: string;
};

export type DeliveryList = {
    deliveries: Delivery[];
    /** Pass as `cursor` to get the next page. Null on the last page. */
    next_cursor: string | null;
};

export type ActivityActor = {
    /**
     * `operator`: the operator of this service. `system`: an automatic change, such as disabling a webhook endpoint that keeps failing.
     * @enum {string}
     */
    type: "person" | "key" | "operator" | "system";
    /** The id of the person or key. */
    id: string | null;
    /** The email address of the person, or the current name of the key. */
    name: string | null;
};

export type ActivitySubject = {
    /** The id of the changed subject. */
    id: string;
    /** Its current name. Null if it has none. */
    name: string | null;
};

export type Activity = {
    /** Format: uuid */
    id: string;
    /** Format: date-time */
    at: string;
    actor: ActivityActor;
    /** The action, as `<subject>.<verb>`, such as `key.change`. */
    act: string;
    subject: ActivitySubject;
    /** The act and the name in words, such as `Changed the key crawler`. */
    summary: string;
    /** `done`. An action of the operator can have another outcome. */
    outcome: string;
    /** The previous values of the fields that changed. Null if there are none. */
    before: {
        [key: string]: unknown;
    } | null;
    /** The new values of the fields that changed. Never a key or a signing secret. */
    after: {
        [key: string]: unknown;
    } | null;
};

export type ActivityList = {
    activity: Activity[];
    /**
     * Format: date-time
     * Earlier changes are not listed.
     */
    since: string;
    /** Pass as `cursor` to get the next page. Null on the last page. */
    next_cursor: string | null;
};

export type CreateTopUpRequest = {
    /** Amount in USD, in whole cents, such as "20.00". */
    amount: string;
    /** Page to return to after payment. */
    success_url?: string;
    /** Page to return to if the checkout is canceled. */
    cancel_url?: string;
};

export type TopUp = {
    /** Format: uuid */
    id: string;
    /**
     * `succeeded`: the wallet has been credited.
     * @enum {string}
     */
    status: "pending" | "succeeded" | "failed" | "expired" | "refunded" | "disputed";
    /** @enum {string} */
    kind: "checkout" | "automatic";
    /** Amount of the top-up, in USD as a decimal string. */
    amount: string;
    /** Amount refunded, in USD as a decimal string. */
    refunded: string;
    /** @constant */
    currency: "usd";
    /** Payment page, while the top-up is pending. */
    checkout_url: string | null;
    /** Receipt from the payment processor. */
    receipt_url: string | null;
    /** Decline or error code, if it failed. */
    failure: string | null;
    /** Format: date-time */
    created_at: string;
    /** When the checkout expires. */
    expires_at: string | null;
    /** When it left the `pending` status. */
    settled_at: string | null;
};

export type TopUpList = {
    top_ups: TopUp[];
    /** Pass as `cursor` to get the next page. Null on the last page. */
    next_cursor: string | null;
};

export type AutoTopUp = {
    /**
     * `waiting_for_card`: the next paid checkout saves its card. `backing_off`: the card was declined, and the next attempt is at `next_attempt_at`. `off`: turned off after four declines. Set it again to resume.
     * @enum {string}
     */
    state: "none" | "waiting_for_card" | "active" | "backing_off" | "off";
    /** The wallet is topped up when its balance falls below this amount. */
    threshold: string | null;
    /** Amount of each top-up. */
    amount: string | null;
    /** Maximum added per UTC day. */
    daily_cap: string | null;
    /** Maximum added per UTC month. */
    monthly_cap: string | null;
    /** Amount added automatically in this UTC month. */
    added_this_month: string | null;
    next_attempt_at: string | null;
    /** @constant */
    currency: "usd";
};

export type SetAutoTopUpRequest = {
    /** The wallet is topped up when its balance falls below this amount. */
    threshold: string;
    /** Amount of each top-up. */
    amount: string;
    /** Maximum added per UTC month. */
    monthly_cap: string;
    /** Maximum added per UTC day. Default: `monthly_cap`. */
    daily_cap?: string;
};

export type StripeEvent = {
    [key: string]: unknown;
};

export type StripeEventOutcome = {
    /** How the event was applied. */
    outcome: string;
};

export type ServiceObjective = {
    /** @enum {string} */
    name: "availability" | "own_availability" | "own_latency";
    /** The ratio that the operator aims for. */
    target: number;
    /** The ratio in the last 30 days, rounded down. Null without requests. */
    value: number | null;
    /** Null without requests. */
    met: boolean | null;
};

export type StatusDay = {
    /** Format: date */
    day: string;
    /** As in `objectives`. Null without requests. */
    availability: number | null;
    /** 95th percentile of successful searches, measured from the request to the charge, and rounded up by less than 10%. Null without searches. */
    p95_ms: number | null;
};

export type IncidentUpdate = {
    /** Format: date-time */
    at: string;
    text: string;
};

export type Incident = {
    /** Format: uuid */
    id: string;
    title: string;
    /** @enum {string} */
    impact: "degraded" | "outage";
    /**
     * Format: date-time
     * When the incident started.
     */
    opened_at: string;
    /** Null while it is open. */
    closed_at: string | null;
    /** What the operator reported, oldest first. */
    updates: IncidentUpdate[];
};

export type StatusCell = {
    name: string;
    /**
     * `operational`: no incident is open. `degraded` or `outage`: the worst impact of an open incident. `unavailable`: no server is running, or the database does not respond.
     * @enum {string}
     */
    state: "operational" | "degraded" | "outage" | "unavailable";
    /** In the last 30 days. Null without requests, or if the cell could not be read. */
    availability: number | null;
};

export type ServiceStatus = {
    /**
     * `operational`: no incident is open. `degraded` or `outage`: the worst impact of an open incident. `unavailable`: no server is running, or the database does not respond.
     * @enum {string}
     */
    state: "operational" | "degraded" | "outage" | "unavailable";
    /**
     * Format: date-time
     * The last update. If it is more than 5 minutes ago, this copy is out of date.
     */
    written_at: string;
    /**
     * Format: date-time
     * The figures include searches started before this time.
     */
    counted_before: string;
    /** `availability`: requests that succeeded. `own_availability`: the same, but failures of providers do not count. `own_latency`: successful searches that spent at most 100 ms outside providers. Requests rejected because of the caller are not included. */
    objectives: ServiceObjective[];
    /** The last 90 days in UTC, oldest first. The last one is today. */
    days: StatusDay[];
    /** Open, or closed in the last 90 days. Newest first. */
    incidents: Incident[];
    /** Present on a page of several cells. The other figures are totals of all cells. */
    cells?: StatusCell[];
};

export type OpenapiDocument = {
    [key: string]: unknown;
};

export type SigningKey = {
    /** @constant */
    kty: "OKP";
    /** @constant */
    crv: "Ed25519";
    /** The public key, in base64url. */
    x: string;
    /** The key's RFC 7638 thumbprint, which signatures name. */
    kid: string;
    /** @constant */
    alg: "EdDSA";
    /** @constant */
    use: "sig";
};

export type SigningKeySet = {
    keys: SigningKey[];
};
