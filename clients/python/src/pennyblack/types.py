"""The resources of the API. Amounts are decimal strings in USD, times ISO 8601 strings."""

# Generated from openapi.json by `npm run generate`.

from typing import Any, Dict, List, Literal, Optional, TypedDict


#: Identifies the error. Codes never change, but later versions can add codes.
ProblemCode = Literal[
    "malformed_json",
    "invalid_request",
    "query_too_long",
    "end_user_required",
    "conflicting_credentials",
    "authentication_required",
    "api_key_invalid",
    "api_key_revoked",
    "api_key_expired",
    "insufficient_balance",
    "balance_reserved",
    "insufficient_scope",
    "ip_not_allowed",
    "account_suspended",
    "key_budget_spent",
    "run_budget_spent",
    "end_user_budget_spent",
    "not_found",
    "method_not_allowed",
    "idempotency_in_progress",
    "budget_in_use",
    "budget_limit_reached",
    "budget_requests_open",
    "key_limit_reached",
    "key_not_active",
    "payload_too_large",
    "unsupported_media_type",
    "idempotency_key_reused",
    "rate_limited",
    "concurrency_limited",
    "unpaid_calls_limited",
    "internal_error",
    "upstream_error",
    "upstream_invalid_response",
    "upstream_unreachable",
    "payment_processor_unavailable",
    "overloaded",
    "shutting_down",
    "ledger_unavailable",
    "upstream_not_configured",
    "payments_not_configured",
    "receipts_not_configured",
    "upstream_timeout",
]


class FieldError(TypedDict):
    #: JSON Pointer to the invalid field, such as `#/n`. `#` is the whole request.
    pointer: str
    #: What is wrong with it.
    code: str
    #: The rule it violates.
    detail: str


class TopUpOptionsCreateBody(TypedDict):
    #: The amount to top up, in USD as a decimal string.
    amount: str


class TopUpOptionsCreate(TypedDict):
    method: Literal["POST"]
    url: str
    required_scope: Literal["wallet:write"]
    body: TopUpOptionsCreateBody


class _RequiredTopUpOptions(TypedDict):
    #: Where the wallet's owner adds money.
    url: str
    #: The smallest amount that pays the debt and one search, in USD as a decimal string.
    minimum: str
    #: How to add money.
    instructions: str


class TopUpOptions(_RequiredTopUpOptions, total=False):
    #: The request that creates a top-up, if payments are configured.
    create: TopUpOptionsCreate


class SpentBudget(TypedDict):
    """The budget that is spent."""

    #: Null for a limit of the key itself.
    id: Optional[str]
    name: Optional[str]
    period: Literal["total", "day", "week", "month"]


class IncreaseOptionsRequestBody(TypedDict):
    budget: str
    #: The amount to add, which you choose, in USD as a decimal string.
    amount: str
    hours: int


class IncreaseOptionsRequest(TypedDict):
    method: Literal["POST"]
    url: str
    required_scope: Literal["budgets:request"]
    body: IncreaseOptionsRequestBody


class _RequiredIncreaseOptions(TypedDict):
    #: The page of the console where a person can raise the budget.
    url: str


class IncreaseOptions(_RequiredIncreaseOptions, total=False):
    """How to get a higher budget."""

    #: The request that asks a person to raise the budget, if it is a shared budget.
    request: IncreaseOptionsRequest


class _RequiredExceededLimit(TypedDict):
    limit: Literal[
    "key_rate",
    "key_in_flight",
    "wallet_rate",
    "wallet_in_flight",
    "wallet_test_rate",
    "wallet_test_requests",
    "wallet_test_in_flight",
    "wallet_test_end_users",
    "wallet_management_rate",
    "wallet_management_in_flight",
    "wallet_unpaid_calls",
    "wallet_requested_deliveries",
    "network_rate",
    "network_in_flight",
    "network_invalid_keys",
    "network_sign_ins",
    "mailbox_emails",
    "person_emails",
    "account_invitations",
    "wallet_share",
    "network_share",
    "server_in_flight",
    "server_test_in_flight",
    "server_look_ups",
    "server_public_in_flight",
    "server_webhooks_in_flight",
    "ledger_queue",
]
    #: The first word of `limit`: the key, the wallet, your network or the server.
    applies_to: str
    #: The value of the limit.
    max: int
    retry_after_seconds: int


