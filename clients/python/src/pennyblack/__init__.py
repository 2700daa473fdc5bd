"""Client for Pennyblack, the prepaid web search API. `pennyblack.types` has the types of its resources."""

from . import types
from ._answer import RunBudget, SearchAnswer, SearchResult
from ._async_client import AsyncPennyblack
from ._client import Pennyblack
from ._errors import (
    AuthenticationError,
    BalanceError,
    BudgetError,
    ConnectionError,
    Failure,
    PennyblackError,
    PermissionError,
    RateLimitError,
    RequestError,
    ServerError,
    UpstreamError,
)
from ._meta import BudgetMeta, EndUserBudget, RankExplanation, RankList, RateLimit, RunMeta, SearchMeta
from ._pages import AsyncPages, Page, Pages
from ._version import __version__
from ._webhooks import WebhookError, verify_webhook

__all__ = [
    "AsyncPages",
    "AsyncPennyblack",
    "AuthenticationError",
    "BalanceError",
    "BudgetError",
    "BudgetMeta",
    "ConnectionError",
    "EndUserBudget",
    "Failure",
    "Page",
    "Pages",
    "Pennyblack",
    "PennyblackError",
    "PermissionError",
    "RankExplanation",
    "RankList",
    "RateLimit",
    "RateLimitError",
    "RequestError",
    "RunBudget",
    "RunMeta",
    "SearchAnswer",
    "SearchMeta",
    "SearchResult",
    "ServerError",
    "UpstreamError",
    "WebhookError",
    "__version__",
    "types",
    "verify_webhook",
]
