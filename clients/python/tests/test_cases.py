"""Runs clients/cases.json, which the TypeScript SDK runs too, with the sync and the async client."""

import asyncio
import dataclasses
import json
import random
import re
import socket
import time
from pathlib import Path
from typing import Any, Dict, Iterator, List

import httpx
import pytest
from scripted_server import ScriptedServer

from pennyblack import AsyncPages, AsyncPennyblack, Pages, Pennyblack, PennyblackError, WebhookError, _send, verify_webhook
from pennyblack._errors import Failure, create_error
from pennyblack._repeat import derive_repeat_key
from pennyblack._send import Attempt
from pennyblack._transport import AsyncTransport, Transport

cases: Dict[str, Any] = json.loads((Path(__file__).parents[2] / "cases.json").read_text("utf-8"))


class Clock:
    """The clock of the client. Only responses, timeouts and pauses move it."""

    def __init__(self, server: ScriptedServer) -> None:
        self.now = 0.0
        self.pauses: List[float] = []
        self._server = server

    def replace(self, monkeypatch: pytest.MonkeyPatch) -> None:
        attempt, attempt_async = Transport._attempt, AsyncTransport._attempt

        async def received_async(transport: AsyncTransport, step: Attempt) -> Any:
            return self._pass_time(step, await attempt_async(transport, step))

        async def pause_async(transport: AsyncTransport, seconds: float) -> None:
            self._pause(seconds)

        monkeypatch.setattr(_send, "now", lambda: self.now)
        monkeypatch.setattr(Transport, "_attempt", lambda transport, step: self._pass_time(step, attempt(transport, step)))
        monkeypatch.setattr(Transport, "_pause", lambda transport, seconds: self._pause(seconds))
        monkeypatch.setattr(AsyncTransport, "_attempt", received_async)
        monkeypatch.setattr(AsyncTransport, "_pause", pause_async)

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


def to_python(values: Dict[str, Any]) -> Dict[str, Any]:
    """Arguments with the names of this client."""
    renamed = {"for": "for_", "from": "from_", "timeout_ms": "timeout"}
    return {
        renamed.get(name, name): value / 1_000 if name == "timeout_ms" else value for name, value in values.items()
    }


def settings(case: Dict[str, Any], server: ScriptedServer) -> Dict[str, Any]:
    base_url = closed_port() if case.get("server") == "refuses connections" else server.url
    return {"api_key": "pb_test_key", "base_url": base_url, **case.get("client", {})}


def start(client: Any, case: Dict[str, Any]) -> Any:
    """Calls the method of the sync or of the async client."""
    values = to_python(case.get("call", {"operation": "search", "query": "q"}))
    operation = values.pop("operation")
    if operation == "rotate_key":
        return client.keys.rotate(values["id"], grace_seconds=values["grace_seconds"])
    if operation == "create_top_up":
        return client.top_ups.create({"amount": values["amount"]}, idempotency_key=values["idempotency_key"])
    with_options = {
        "search": client.search,
        "wallet": client.wallet,
        "usage": client.usage,
        "list_keys": client.keys.list,
        "list_searches": client.searches.list,
        "export_entries": client.export_entries,
    }
    with_body = {"create_key": client.keys.create, "set_alerts": client.alerts.update}
    return with_body[operation](values) if operation in with_body else with_options[operation](**values)


def call_sync(case: Dict[str, Any], server: ScriptedServer) -> Any:
    # Loading the certificates of the system takes longer than the call.
    with httpx.Client(verify=False) as http, Pennyblack(**settings(case, server), http_client=http) as client:
        result = start(client, case)
        return list(result) if isinstance(result, Pages) else result


async def call_async(case: Dict[str, Any], server: ScriptedServer) -> Any:
    http = httpx.AsyncClient(verify=False)
    async with http, AsyncPennyblack(**settings(case, server), http_client=http) as client:
        result = start(client, case)
        return [item async for item in result] if isinstance(result, AsyncPages) else await result


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
    if dataclasses.is_dataclass(actual):
        actual = dataclasses.asdict(actual)
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


@pytest.mark.parametrize("repeat", cases["invalid_repeat"])
def test_repeat_is_not_a_duration(repeat: str) -> None:
    with pytest.raises(ValueError):
        derive_repeat_key("secret", "q", None, None, repeat, 0)


names = {"for": "for_", "run": cases["messages"]["run"], "null": "None"}


def in_python(message: str) -> str:
    return re.sub(r"\{(\w+)\}", lambda match: names.get(match[1], match[1]), message)


invalid_arguments = [
    pytest.param(kind, case, id=f"{kind.__name__}: {json.dumps(case.get('call', case.get('client')))}")
    for case in cases["invalid_arguments"]
    for kind in (Pennyblack, AsyncPennyblack)
]


@pytest.mark.parametrize(("kind", "case"), invalid_arguments)
def test_invalid_arguments_raise_before_anything_is_sent(kind: Any, case: Dict[str, Any], server: ScriptedServer) -> None:
    with pytest.raises(ValueError) as caught:
        client = kind(**settings(case, server))
        call = case.get("call", {})
        result = start(client, {"call": call if "operation" in call else {"operation": "search", "query": "q", **call}})
        if asyncio.iscoroutine(result):
            asyncio.run(result)
    assert str(caught.value) == in_python(case["message"])
    assert server.received == []


@pytest.mark.parametrize("case", [pytest.param(case, id=case["name"]) for case in cases["settings"]])
def test_settings(case: Dict[str, Any], monkeypatch: pytest.MonkeyPatch) -> None:
    for variable in ("PENNYBLACK_API_KEY", "PENNYBLACK_URL"):
        monkeypatch.delenv(variable, raising=False)
    for variable, value in case["env"].items():
        monkeypatch.setenv(variable, value)
    requests: List[httpx.Request] = []

    def respond(request: httpx.Request) -> httpx.Response:
        requests.append(request)
        return httpx.Response(200, json={})

    http = httpx.Client(transport=httpx.MockTransport(respond))
    if "message" in case:
        with pytest.raises(ValueError) as caught:
            Pennyblack(**case.get("client", {}), http_client=http)
        assert str(caught.value) == in_python(case["message"])
    else:
        Pennyblack(**case.get("client", {}), http_client=http).wallet()
    sent = [(str(request.url), request.headers["authorization"]) for request in requests]
    assert sent == ([] if "message" in case else [(f"{case['url']}/v1/wallet", f"Bearer {case['key']}")])


@pytest.mark.parametrize("case", [pytest.param(case, id=case["name"]) for case in cases["webhooks"]])
def test_webhook(case: Dict[str, Any], monkeypatch: pytest.MonkeyPatch) -> None:
    webhook = {**cases["webhook"], **case}
    merged = {**cases["webhook"]["headers"], **case.get("headers", {})}
    headers = {name: value for name, value in merged.items() if value is not None}
    monkeypatch.setattr(time, "time", lambda: webhook["now"])
    for payload in (webhook["body"], webhook["body"].encode()):
        if case["message"] is None:
            assert verify_webhook(payload, headers, webhook["secret"]) == json.loads(webhook["body"])
            continue
        with pytest.raises(WebhookError) as caught:
            verify_webhook(payload, headers, webhook["secret"])
        assert str(caught.value) == cases["messages"][case["message"]]