class ExceededLimit(_RequiredExceededLimit, total=False):
    """The limit that was exceeded."""

    #: The period of a rate. Absent for a number of requests in flight.
    window_seconds: int


#: Hint for the kind of source to prefer. Case-sensitive.
Category = Literal["programming", "research", "gov", "business"]


Lens = TypedDict("Lens", {
    #: `base`, or the category it ranks.
    "name": str,
    #: The version in the header `Rank-Lens: name@version`.
    "version": str,
    #: Hash of the lens and the lens it extends. Lenses with the same digest rank identically.
    "digest": str,
    #: Weight of authority in the score, from 0 to 1. The rest is the upstream's rank.
    "lambda": float,
    #: Number of rules, including inherited ones.
    "rules": int,
    #: Names of the registries that count as well.
    "registries": List[str],
    #: URL of the lens text.
    "url": str,
})


class Registry(TypedDict):
    #: Name of the registry, as in `Rank-Explain`.
    name: str
    #: Title of the published list.
    title: str
    #: URL of the list.
    source: str
    #: Terms of the list.
    licence: str
    #: Authors of the list.
    attribution: str
    #: Date of the copy in use.
    retrieved: str


class LensInspection(TypedDict):
    #: The lens, as `name@version`.
    lens: str
    #: The host that the rules are compared with.
    host: str
    #: Authority, from `A` to `E`. `N` is neutral.
    tier: Literal["A", "B", "C", "N", "D", "E"]
    #: The reason of the rule, or `unlisted`.
    reason: str
    #: The rule as written in the lens. Null if no rule matches or the tier comes from a registry.
    rule: Optional[str]
    #: The published list that the tier comes from.
    registry: Optional[Registry]
    #: How to object to a tier.
    objection_url: str


class Wallet(TypedDict):
    id: str
    name: str
    currency: Literal["usd"]
    #: Credits minus charges, in USD as a decimal string.
    balance: str
    #: Part of the balance reserved for searches in flight, in USD as a decimal string.
    held: str
    #: Balance that new searches can spend, in USD as a decimal string.
    available: str
    #: Debt left by refunded or disputed payments, which newly available money pays off first, in USD as a decimal
    #: string.
    owed: str
    #: Price of one search, in USD as a decimal string.
    price: str
    suspended: bool


#: `reversal`: a payment was refunded or disputed. `reinstatement`: the reversed money was returned. `settlement`: money
#: that paid off debt. `correction`: an entry was wrong. `payout`: the balance was paid out. `breakage`: a balance was
#: forfeited. `transfer_out` and `transfer_in`: balance that the operator transferred between installations.
EntryKind = Literal[
    "search",
    "refund",
    "top_up",
    "credit",
    "reversal",
    "reinstatement",
    "settlement",
    "correction",
    "payout",
    "breakage",
    "transfer_out",
    "transfer_in",
]


class _RequiredEntry(TypedDict):
    id: str
    kind: EntryKind
    #: Amount added to the wallet, or negative if deducted, in USD as a decimal string.
    amount: str
    currency: Literal["usd"]
    #: The search that was charged or refunded. Null for other kinds.
    request_id: Optional[str]
    created_at: str


class Entry(_RequiredEntry, total=False):
    #: Balance after this entry, omitted in lists filtered by `kind` or `request_id`, in USD as a decimal string.
    balance: str


class InclusionProof(TypedDict):
    """
    The position of a hash in a signed tree. `in_hour` is the position of the wallet's digest among the digests of all
    wallets with entries in this hour and of the operator's records.
    """

    leaf_index: int
    tree_size: int
    #: The sibling hashes from the leaf to the root (RFC 6962).
    path: List[str]
    #: The signed root: a compact JWS.
    signed: str


class WalletProof(TypedDict):
    wallet_id: str
    #: The last closed hour with entries of the wallet. An entry belongs to the hour of its `created_at`.
    hour: str
    #: The wallet has no other entries between this hour and this time.
    complete_until: str
    #: The digest of all entries up to and including this hour.
    digest: str
    in_hour: InclusionProof
    #: The position of the hour's root in the tree of the day. Null until the day is complete.
    in_day: Optional[InclusionProof]


class Receipt(TypedDict):
    #: A compact JWS (RFC 7515) signed with Ed25519. Its claims: `iss`, `iat`, `jti`, `sub` (the wallet), `kind`
    #: (`search` or `top_up`), `id`, `status`, `amount`, `currency` and `entries`, the ledger entries with microseconds.
    #: Verify it with `/.well-known/jwks.json`.
    receipt: str


