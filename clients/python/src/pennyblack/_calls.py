"""The calls of the API, which the sync and the async client share."""

import os
import re
import time
import uuid
from datetime import datetime, timezone
from typing import Any, Dict, Mapping, Optional, Sequence, Union
from urllib.parse import quote, urlencode

import httpx

from ._meta import read_meta
from ._pages import Page
from ._repeat import derive_repeat_key
from ._send import ApiResponse, Call, Connection
from .types import Category, CreateKeyRequest, Run, SearchAnswer, SearchResult, UpdateKeyRequest

Time = Union[datetime, str]


def connect(
    api_key: Optional[str], base_url: Optional[str], timeout: float, max_retries: int, repeat_secret: Optional[str]
) -> Connection:
    key = _read_setting("api_key", api_key, "PENNYBLACK_API_KEY")
    if not re.fullmatch(r"[\x21-\x7e]+", key):
        raise ValueError("api_key is not valid.")
    address = httpx.URL(_read_setting("base_url", base_url, "PENNYBLACK_URL"))
    if address.scheme not in ("http", "https") or not address.host:
        raise ValueError("base_url must start with https:// or http://.")
    if repeat_secret == "":
        raise ValueError("repeat_secret is empty.")
    return Connection(key, str(address).rstrip("/"), timeout, max_retries, repeat_secret or key)


def _read_setting(name: str, value: Optional[str], variable: str) -> str:
    setting = os.environ.get(variable) if value is None else value
    if not setting:
        problem = "missing" if value is None else "empty"
        raise ValueError(f"{name} is {problem}. Pass it to the client, or set {variable}.")
    return setting


def search_call(
    query: str,
    *,
    secret: str,
    n: Optional[int],
    category: Optional[Category],
    run: Optional[Run],
    for_: Optional[str],
    wait: Optional[int],
    explain: bool,
    registries: bool,
    idempotency_key: Optional[str],
    repeat: Optional[str],
    timeout: Optional[float],
) -> Call:
    if wait is not None and wait not in range(1, 10):
        raise ValueError("wait must be an integer from 1 to 9 (seconds).")
    if repeat is not None:
        if idempotency_key is not None:
            raise ValueError("Pass either repeat or idempotency_key, not both.")
        # Once per call: a retry after the end of the window uses the key of the first attempt.
        idempotency_key = derive_repeat_key(secret, query, n, category, repeat, time.time())
    elif idempotency_key is None:
        idempotency_key = str(uuid.uuid4())
    elif not re.fullmatch(r"[\x20-\x7e]{1,255}", idempotency_key):
        raise ValueError("idempotency_key must be 1-255 printable ASCII chars.")
    return Call(
        "POST",
        "/v1/search",
        body=_without_none({"query": query, "n": n, "category": category}),
        headers=_search_headers(run, for_, explain, registries),
        idempotency_key=idempotency_key,
        may_charge=True,
        list_name="results",
        timeout=timeout,
        wait=wait,
    )


def _search_headers(
    run: Optional[Run], for_: Optional[str], explain: bool, registries: bool
) -> Dict[str, str]:
    headers = {}
    if run is not None:
        is_valid_id = re.fullmatch(r"[A-Za-z0-9_.:@/-]{1,128}", run["id"])
        if not (is_valid_id and re.fullmatch(r"[0-9]{1,9}(\.[0-9]{1,6})?", run["max"])):
            raise ValueError('run must look like {"id": "my-task", "max": "0.50", "ttl": 3600}, with max as a string.')
        ttl = f"; ttl={run['ttl']}" if "ttl" in run else ""
        headers["search-run"] = f"{run['id']}; max={run['max']}{ttl}"
    if for_ is not None:
        if not re.fullmatch(r"[A-Za-z0-9_.:@/+=|-]{1,64}", for_):
            raise ValueError("for_ must have 1 to 64 letters, digits or any of _.:@/+=|-")
        headers["search-for"] = for_
    if explain:
        headers["rank-explain"] = "1"
    if not registries:
        headers["rank-registries"] = "0"
    return headers


def read_answer(response: ApiResponse, call: Call) -> SearchAnswer:
    body = response.body
    names = ("title", "url", "snippet", "source")
    return SearchAnswer(
        query=body.get("query", ""),
        n=body.get("n", 0),
        results=[SearchResult(**{name: result.get(name, "") for name in names}) for result in body["results"]],
        meta=read_meta(response.headers, call.idempotency_key or ""),
    )


def get_call(path: str) -> Call:
    return Call("GET", path)


def list_call(path: str, name: str, query: Mapping[str, Union[str, int, None]], cursor: Optional[str]) -> Call:
    text = urlencode(_without_none({**query, "cursor": cursor}))
    return Call("GET", f"{path}?{text}" if text else path, list_name=name)


def read_page(response: ApiResponse, name: str) -> Page[Any]:
    return Page(response.body[name], response.body.get("next_cursor"))


def key_path(key_id: str) -> str:
    return f"/v1/keys/{quote(key_id, safe='')}"


def create_key_call(key: CreateKeyRequest) -> Call:
    return Call("POST", "/v1/keys", body=dict(key), is_idempotent=False)


def update_key_call(key_id: str, changes: UpdateKeyRequest) -> Call:
    return Call("PATCH", key_path(key_id), body=dict(changes))


def rotate_key_call(key_id: str, grace_seconds: int) -> Call:
    return Call("POST", f"{key_path(key_id)}/rotate", body={"grace_seconds": grace_seconds}, is_idempotent=False)


def revoke_key_call(key_id: str) -> Call:
    return Call("DELETE", key_path(key_id))


def to_iso(value: Optional[Time]) -> Optional[str]:
    """A datetime without a time zone is local time, as in the standard library."""
    return value.astimezone(timezone.utc).isoformat() if isinstance(value, datetime) else value


def usage_query(
    from_: Optional[Time],
    to: Optional[Time],
    by: Optional[str],
    group: Optional[Sequence[str]],
    for_: Optional[str],
    limit: Optional[int],
) -> Dict[str, Union[str, int, None]]:
    groups = None if group is None else ",".join(group)
    return {"from": to_iso(from_), "to": to_iso(to), "by": by, "group": groups, "for": for_, "limit": limit}


def _without_none(values: Mapping[str, Any]) -> Dict[str, Any]:
    return {name: value for name, value in values.items() if value is not None}
