"""What only this client has."""

import pickle
import random
import socket
import threading
from pathlib import Path
from typing import Any, Iterator, List

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


def test_the_user_agent_names_the_version_and_the_runtime() -> None:
    requests: List[httpx.Request] = []

    def respond(request: httpx.Request) -> httpx.Response:
        requests.append(request)
        return httpx.Response(200, json={})

    scripted(respond).wallet()
    assert str(requests[0].url) == "http://api.test/base/v1/wallet"
    assert requests[0].headers["user-agent"].startswith(f"pennyblack-python/{pennyblack.__version__} python/3.")


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


def test_the_package_has_the_license_of_the_repository() -> None:
    assert (root / "clients/python/LICENSE").read_bytes() == (root / "LICENSE").read_bytes()