KeyMode = Literal["live", "test", "mgmt"]


class KeyBudgetPeriod(TypedDict):
    limit: str
    spent: str
    #: Null if it does not reset.
    resets_at: Optional[str]


class KeyBudget(TypedDict):
    #: In total. It does not reset.
    total: Optional[KeyBudgetPeriod]
    #: Per day. It resets at midnight UTC.
    day: Optional[KeyBudgetPeriod]
    #: Per month. It resets on the first day of the month, UTC.
    month: Optional[KeyBudgetPeriod]


class KeyEndUserLimit(TypedDict):
    amount: str
    period: Literal["day", "month"]


class BudgetOfKey(TypedDict):
    id: str
    name: str
    period: Literal["total", "day", "week", "month"]
    per: Literal["wallet", "end_user"]
    #: The amount, and its temporary increase.
    limit: str
    #: By all of its keys. Null for a budget per end user.
    spent: Optional[str]
    #: When the current period ends. Null if it does not.
    resets_at: Optional[str]


class CompatRun(TypedDict):
    """Budget of every run that a client names. Without it, searches have no run."""

    #: Budget of a run in USD, at least 0.01.
    max: str
    #: How long a run lasts, such as `1h`. At most `30d`.
    ttl: str


class KeyCompat(TypedDict, total=False):
    """Settings for the compatibility endpoints, whose clients cannot send our headers."""

    #: Parameters to ignore instead of refusing the search: groups such as `domains` or `freshness`, or single
    #: parameters of a compatibility endpoint such as `include_domains`.
    ignore: List[str]
    #: Do not charge again for the same search within this time, such as `20m`. Applies to MCP too. At most `24h`.
    repeat: str
    run: CompatRun


class KeySources(TypedDict, total=False):
    """
    The domains that searches with the key may return, such as `example.com` or `docs.example.com`. A domain includes
    its subdomains. At most 200 in both lists together, stored in lower case and ASCII. A change replaces both lists.
    """

    #: Results from these domains and their subdomains are removed.
    block: List[str]
    #: Results from all other domains are removed. `block` takes precedence.
    only: List[str]


class MaxRun(TypedDict):
    #: The largest `max` of a run that a search can name, in USD.
    max: str
    #: Whether every search must name a run.
    required: bool


class KeyCreator(TypedDict):
    type: Literal["person", "key", "operator"]
    id: Optional[str]
    #: The email address of the person, or the current name of the key.
    name: Optional[str]


class Key(TypedDict):
    id: str
    mode: KeyMode
    name: str
    #: The first characters of the key, to recognize it by. `oauth` for a connected app, which has no secret.
    start: str
    state: Literal["active", "expired", "revoked"]
    scopes: List[str]
    #: Null for any address.
    allowed_ips: Optional[List[str]]
    searches_per_second: int
    searches_in_flight: int
    #: Spending limits in USD. Searches in flight count as spent. Null without a budget.
    budget: Optional[KeyBudget]
    #: Maximum amount that each end user can spend with this key. Null without a limit.
    end_user_limit: Optional[KeyEndUserLimit]
    #: The shared budgets that searches of this key also spend from, in the order in which they refuse.
    budgets: List[BudgetOfKey]
    #: Null without settings.
    compat: Optional[KeyCompat]
    #: Your own id, unique among the keys of a mode that are not revoked, by which `pennyblack apply` finds the object.
    #: Null for none.
    external_id: Optional[str]
    #: Null if results of every domain are returned.
    sources: Optional[KeySources]
    #: Null if searches can name any run, or none.
    max_run: Optional[MaxRun]
    #: Null for no expiry.
    expires_at: Optional[str]
    #: Null if not revoked.
    revoked_at: Optional[str]
    revoked_reason: Optional[Literal["owner", "operator", "leaked", "account_deleted"]]
    #: The id of the key that this one replaced.
    rotated_from: Optional[str]
    #: Up to a minute old. Null if never used.
    last_used_at: Optional[str]
    created_at: str
    #: The person or key that created, rotated or connected the key. Null for the first keys of an account, and in `GET
    #: /v1/key`, which works with every key.
    created_by: Optional[KeyCreator]


class EffectiveLimits(TypedDict):
    searches_per_second: int
    searches_in_flight: int


class CurrentKey(Key):
    #: The lower of the key's limits and the limits that the wallet's live or test keys share. Null for a management
    #: key, which cannot search.
    effective_limits: Optional[EffectiveLimits]


