"""Errors raised by failed calls. The class is the kind of failure and `code` the exact reason. Both are stable."""

from dataclasses import dataclass
from typing import Any, Dict, Literal, Optional, Type, Union

Charged = Union[Literal[False], Literal["unknown"]]


@dataclass(frozen=True)
class Failure:
    code: str
    detail: str
    retryable: bool
    charged: Charged
    status: Optional[int] = None
    request_id: Optional[str] = None
    retry_after: Optional[float] = None
    idempotency_key: Optional[str] = None
    problem: Optional[Dict[str, Any]] = None


class PennyblackError(Exception):
    """The base class of all errors. See the attributes."""

    def __init__(self, failure: Failure) -> None:
        # The only argument, so that errors can be pickled.
        super().__init__(failure)
        self.code: str = failure.code
        #: What happened, whether you were charged, and what to do next.
        self.detail: str = failure.detail
        self.status: Optional[int] = failure.status
        self.request_id: Optional[str] = failure.request_id
        #: For the whole call, including retries. "unknown" only if an attempt got no response from the API.
        self.charged: Charged = failure.charged
        self.retryable: bool = failure.retryable
        #: In seconds.
        self.retry_after: Optional[float] = failure.retry_after
        #: For searches. Retry with the same key to avoid paying twice.
        self.idempotency_key: Optional[str] = failure.idempotency_key
        #: The full problem document. None if there was no response from the API.
        self.problem: Optional[Dict[str, Any]] = failure.problem

    def __str__(self) -> str:
        request = "" if self.request_id is None else f", request {self.request_id}"
        return f"{self.detail} [{self.code}{request}]"


class RequestError(PennyblackError):
    """400, 404, 405, 409, 413, 415, 422: the request is invalid."""


class AuthenticationError(PennyblackError):
    """401: the API key is missing or not valid."""


class BalanceError(PennyblackError):
    """402: the wallet balance is too low, and `problem["top_up"]` has the top-up URL; or searches in flight reserve it."""

    problem: Dict[str, Any]


class PermissionError(PennyblackError):
    """403: the key does not have permission."""


class BudgetError(PennyblackError):
    """403: the key, run or end user has spent its budget. `problem` has `limit`, `spent` and `resets_at`."""

    problem: Dict[str, Any]


class RateLimitError(PennyblackError):
    """429: rate or concurrency limit exceeded. `problem["exceeded"]` has the limit."""

    problem: Dict[str, Any]


class UpstreamError(PennyblackError):
    """The search provider behind the API failed. The status can be any."""


class ServerError(PennyblackError):
    """5xx: internal error or API unavailable."""


class ConnectionError(PennyblackError):
    """No response from the API. A search may have been charged; `detail` explains how to find out."""


def create_error(failure: Failure) -> PennyblackError:
    return _error_class_for(failure.code, failure.status)(failure)


_classes_by_status: Dict[int, Type[PennyblackError]] = {
    401: AuthenticationError,
    402: BalanceError,
    403: PermissionError,
    429: RateLimitError,
}


def _error_class_for(code: str, status: Optional[int]) -> Type[PennyblackError]:
    if code in ("connection_closed", "timeout", "invalid_answer"):
        return ConnectionError
    if code.startswith("upstream_"):
        return UpstreamError
    if status is None or status >= 500:
        return ServerError
    if status == 403 and code.endswith("_budget_spent"):
        return BudgetError
    return _classes_by_status.get(status, RequestError)
