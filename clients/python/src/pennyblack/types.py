"""The resources of the API. Amounts are decimal strings in USD, times ISO 8601 strings."""

from dataclasses import dataclass
from typing import List, Literal, Optional, TypedDict

from ._meta import SearchMeta

Category = Literal["programming", "research", "gov", "business"]
KeyMode = Literal["live", "test", "mgmt"]


@dataclass(frozen=True)
class SearchResult:
    title: str
    url: str
    #: Untrusted: it comes from the web.
    snippet: str
    #: Hostname of the URL, without a leading `www.`.
    source: str


@dataclass(frozen=True)
class SearchAnswer:
    #: The query that was run.
    query: str
    #: Number of results returned.
    n: int
    results: List[SearchResult]
    meta: SearchMeta


class _RequiredRun(TypedDict):
    id: str
    max: str


class Run(_RequiredRun, total=False):
    """A budget shared by all searches with the same id. `max` is in USD, `ttl` in seconds (default 3,600)."""

    ttl: int


class Wallet(TypedDict):
    id: str
    name: str
    currency: str
    #: Credits minus charges.
    balance: str
    #: Part of the balance reserved for searches in flight.
    held: str
    #: Balance that new searches can spend.
    available: str
    owed: str
    price: str
    suspended: bool


class _RequiredEntry(TypedDict):
    id: str
    kind: str
    #: Negative if it was deducted.
    amount: str
    currency: str
    request_id: Optional[str]
    created_at: str


class Entry(_RequiredEntry, total=False):
    #: Balance after this entry. Omitted in lists filtered by `kind` or `request_id`.
    balance: str


class KeyBudgetPeriod(TypedDict):
    limit: str
    spent: str
    resets_at: Optional[str]


class KeyBudget(TypedDict):
    total: Optional[KeyBudgetPeriod]
    day: Optional[KeyBudgetPeriod]
    month: Optional[KeyBudgetPeriod]


class EndUserLimit(TypedDict):
    amount: str
    period: str


class CompatRun(TypedDict):
    max: str
    ttl: str


class KeyCompat(TypedDict, total=False):
    ignore: List[str]
    repeat: str
    run: CompatRun


class Key(TypedDict):
    id: str
    mode: KeyMode
    name: str
    start: str
    state: str
    scopes: List[str]
    allowed_ips: Optional[List[str]]
    searches_per_second: int
    searches_in_flight: int
    budget: Optional[KeyBudget]
    end_user_limit: Optional[EndUserLimit]
    compat: Optional[KeyCompat]
    expires_at: Optional[str]
    revoked_at: Optional[str]
    revoked_reason: Optional[str]
    rotated_from: Optional[str]
    last_used_at: Optional[str]
    created_at: str


class CreatedKey(Key):
    #: The key itself. It is returned only once.
    key: str


class KeyBudgetLimits(TypedDict, total=False):
    total: Optional[str]
    day: Optional[str]
    month: Optional[str]


class _RequiredUsagePeriod(TypedDict):
    start: str
    mode: str
    searches: int
    charged: str


class UsagePeriod(_RequiredUsagePeriod, total=False):
    key_id: str
    category: Optional[str]
    outcome: str
    end_user: str
    replays: int
    refusals: int


class UpdateKeyRequest(TypedDict, total=False):
    name: str
    allowed_ips: Optional[List[str]]
    expires_at: Optional[str]
    searches_per_second: int
    searches_in_flight: int
    budget: Optional[KeyBudgetLimits]
    end_user_limit: Optional[EndUserLimit]
    compat: Optional[KeyCompat]


class _RequiredCreateKeyRequest(TypedDict):
    mode: KeyMode
    name: str


class CreateKeyRequest(_RequiredCreateKeyRequest, total=False):
    allowed_ips: Optional[List[str]]
    expires_at: Optional[str]
    searches_per_second: int
    searches_in_flight: int
    budget: Optional[KeyBudgetLimits]
    end_user_limit: Optional[EndUserLimit]
    compat: Optional[KeyCompat]
    scopes: List[str]