class KeyBudgetLimits(TypedDict, total=False):
    """
    Spending limits of a live or test key: total, per day and per month (UTC). A test key spends play money. Null
    removes a limit. A change leaves omitted limits as they are.
    """

    total: Optional[str]
    day: Optional[str]
    month: Optional[str]


class EndUserLimit(TypedDict):
    """
    Maximum amount that each end user can spend with a live or test key per day or month (UTC). Searches must then name
    an end user in `Search-For`. Null for no limit.
    """

    #: USD as a decimal string.
    amount: str
    period: Literal["day", "month"]


class _RequiredNewMaxRun(TypedDict):
    #: The largest `max` of a run that a search can name, in USD, at least 0.01.
    max: str


class NewMaxRun(_RequiredNewMaxRun, total=False):
    """
    Limits the runs that searches of a live or test key can name in `Search-Run`. A search with a larger `max`, or
    without a run if one is required, gets 400. Null for no limit. A change replaces both fields.
    """

    #: Whether every search must name a run.
    required: bool


Scope = Literal[
    "search",
    "wallet:read",
    "wallet:write",
    "keys:read",
    "keys:write",
    "webhooks:write",
    "activity:read",
    "budgets:request",
]


class _RequiredCreateKeyRequest(TypedDict):
    mode: KeyMode
    #: A name of your choice, shown in lists and alerts. Never sent to an upstream.
    name: str


class CreateKeyRequest(_RequiredCreateKeyRequest, total=False):
    allowed_ips: Optional[List[str]]
    expires_at: Optional[str]
    searches_per_second: int
    searches_in_flight: int
    budget: Optional[KeyBudgetLimits]
    end_user_limit: Optional[EndUserLimit]
    #: The ids of shared budgets (`POST /v1/budgets`) of the key's mode that its searches also spend from. An empty list
    #: removes all.
    budgets: List[str]
    compat: Optional[KeyCompat]
    sources: Optional[KeySources]
    max_run: Optional[NewMaxRun]
    #: Your own id, unique among the keys of a mode that are not revoked, by which `pennyblack apply` finds the object.
    #: Null for none.
    external_id: Optional[str]
    #: Live and test keys can have `search`, `wallet:read` and `budgets:request`, management keys all scopes except
    #: `search` and `budgets:request`. `keys:write` includes `keys:read`. Default: `search` for live and test keys, all
    #: scopes of your own key for management keys.
    scopes: List[Scope]


class CreatedKey(Key):
    #: The key itself. It is returned only once.
    key: str


class UpdateKeyRequest(TypedDict, total=False):
    #: A name of your choice, shown in lists and alerts. Never sent to an upstream.
    name: str
    allowed_ips: Optional[List[str]]
    expires_at: Optional[str]
    searches_per_second: int
    searches_in_flight: int
    budget: Optional[KeyBudgetLimits]
    end_user_limit: Optional[EndUserLimit]
    #: The ids of shared budgets (`POST /v1/budgets`) of the key's mode that its searches also spend from. An empty list
    #: removes all.
    budgets: List[str]
    compat: Optional[KeyCompat]
    sources: Optional[KeySources]
    max_run: Optional[NewMaxRun]
    #: Your own id, unique among the keys of a mode that are not revoked, by which `pennyblack apply` finds the object.
    #: Null for none.
    external_id: Optional[str]


class RotateKeyRequest(TypedDict):
    #: How long the old key keeps working. 0 to expire it immediately.
    grace_seconds: int


class BudgetIncrease(TypedDict):
    amount: str
    ends_at: str


class Budget(TypedDict):
    id: str
    mode: Literal["live", "test"]
    name: str
    amount: str
    period: Literal["total", "day", "week", "month"]
    per: Literal["wallet", "end_user"]
    #: A temporary increase, which a person has approved. Until `ends_at`, each period has `amount` more. Null if there
    #: is none.
    increase: Optional[BudgetIncrease]
    #: Percentages of the amount at which you are warned.
    alerts: List[int]
    #: Your own id, unique among the budgets of a mode that are not archived, by which `pennyblack apply` finds the
    #: object. Null for none.
    external_id: Optional[str]
    #: Spent in the current period, including searches in flight. Null for a budget per end user.
    spent: Optional[str]
    #: When the current period ends. Null if it does not.
    resets_at: Optional[str]
    #: Null if not archived.
    archived_at: Optional[str]
    created_at: str
    created_by: Optional[KeyCreator]


