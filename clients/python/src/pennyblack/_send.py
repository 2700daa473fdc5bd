"""One API call with retries, within one time limit, without I/O. With `wait`, the limit is the caller's deadline, and each
attempt has a `Prefer` header with the seconds that remain.

    2xx ............................................ return
    error response with `retryable` ................ back off, retry  (429, 5xx, 409 in progress, 402 reserved)
    no response: closed, timeout, not the API ...... back off, retry  only if the call is idempotent
    anything else .................................. raise

A search is idempotent because every attempt carries the same Idempotency-Key. `send` yields what to do next and receives
what came of it, so that the sync and the async client share these rules.
"""

import json
import math
import platform
import random
import time
from dataclasses import dataclass, field, replace
from email.utils import parsedate_to_datetime
from typing import Any, Dict, Generator, Mapping, Optional, Union

import httpx

from ._errors import Failure, create_error
from ._version import __version__

# Limits one attempt, so that a hanging connection leaves time for a retry. The API allows 10 s for a search.
_max_attempt_seconds = 20.0

# The API's response to a passed deadline arrives shortly after the deadline. Closing the connection first would leave the
# charge unknown.
_response_grace_seconds = 0.5

_user_agent = f"pennyblack-python/{__version__} python/{platform.python_version()}"


@dataclass(frozen=True)
class Connection:
    api_key: str
    base_url: str
    #: For the whole call, including retries.
    timeout: float
    max_retries: int
    repeat_secret: str


@dataclass(frozen=True)
class Call:
    method: str
    path: str
    body: Optional[Mapping[str, Any]] = None
    headers: Mapping[str, str] = field(default_factory=dict)
    idempotency_key: Optional[str] = None
    #: Whether an attempt that got no response may have been charged.
    may_charge: bool = False
    is_idempotent: bool = True
    #: The member of a successful response that must be a list, so that a response of another server is not an empty list.
    list_name: Optional[str] = None
    #: The type of a successful response, if it is not JSON.
    text_type: Optional[str] = None
    timeout: Optional[float] = None
    #: The caller's deadline in seconds. The API returns a 504 after it.
    wait: Optional[int] = None


@dataclass(frozen=True)
class Attempt:
    """Send the request, and continue with the response or the exception."""

    method: str
    url: str
    headers: Mapping[str, str]
    content: Optional[bytes]
    timeout: float


@dataclass(frozen=True)
class Pause:
    seconds: float


@dataclass(frozen=True)
class RawResponse:
    status: int
    headers: httpx.Headers
    text: str


@dataclass(frozen=True)
class ApiResponse:
    #: An object, or the text of a response that is not JSON.
    body: Any
    headers: httpx.Headers


Steps = Generator[Union[Attempt, Pause], Union[RawResponse, httpx.RequestError, None], ApiResponse]


def now() -> float:
    return time.monotonic()


def send(connection: Connection, call: Call) -> Steps:
    start = now()
    limit = start + (connection.timeout if call.timeout is None else call.timeout)
    wait_end = math.inf if call.wait is None else start + call.wait
    is_charge_unknown = False
    retries = 0
    while True:
        rest = min(limit - now(), wait_end + _response_grace_seconds - now(), _max_attempt_seconds)
        wait = None if call.wait is None else max(1, math.floor(wait_end - now() + 0.5))
        received = yield _build_attempt(connection, replace(call, wait=wait), max(0.001, rest))
        outcome = (
            _parse_response(received, call)
            if isinstance(received, RawResponse)
            else _describe_exception(connection.base_url, received)
        )
        if isinstance(outcome, ApiResponse):
            return outcome
        # An earlier attempt that got no response may have been charged. A later error response does not rule that out.
        is_charge_unknown = is_charge_unknown or outcome.charged == "unknown"
        pause = (outcome.retry_after or 0) + random.random() * min(8, 0.25 * 2**retries)
        next_start = now() + pause
        # The API waits for at least a second. An attempt that starts half a second before the deadline ends with its grace.
        is_too_late = next_start >= limit or next_start + _response_grace_seconds > wait_end
        # An earlier attempt is still in progress. Waiting for it is limited by the deadline, not by max_retries.
        is_still_running = outcome.code == "idempotency_in_progress" and connection.max_retries > 0
        is_last = is_too_late or (retries >= connection.max_retries and not is_still_running)
        if is_last or not _can_retry(call, outcome):
            described = _describe_uncertainty(call, outcome) if is_charge_unknown else _describe_charge(call, outcome)
            cause = received if isinstance(received, httpx.RequestError) else None
            raise create_error(replace(described, idempotency_key=call.idempotency_key)) from cause
        if not is_still_running:
            retries += 1
        yield Pause(pause)


