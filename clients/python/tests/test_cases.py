"""Runs clients/cases.json, which the TypeScript SDK runs too, with the sync and the async client."""

import asyncio
import dataclasses
import json
import random
import socket
from pathlib import Path
from typing import Any, Dict, Iterator, List

import httpx
import pytest
from scripted_server import ScriptedServer

from pennyblack import AsyncPennyblack, Pennyblack, PennyblackError, _send
from pennyblack._errors import Failure, create_error
from pennyblack._repeat import derive_repeat_key
from pennyblack._send import Attempt

cases: Dict[str, Any] = json.loads((Path(__file__).parents[2] / "cases.json").read_text("utf-8"))


class Clock:
    """The clock of the client. Only responses, timeouts and pauses move it."""

    def __init__(self, server: ScriptedServer) -> None:
        self.now = 0.0
        self.pauses: List[float] = []
        self._server = server

    def replace(self, monkeypatch: pytest.MonkeyPatch) -> None:
        attempt, attempt_async = Pennyblack._attempt, AsyncPennyblack._attempt

        async def received_async(client: AsyncPennyblack, step: Attempt) -> Any:
            return self._pass_time(step, await attempt_async(client, step))

        async def pause_async(client: AsyncPennyblack, seconds: float) -> None:
            self._pause(seconds)

        monkeypatch.setattr(_send, "now", lambda: self.now)
        monkeypatch.setattr(Pennyblack, "_attempt", lambda client, step: self._pass_time(step, attempt(client, step)))
        monkeypatch.setattr(Pennyblack, "_pause", lambda client, seconds: self._pause(seconds))
        monkeypatch.setattr(AsyncPennyblack, "_attempt", received_async)
        monkeypatch.setattr(AsyncPennyblack, "_pause", pause_async)

    def _pass_time(self, attempt: Attempt, received: Any) -> Any:
        step = self._server.last_step()
        if step.get("hang"):
            self.now += attempt.timeout
            return httpx.ReadTimeout("")
        self.now += step.get("after_ms", 0) / 1_000
        return received

    def _pause(self, seconds: float) -> None:
        self.pauses.append(seconds)
        self.now += seconds


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[ScriptedServer]:
    # Remove the random backoff.
    monkeypatch.setattr(random, "random", lambda: 0.0)
    server = ScriptedServer()
    yield server
    server.close()


def closed_port() -> str:
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return f"http://127.0.0.1:{listener.getsockname()[1]}"


def arguments(case: Dict[str, Any]) -> Dict[str, Any]:
    values = dict(case.get("call", {"operation": "search", "query": "q"}))
    if "timeout_ms" in values:
        values["timeout"] = values.pop("timeout_ms") / 1_000
    if "for" in values:
        values["for_"] = values.pop("for")
    return values


def settings(case: Dict[str, Any], server: ScriptedServer) -> Dict[str, Any]:
    base_url = closed_port() if case.get("server") == "refuses connections" else server.url
    return {"api_key": "pb_test_key", "base_url": base_url, **case.get("client", {})}


def call_sync(case: Dict[str, Any], server: ScriptedServer) -> Any:
    values = arguments(case)
    operation = values.pop("operation")
    # Loading the certificates of the system takes longer than the call.
    with httpx.Client(verify=False) as http, Pennyblack(**settings(case, server), http_client=http) as client:
        if operation == "search":
            return dataclasses.asdict(client.search(**values))
        if operation == "wallet":
            return client.wallet()
        if operation == "list_keys":
            return list(client.keys.list(**values))
        if operation == "create_key":
            return client.keys.create(values)  # type: ignore[arg-type]
        assert operation == "rotate_key"
        return client.keys.rotate(values["id"], grace_seconds=values["grace_seconds"])


async def call_async(case: Dict[str, Any], server: ScriptedServer) -> Any:
    values = arguments(case)
    operation = values.pop("operation")
    http = httpx.AsyncClient(verify=False)
    async with http, AsyncPennyblack(**settings(case, server), http_client=http) as client:
        if operation == "search":
            return dataclasses.asdict(await client.search(**values))
        if operation == "wallet":
            return await client.wallet()
        if operation == "list_keys":
            return [key async for key in client.keys.list(**values)]
        if operation == "create_key":
            return await client.keys.create(values)  # type: ignore[arg-type]
        assert operation == "rotate_key"
        return await client.keys.rotate(values["id"], grace_seconds=values["grace_seconds"])