class _RequiredCreateBudgetRequest(TypedDict):
    #: The mode of its keys. A budget of test keys counts play money.
    mode: Literal["live", "test"]
    #: A name of your choice. A search that the budget refuses returns it.
    name: str
    #: USD as a decimal string, at least 0.01.
    amount: str
    #: `total` does not reset. Days, ISO weeks (from Monday) and months are in UTC. It cannot be changed.
    period: Literal["total", "day", "week", "month"]


class CreateBudgetRequest(_RequiredCreateBudgetRequest, total=False):
    #: Percentages of the amount at which you are warned, at most once each per period. Default: 80 and 95, and none per
    #: end user.
    alerts: List[int]
    #: Your own id, unique among the budgets of a mode that are not archived, by which `pennyblack apply` finds the
    #: object. Null for none.
    external_id: Optional[str]
    #: `wallet`: all searches of its keys share the amount. `end_user`: each end user in `Search-For` has the amount,
    #: and `period` cannot be `total`. It cannot be changed. Default: `wallet`.
    per: Literal["wallet", "end_user"]


class UpdateBudgetRequest(TypedDict, total=False):
    #: A name of your choice. A search that the budget refuses returns it.
    name: str
    #: USD as a decimal string, at least 0.01.
    amount: str
    #: Percentages of the amount at which you are warned, at most once each per period. Default: 80 and 95, and none per
    #: end user.
    alerts: List[int]
    #: Your own id, unique among the budgets of a mode that are not archived, by which `pennyblack apply` finds the
    #: object. Null for none.
    external_id: Optional[str]


class CreateBudgetRequestRequest(TypedDict):
    #: The id of a shared budget that the key names.
    budget: str
    #: USD to add to the amount of each period, at least 0.01.
    amount: str
    #: How long the increase lasts once it is approved.
    hours: int


class BudgetRequest(TypedDict):
    id: str
    budget: str
    amount: str
    hours: int
    state: Literal["open"]
    #: The page of the console where a person decides.
    url: str


class SearchSteps(TypedDict):
    #: Finding the key.
    auth: int
    #: Limits, reading the request, and holding the price.
    hold: int
    #: Waiting for upstreams.
    upstream: int
    #: Ranking and encoding the results.
    rank: int
    #: The charge or release.
    ledger: int


class Search(TypedDict):
    #: The `Request-Id` of its response.
    request_id: str
    #: `search`: its price was held. `refused`: rejected before that, for example by a limit. `replayed`: answered from
    #: its `Idempotency-Key`. Only a search can be charged.
    kind: Literal["search", "refused", "replayed"]
    #: When the price of the search was held, or the refused or replayed request arrived.
    at: str
    mode: Literal["live", "test"]
    key_id: str
    key_name: Optional[str]
    category: Optional[str]
    #: `ok`, or the problem code of the failure or refusal. `pending`: in flight. `expired`, `caller_left` and
    #: `released`: ended without a response and was not charged. `replayed`: answered from its `Idempotency-Key`.
    outcome: str
    #: Amount charged, before any refund, in USD as a decimal string.
    charged: str
    #: Milliseconds from the arrival of the request to the charge or release. Null while the search is in flight, and if
    #: there was no hold. An expired search has no `steps` and counts from its hold.
    ms: Optional[int]
    #: The parts of `ms`. Null while the search is in flight, if it expired, and if there was no hold.
    steps: Optional[SearchSteps]
    #: The end user in its `Search-For` header: a hash that starts with `~`, or the id if the wallet stores plain ids.
    #: Null without one.
    end_user: Optional[str]
    #: The run named by its `Search-Run` header. Null without a run, for a test search, and once the run is deleted, an
    #: hour after it ends. A request that was refused before its header was read has none.
    run: Optional[str]
    #: How a refused or replayed request was sent: to the API, a compatibility endpoint, `/mcp` or the playground. Null
    #: for a search.
    transport: Optional[Literal["http", "compat", "mcp", "playground"]]


class UnlistedRequests(TypedDict):
    #: Refusals and replays are listed and counted from this time on.
    since: str
    #: Refusals and replays that match the filters and are not stored individually, because a key had more than 20 in a
    #: minute or the wallet more than 100 in a minute or 5,000 in a day. Counted in whole hours.
    count: int
    #: There can be more, because a server crashed in one of these hours or had too many different requests to count.
    at_least: bool