def _can_retry(call: Call, failure: Failure) -> bool:
    if call.is_idempotent:
        return failure.retryable
    # The server rejected it before processing, or it was never sent.
    return failure.status == 429 or (failure.code == "connection_closed" and failure.charged is False)


def _build_attempt(connection: Connection, call: Call, timeout: float) -> Attempt:
    headers = {
        "accept": "application/json",
        "authorization": f"Bearer {connection.api_key}",
        "user-agent": _user_agent,
        **call.headers,
    }
    if call.body is not None:
        headers["content-type"] = "application/json"
    if call.idempotency_key is not None:
        headers["idempotency-key"] = call.idempotency_key
    if call.wait is not None:
        headers["prefer"] = f"wait={call.wait}"
    content = None if call.body is None else json.dumps(call.body).encode()
    return Attempt(call.method, connection.base_url + call.path, headers, content, timeout)


def _parse_response(response: RawResponse, call: Call) -> Union[ApiResponse, Failure]:
    status, headers = response.status, response.headers
    is_success = 200 <= status < 300
    if is_success and call.text_type is not None and headers.get("content-type", "").startswith(call.text_type):
        return ApiResponse(response.text, headers)
    body = _parse_object(response.text)
    if is_success and body is not None and (call.list_name is None or isinstance(body.get(call.list_name), list)):
        return ApiResponse(body, headers)
    retry_after = _parse_retry_after(headers.get("retry-after"))
    code = None if body is None else body.get("code")
    if body is None or is_success or not isinstance(code, str):
        detail = f"The response (status {status}) is not from the Pennyblack API."
        is_retryable = status == 429 or status >= 500
        return Failure("invalid_answer", detail, is_retryable, "unknown", status=status, retry_after=retry_after)
    described = body.get("detail")
    return Failure(
        code=code,
        detail=described if isinstance(described, str) else code,
        retryable=body.get("retryable") is True,
        charged=False,
        status=status,
        request_id=headers.get("request-id"),
        retry_after=retry_after,
        problem=body,
    )


def _describe_exception(base_url: str, error: Optional[httpx.RequestError]) -> Failure:
    if isinstance(error, httpx.TimeoutException):
        return Failure("timeout", f"The request to {base_url} timed out.", True, "unknown")
    if isinstance(error, httpx.ConnectError):
        return Failure("connection_closed", f"Could not connect to {base_url} ({error}).", True, False)
    return Failure(
        "connection_closed", f"The connection to {base_url} closed before a response arrived.", True, "unknown"
    )


def _describe_charge(call: Call, failure: Failure) -> Failure:
    """For a search that never reached the server. Error responses describe the charge themselves."""
    is_silent = call.may_charge and not failure.problem
    return replace(failure, detail=f"{failure.detail} You were not charged.") if is_silent else failure


def _describe_uncertainty(call: Call, failure: Failure) -> Failure:
    """For a call with an attempt that got no response: what may have happened, and how to find out."""
    if call.may_charge:
        detail = (
            f"{failure.detail} You may have been charged. To find out, repeat the search with idempotency_key "
            f'"{call.idempotency_key}" within 24 hours. You will not be charged twice.'
        )
        return replace(failure, detail=detail, charged="unknown")
    change = "" if call.method == "GET" else " The change may have been made. Check before you repeat it."
    return replace(failure, detail=f"{failure.detail}{change}", charged=False)


def _parse_object(text: str) -> Optional[Dict[str, Any]]:
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        return None
    return value if isinstance(value, dict) else None


def _parse_retry_after(header: Optional[str]) -> Optional[float]:
    if header is None:
        return None
    if header.isdecimal():
        return float(header)
    try:
        return max(0.0, parsedate_to_datetime(header).timestamp() - time.time())
    except (TypeError, ValueError):
        return None
