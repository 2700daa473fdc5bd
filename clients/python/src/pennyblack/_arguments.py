"""Arguments are checked before anything is sent. The TypeScript SDK reports the same errors."""

import difflib
import os
import re
import time
import uuid
from datetime import datetime, timezone
from typing import Any, Dict, Mapping, Optional, Sequence, Union
from urllib.parse import quote, urlencode

import httpx

from ._repeat import derive_repeat_key
from ._send import Connection

Time = Union[datetime, str]
Query = Mapping[str, Union[str, int, None]]

#: The default of a setting. None is not: it usually comes from an unset variable, and the environment may have the key of
#: another wallet.
OMITTED: Any = object()


def connect(api_key: str, base_url: str, timeout: float, max_retries: int, repeat_secret: Optional[str]) -> Connection:
    key = _read_setting("api_key", api_key, "PENNYBLACK_API_KEY")
    check(is_text(key, r"[\x21-\x7e]+"), "api_key must have no spaces, line breaks or characters beyond ASCII.")
    address = _read_setting("base_url", base_url, "PENNYBLACK_URL")
    check(_is_web_url(address), "base_url must be a URL that starts with https:// or http://.")
    check(timeout is not None, "timeout must be a number above 0.")
    check_timeout(timeout)
    check(is_integer(max_retries) and max_retries >= 0, "max_retries must be an integer of at least 0.")
    check(repeat_secret != "", "repeat_secret is empty.")
    return Connection(key, address.rstrip("/"), timeout, max_retries, repeat_secret or key)


def _read_setting(name: str, value: Any, variable: str) -> str:
    """An empty variable is not set."""
    if value is OMITTED:
        setting = os.environ.get(variable)
        if setting:
            return setting
        raise ValueError(f"{name} is missing. Pass it to the client, or set {variable}.")
    if isinstance(value, str) and value:
        return value
    received = "empty" if value == "" else str(value)
    raise ValueError(f"{name} is {received}. Pass a value, or omit {name} and set {variable}.")


def _is_web_url(text: str) -> bool:
    try:
        address = httpx.URL(text)
    except httpx.InvalidURL:
        return False
    return address.scheme in ("http", "https") and bool(address.host)


def search_headers(run: Any, for_: Any, wait: Any, explain: bool, registries: bool) -> Dict[str, str]:
    check(wait is None or (is_integer(wait) and 1 <= wait <= 9), "wait must be an integer from 1 to 9 (seconds).")
    is_end_user = for_ is None or is_text(for_, r"[A-Za-z0-9_.:@/+=|-]{1,64}")
    check(is_end_user, "for_ must have 1 to 64 letters, digits or any of _.:@/+=|-")
    return {
        **({} if run is None else {"search-run": _run_header(run)}),
        **({} if for_ is None else {"search-for": for_}),
        **({"rank-explain": "1"} if explain else {}),
        **({} if registries else {"rank-registries": "0"}),
    }


_run_example = '{"id": "my-task", "max": "0.50", "ttl": 3600}'
_run_members = ("id", "max", "ttl")


def _run_header(run: Any) -> str:
    members: Mapping[str, Any] = run if isinstance(run, Mapping) else {}
    name, limit, ttl = (members.get(member) for member in _run_members)
    is_named = is_text(name, r"[A-Za-z0-9_.:@/-]{1,128}")
    # Not a number: 0.1 + 0.2 is not 0.3.
    is_limited = is_text(limit, r"[0-9]{1,9}(\.[0-9]{1,6})?")
    is_valid = is_named and is_limited and (ttl is None or is_integer(ttl))
    check(is_valid, f"run must look like {_run_example}, with max as a string and ttl in seconds.")
    for member in members:
        _check_name(member, _run_members, " of run")
    return f"{name}; max={limit}" + ("" if ttl is None else f"; ttl={ttl}")


def _check_name(name: str, known: Sequence[str], of: str) -> None:
    if name in known:
        return
    close = difflib.get_close_matches(name, known, n=1)
    hint = f"Did you mean {close[0]}?" if close else f"The options are {', '.join(known)}."
    raise ValueError(f"{name} is not a known option{of}. {hint}")


def choose_idempotency_key(
    idempotency_key: Optional[str],
    repeat: Optional[str],
    *,
    secret: str,
    query: str,
    n: Optional[int],
    category: Optional[str],
) -> str:
    """Once per call: a retry after the end of the `repeat` window uses the key of the first attempt."""
    if repeat is None:
        return check_idempotency_key(idempotency_key)
    check(idempotency_key is None, "Pass either repeat or idempotency_key, not both.")
    return derive_repeat_key(secret, query, n, category, repeat, time.time())


def check_idempotency_key(key: Optional[str]) -> str:
    """Random by default."""
    if key is None:
        return str(uuid.uuid4())
    check(is_text(key, r"[\x20-\x7e]{1,255}"), "idempotency_key must have 1 to 255 printable ASCII characters.")
    return key


def check_timeout(timeout: Any) -> None:
    is_number = isinstance(timeout, (int, float)) and not isinstance(timeout, bool)
    check(timeout is None or (is_number and timeout > 0), "timeout must be a number above 0.")


def check(is_valid: bool, message: str) -> None:
    if not is_valid:
        raise ValueError(message)


def is_text(value: Any, pattern: str) -> bool:
    return isinstance(value, str) and re.fullmatch(pattern, value) is not None


def is_integer(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


def to_path(collection: str, item: str) -> str:
    return f"/v1/{collection}/{quote(item, safe='')}"


def to_query_string(query: Query) -> str:
    text = urlencode(without_none(query))
    return f"?{text}" if text else ""


def to_iso(value: Optional[Time]) -> Optional[str]:
    """A datetime without a time zone is local time, as in the standard library."""
    return value.astimezone(timezone.utc).isoformat() if isinstance(value, datetime) else value


def to_list(group: Optional[Sequence[str]]) -> Optional[str]:
    check(group is None or not isinstance(group, str), 'group must be a list such as ["key"].')
    return None if group is None else ",".join(group)


def without_none(values: Mapping[str, Any]) -> Dict[str, Any]:
    return {name: value for name, value in values.items() if value is not None}