class SearchDetails(Search):
    #: Its charge and refund, newest first, with the balance after each.
    entries: List[Entry]


class Run(TypedDict):
    #: The id sent in `Search-Run`.
    run: str
    #: Amount spent, including searches in flight, in USD as a decimal string.
    spent: str
    #: Its `max`, in USD as a decimal string.
    limit: str
    #: Number of searches counted in `spent`.
    searches: int
    #: When its first search started it.
    first_at: str
    expires_at: str


class _RequiredUsagePeriod(TypedDict):
    #: Start of the hour or day, in UTC.
    start: str
    mode: Literal["live", "test"]
    #: Requests whose price was held, whether they succeeded or failed.
    searches: int
    #: Amount in USD as a decimal string.
    charged: str


class UsagePeriod(_RequiredUsagePeriod, total=False):
    key_id: str
    category: Optional[str]
    #: `ok`, or the problem code of the failure or refusal. `expired`, `caller_left` and `released`: ended without a
    #: response and was not charged. `replayed`: answered from its `Idempotency-Key` and was not charged again.
    outcome: str
    #: A hash that starts with `~`, or the id if the wallet stores plain ids.
    end_user: str
    #: Requests answered from their `Idempotency-Key`. Not by end user.
    replays: int
    #: Requests rejected before their price was held. Not by end user.
    refusals: int


class HourlySearches(TypedDict):
    start: str
    searches: int
    succeeded: int
    replays: int
    refusals: int
    #: Total charged for them, in USD as a decimal string.
    charged: str


class WalletSummaryToday(TypedDict):
    #: Searches held since midnight UTC that have finished.
    searches: int
    #: Replays of an `Idempotency-Key` since midnight UTC.
    replays: int
    #: Requests refused since midnight UTC, before their price was held.
    refusals: int
    #: Total charged for them, in USD as a decimal string.
    charged: str
    #: Average number of searches by this time of day, over the previous seven days or since the first search. Null on
    #: the first day.
    usual_searches_by_now: Optional[int]


class WalletSummaryLast24h(TypedDict):
    #: Total of `hours`.
    searches: int
    #: Searches that succeeded. The others failed.
    succeeded: int
    #: Requests answered from their `Idempotency-Key`.
    replays: int
    #: Requests rejected before their price was held.
    refusals: int
    #: There can be more replays and refusals, because a server crashed or had too many different ones to count.
    at_least: bool
    #: `succeeded` divided by `searches`. A search whose caller disconnected did not succeed. Replays and refusals do
    #: not count.
    success_rate: Optional[float]
    #: Median time from the arrival of the request to the charge, over the latest 1,000 successful searches of the last
    #: 24 hours.
    p50_ms: Optional[int]
    #: 95th percentile of the same searches.
    p95_ms: Optional[int]


class WalletSummary(TypedDict):
    mode: Literal["live", "test"]
    currency: Literal["usd"]
    #: All searches that finished before this time are counted. It is the current time, or a few minutes earlier for a
    #: very busy wallet.
    as_of: str
    #: Credits minus charges, in USD as a decimal string.
    balance: str
    #: Part of the balance reserved for searches in flight, in USD as a decimal string.
    held: str
    #: Balance that new searches can spend, in USD as a decimal string.
    available: str
    #: Debt left by refunded or disputed payments, in USD as a decimal string.
    owed: str
    #: Average charges per day over the last 7 x 24 hours, or since the first charge if that is more recent (but at
    #: least one day), in USD as a decimal string.
    burn_per_day: str
    #: `available` divided by `burn_per_day`, to one decimal. Null without charges in the last seven days, and in the
    #: first 24 hours after the first charge.
    runway_days: Optional[float]
    today: WalletSummaryToday
    last_24h: WalletSummaryLast24h
    #: The current hour and the 23 before it, oldest first, in UTC.
    hours: List[HourlySearches]


class AlertSettings(TypedDict):
    #: Address that receives alerts about the balance, shared budgets and webhooks, if the operator has configured
    #: email. Null for no email.
    email: Optional[str]
    #: Alert when the balance falls below this amount, in USD, at most once an hour. Null for no alert.
    low_balance: Optional[str]


class EndUserSettings(TypedDict):
    #: How the ids in `Search-For` are stored: as hashes under a key of the wallet, or as they are sent. Default:
    #: `hashed`.
    ids: Literal["hashed", "plain"]