async def call_and_cancel(case: Dict[str, Any], server: ScriptedServer) -> None:
    loop = asyncio.get_running_loop()
    task = loop.create_task(call_async(case, server))

    def cancel_soon() -> None:
        loop.call_soon_threadsafe(loop.call_later, 0.05, task.cancel)

    server.on_last_response = cancel_soon
    with pytest.raises(asyncio.CancelledError):
        await task


def call(kind: str, case: Dict[str, Any], server: ScriptedServer) -> Any:
    if kind == "sync":
        return call_sync(case, server)
    return asyncio.run(call_and_cancel(case, server) if case.get("abort") else call_async(case, server))


def assert_includes(actual: Any, expected: Any, path: str) -> None:
    """Members that are not listed in `expected` may have any value. A missing member is None."""
    if isinstance(expected, dict):
        for name, value in expected.items():
            assert_includes(actual.get(name), value, f"{path}.{name}")
    elif isinstance(expected, list):
        assert len(actual) == len(expected), path
        for index, value in enumerate(expected):
            assert_includes(actual[index], value, f"{path}.{index}")
    else:
        assert actual == expected, path


# A thread cannot be cancelled, so a sync call has only its timeout.
calls = [
    pytest.param(kind, case, id=f"{kind}: {case['name']}")
    for case in cases["calls"]
    for kind in (["async"] if case.get("abort") else ["sync", "async"])
]


@pytest.mark.parametrize(("kind", "case"), calls)
def test_call(kind: str, case: Dict[str, Any], server: ScriptedServer, monkeypatch: pytest.MonkeyPatch) -> None:
    expected = case["expect"]
    server.responses = case["responses"]
    clock = Clock(server)
    # A call that is aborted waits until then.
    server.is_hanging = bool(case.get("abort"))
    if not server.is_hanging:
        clock.replace(monkeypatch)
    if "error" in expected:
        with pytest.raises(PennyblackError) as caught:
            call(kind, case, server)
        fields = {**vars(caught.value), "class": type(caught.value).__name__, "message": str(caught.value)}
        assert_includes(fields, expected["error"], "error")
        for text in expected.get("detail_contains", []):
            assert text in caught.value.detail
        for text in expected.get("detail_lacks", []):
            assert text not in caught.value.detail
    else:
        assert_includes(call(kind, case, server), expected.get("result"), "result")
    received = [dataclasses.asdict(request) for request in server.received]
    assert len(received) == len(case["responses"])
    assert len({request["headers"].get("idempotency-key") for request in received}) <= 1
    if "request" in expected:
        assert_includes(received[0], expected["request"], "request")
    if "last_request" in expected:
        assert_includes(received[-1], expected["last_request"], "last request")
    if "pauses_ms" in expected:
        assert [round(seconds * 1_000) for seconds in clock.pauses] == expected["pauses_ms"]
    if "elapsed_ms" in expected:
        assert round(clock.now * 1_000) == expected["elapsed_ms"]


@pytest.mark.parametrize("code", cases["errors"])
def test_error_class(code: str) -> None:
    expected = cases["errors"][code]
    error = create_error(Failure(code, "", False, False, status=expected["status"]))
    assert type(error).__name__ == expected["class"]


@pytest.mark.parametrize("case", [pytest.param(case, id=case["name"]) for case in cases["repeat"]])
def test_repeat(case: Dict[str, Any]) -> None:
    search = case["search"]
    key = derive_repeat_key(
        case["secret"], search["query"], search.get("n"), search.get("category"), case["repeat"], case["now"]
    )
    assert key == case["key"]


def test_invalid_arguments_raise_before_anything_is_sent(server: ScriptedServer) -> None:
    client = Pennyblack("pb_test_key", server.url)
    invalid: List[Dict[str, Any]] = [
        *({"repeat": repeat} for repeat in cases["invalid_repeat"]),
        {"repeat": "20m", "idempotency_key": "mine"},
        {"idempotency_key": "ключ"},
        {"idempotency_key": "line\n"},
        {"run": {"id": "a b", "max": "0.50"}},
        {"run": {"id": "a", "max": "half"}},
        {"wait": 10},
        {"for_": "a b"},
        {"for_": ""},
    ]
    for options in invalid:
        with pytest.raises(ValueError):
            client.search("q", **options)
    assert server.received == []
