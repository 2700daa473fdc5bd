"""What only this client has."""

import json
import pickle
import random
import socket
import threading
from pathlib import Path
from typing import Any, Dict, Iterator, List, get_type_hints

import httpx
import pytest

import pennyblack
from pennyblack import BudgetError, Failure, Pennyblack, PennyblackError

root = Path(__file__).parents[3]
overloaded = {"code": "overloaded", "detail": "Overloaded.", "retryable": True}


def scripted(handler: Any, **options: Any) -> Pennyblack:
    return Pennyblack(
        "pb_test_key", "http://api.test/base/", http_client=httpx.Client(transport=httpx.MockTransport(handler)), **options
    )


def test_settings_are_read_from_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PENNYBLACK_API_KEY", "pb_test_environment")
    monkeypatch.setenv("PENNYBLACK_URL", "http://environment.test")
    requests: List[httpx.Request] = []

    def respond(request: httpx.Request) -> httpx.Response:
        requests.append(request)
        return httpx.Response(200, json={})

    Pennyblack(http_client=httpx.Client(transport=httpx.MockTransport(respond))).wallet()
    assert str(requests[0].url) == "http://environment.test/v1/wallet"
    assert requests[0].headers["authorization"] == "Bearer pb_test_environment"
    assert requests[0].headers["user-agent"].startswith(f"pennyblack-python/{pennyblack.__version__} python/3.")
    for invalid in ({"api_key": ""}, {"api_key": "a b"}, {"base_url": "ftp://api.test"}, {"repeat_secret": ""}):
        with pytest.raises(ValueError):
            Pennyblack(**invalid)  # type: ignore[arg-type]
    monkeypatch.delenv("PENNYBLACK_API_KEY")
    with pytest.raises(ValueError, match="api_key is missing. Pass it to the client, or set PENNYBLACK_API_KEY."):
        Pennyblack()


def test_retries_back_off_exponentially_with_full_jitter(monkeypatch: pytest.MonkeyPatch) -> None:
    delays: List[float] = []
    monkeypatch.setattr(random, "random", lambda: 0.5)
    monkeypatch.setattr("time.sleep", delays.append)
    client = scripted(lambda request: httpx.Response(503, json=overloaded), max_retries=4)
    with pytest.raises(PennyblackError):
        client.search("q")
    assert delays == [0.125, 0.25, 0.5, 1.0]


def test_two_searches_never_share_an_idempotency_key() -> None:
    client = scripted(lambda request: httpx.Response(200, json={"query": "q", "n": 0, "results": []}))
    assert client.search("q").meta.idempotency_key != client.search("q").meta.idempotency_key


@pytest.fixture
def dripping_server() -> Iterator[str]:
    """Sends one byte every 50 ms for 10 s, and then closes the connection."""
    ended = threading.Event()
    listener = socket.create_server(("127.0.0.1", 0))

    def drip() -> None:
        connection, _ = listener.accept()
        with connection:
            connection.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 100000\r\n\r\n")
            for _ in range(200):
                try:
                    connection.sendall(b" ")
                except OSError:
                    return
                if ended.wait(0.05):
                    return

    thread = threading.Thread(target=drip, daemon=True)
    thread.start()
    yield f"http://127.0.0.1:{listener.getsockname()[1]}"
    ended.set()
    thread.join()
    listener.close()


def test_a_response_that_does_not_end_times_out(dripping_server: str) -> None:
    client = Pennyblack("pb_test_key", dripping_server, max_retries=0)
    with pytest.raises(PennyblackError) as caught:
        client.search("q", timeout=0.5)
    assert (caught.value.code, caught.value.charged) == ("timeout", "unknown")


def test_errors_can_be_pickled() -> None:
    failure = Failure("run_budget_spent", "Spent.", False, False, status=403, request_id="r-1", problem={"limit": "1"})
    error = pickle.loads(pickle.dumps(BudgetError(failure)))
    assert isinstance(error, BudgetError)
    assert (str(error), error.problem) == ("Spent. [run_budget_spent, request r-1]", {"limit": "1"})


def test_the_explanation_is_parsed() -> None:
    header = "1;from=4;tier=A;why=government;score=0.919, 2;from=1;tier=N;why=unlisted;score=0.790;navigational, 3;x, "
    header += '3;from=2;tier=D;why=x;list=cred-1;source="https://lists.example/";score=0.500'
    answer = {"query": "q", "n": 0, "results": []}
    client = scripted(lambda request: httpx.Response(200, json=answer, headers={"rank-explain": header}))
    first, second, third = client.search("q", explain=True).meta.explanation or []
    assert (first.position, first.upstream_rank, first.tier, first.score) == (1, 4, "A", 0.919)
    assert (second.reason, second.guards) == ("unlisted", ["navigational"])
    assert (third.upstream_rank, third.tier, third.score) == (2, "D", 0.5)


schemas: Dict[str, Any] = json.loads((root / "openapi.json").read_text("utf-8"))["components"]["schemas"]


@pytest.mark.parametrize(
    "name",
    [
        "CreateKeyRequest",
        "CreatedKey",
        "Entry",
        "Key",
        "KeyBudget",
        "KeyBudgetLimits",
        "KeyBudgetPeriod",
        "SearchResult",
        "UpdateKeyRequest",
        "UsagePeriod",
        "Wallet",
    ],
)
def test_types_have_the_members_of_the_openapi_document(name: str) -> None:
    assert set(get_type_hints(getattr(pennyblack, name))) == members(schemas[name])


def members(schema: Dict[str, Any]) -> Any:
    if "$ref" in schema:
        return members(schemas[schema["$ref"].split("/")[-1]])
    own = set(schema.get("properties", {}))
    return own.union(*(members(part) for part in schema.get("allOf", [])))


def test_the_package_has_the_license_of_the_repository() -> None:
    assert (root / "clients/python/LICENSE").read_bytes() == (root / "LICENSE").read_bytes()