EventType = Literal[
    "wallet.low_balance",
    "wallet.depleted",
    "top_up.succeeded",
    "top_up.failed",
    "key.created",
    "key.rotated",
    "key.revoked",
    "key.budget_spent",
    "budget.threshold",
    "budget.spent",
    "budget.increase_requested",
    "service.incident",
]


class Webhook(TypedDict):
    id: str
    #: An https URL on the public internet.
    url: str
    #: For your own use.
    description: str
    events: List[EventType]
    #: Your own id, unique among the webhooks of the wallet, by which `pennyblack apply` finds the object. Null for
    #: none.
    external_id: Optional[str]
    enabled: bool
    #: `gone`: the endpoint returned 410. `failing`: every delivery failed for five days.
    disabled_reason: Optional[Literal["owner", "gone", "failing"]]
    #: Time of the first failure since the last success.
    failing_since: Optional[str]
    #: Until this time, deliveries are also signed with the previous secret.
    previous_secret_until: Optional[str]
    created_at: str


class _RequiredCreateWebhookRequest(TypedDict):
    #: An https URL on the public internet.
    url: str


class CreateWebhookRequest(_RequiredCreateWebhookRequest, total=False):
    #: For your own use.
    description: str
    events: List[EventType]
    #: Your own id, unique among the webhooks of the wallet, by which `pennyblack apply` finds the object. Null for
    #: none.
    external_id: Optional[str]


class CreatedWebhook(Webhook):
    #: Signing secret. Shown only once.
    secret: str


class UpdateWebhookRequest(TypedDict, total=False):
    #: An https URL on the public internet.
    url: str
    #: For your own use.
    description: str
    events: List[EventType]
    enabled: bool
    #: Your own id, unique among the webhooks of the wallet, by which `pennyblack apply` finds the object. Null for
    #: none.
    external_id: Optional[str]


class DeletedWebhook(TypedDict):
    id: str
    deleted: Literal[True]


class RotatedWebhookSecret(TypedDict):
    id: str
    #: Signing secret. Shown only once.
    secret: str
    previous_secret_until: str


class DeliveryEvent(TypedDict):
    id: str
    type: str
    created_at: str


class Delivery(TypedDict):
    id: str
    endpoint_id: str
    event: DeliveryEvent
    status: Literal["pending", "delivered", "failed"]
    attempts: int
    #: HTTP status of the last response.
    response_status: Optional[int]
    #: Why the last attempt failed: status, redirect, timeout, unreachable, private_address (no public address is
    #: known), not_https, endpoint_disabled.
    error: Optional[str]
    #: Time of the last attempt.
    last_attempt_at: Optional[str]
    #: Time of the next attempt, while the delivery is pending.
    next_attempt_at: Optional[str]
    created_at: str


class ActivityActor(TypedDict):
    #: `operator`: the operator of this service. `system`: an automatic change, such as disabling a webhook endpoint
    #: that keeps failing.
    type: Literal["person", "key", "operator", "system"]
    #: The id of the person or key.
    id: Optional[str]
    #: The email address of the person, or the current name of the key.
    name: Optional[str]


class ActivitySubject(TypedDict):
    #: The id of the changed subject.
    id: str
    #: Its current name. Null if it has none.
    name: Optional[str]


class Activity(TypedDict):
    id: str
    at: str
    actor: ActivityActor
    #: The action, as `<subject>.<verb>`, such as `key.change`.
    act: str
    subject: ActivitySubject
    #: The act and the name in words, such as `Changed the key crawler`.
    summary: str
    #: `done`. An action of the operator can have another outcome.
    outcome: str
    #: The previous values of the fields that changed. Null if there are none.
    before: Optional[Dict[str, Any]]
    #: The new values of the fields that changed. Never a key or a signing secret.
    after: Optional[Dict[str, Any]]


class _RequiredCreateTopUpRequest(TypedDict):
    #: Amount in USD, in whole cents, such as "20.00".
    amount: str


class CreateTopUpRequest(_RequiredCreateTopUpRequest, total=False):
    #: Page to return to after payment.
    success_url: str
    #: Page to return to if the checkout is canceled.
    cancel_url: str


class TopUp(TypedDict):
    id: str
    #: `succeeded`: the wallet has been credited.
    status: Literal["pending", "succeeded", "failed", "expired", "refunded", "disputed"]
    kind: Literal["checkout", "automatic"]
    #: Amount of the top-up, in USD as a decimal string.
    amount: str
    #: Amount refunded, in USD as a decimal string.
    refunded: str
    currency: Literal["usd"]
    #: Payment page, while the top-up is pending.
    checkout_url: Optional[str]
    #: Receipt from the payment processor.
    receipt_url: Optional[str]
    #: Decline or error code, if it failed.
    failure: Optional[str]
    created_at: str
    #: When the checkout expires.
    expires_at: Optional[str]
    #: When it left the `pending` status.
    settled_at: Optional[str]


class AutoTopUp(TypedDict):
    #: `waiting_for_card`: the next paid checkout saves its card. `backing_off`: the card was declined, and the next
    #: attempt is at `next_attempt_at`. `off`: turned off after four declines. Set it again to resume.
    state: Literal["none", "waiting_for_card", "active", "backing_off", "off"]
    #: The wallet is topped up when its balance falls below this amount.
    threshold: Optional[str]
    #: Amount of each top-up.
    amount: Optional[str]
    #: Maximum added per UTC day.
    daily_cap: Optional[str]
    #: Maximum added per UTC month.
    monthly_cap: Optional[str]
    #: Amount added automatically in this UTC month.
    added_this_month: Optional[str]
    next_attempt_at: Optional[str]
    currency: Literal["usd"]


class _RequiredSetAutoTopUpRequest(TypedDict):
    #: The wallet is topped up when its balance falls below this amount.
    threshold: str
    #: Amount of each top-up.
    amount: str
    #: Maximum added per UTC month.
    monthly_cap: str


class SetAutoTopUpRequest(_RequiredSetAutoTopUpRequest, total=False):
    #: Maximum added per UTC day. Default: `monthly_cap`.
    daily_cap: str


class ServiceObjective(TypedDict):
    name: Literal["availability", "own_availability", "own_latency"]
    #: The ratio that the operator aims for.
    target: float
    #: The ratio in the last 30 days, rounded down. Null without requests.
    value: Optional[float]
    #: Null without requests.
    met: Optional[bool]


class StatusDay(TypedDict):
    day: str
    #: As in `objectives`. Null without requests.
    availability: Optional[float]
    #: 95th percentile of successful searches, measured from the request to the charge, and rounded up by less than 10%.
    #: Null without searches.
    p95_ms: Optional[int]


class IncidentUpdate(TypedDict):
    at: str
    text: str


class Incident(TypedDict):
    id: str
    title: str
    impact: Literal["degraded", "outage"]
    #: When the incident started.
    opened_at: str
    #: Null while it is open.
    closed_at: Optional[str]
    #: What the operator reported, oldest first.
    updates: List[IncidentUpdate]


class StatusCell(TypedDict):
    name: str
    #: `operational`: no incident is open. `degraded` or `outage`: the worst impact of an open incident. `unavailable`:
    #: no server is running, or the database does not respond.
    state: Literal["operational", "degraded", "outage", "unavailable"]
    #: In the last 30 days. Null without requests, or if the cell could not be read.
    availability: Optional[float]


class _RequiredServiceStatus(TypedDict):
    #: `operational`: no incident is open. `degraded` or `outage`: the worst impact of an open incident. `unavailable`:
    #: no server is running, or the database does not respond.
    state: Literal["operational", "degraded", "outage", "unavailable"]
    #: The last update. If it is more than 5 minutes ago, this copy is out of date.
    written_at: str
    #: The figures include searches started before this time.
    counted_before: str
    #: `availability`: requests that succeeded. `own_availability`: the same, but failures of providers do not count.
    #: `own_latency`: successful searches that spent at most 100 ms outside providers. Requests rejected because of the
    #: caller are not included.
    objectives: List[ServiceObjective]
    #: The last 90 days in UTC, oldest first. The last one is today.
    days: List[StatusDay]
    #: Open, or closed in the last 90 days. Newest first.
    incidents: List[Incident]


class ServiceStatus(_RequiredServiceStatus, total=False):
    #: Present on a page of several cells. The other figures are totals of all cells.
    cells: List[StatusCell]


class SigningKey(TypedDict):
    kty: Literal["OKP"]
    crv: Literal["Ed25519"]
    #: The public key, in base64url.
    x: str
    #: The key's RFC 7638 thumbprint, which signatures name.
    kid: str
    alg: Literal["EdDSA"]
    use: Literal["sig"]


class SigningKeySet(TypedDict):
    keys: List[SigningKey]
