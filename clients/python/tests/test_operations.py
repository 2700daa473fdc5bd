"""Calls every method of both clients, and compares the requests with openapi.json."""

import asyncio
import inspect
import json
from datetime import datetime, timezone
from pathlib import Path
from typing import Any, Callable, Dict, List, Optional
from urllib.parse import parse_qsl

import httpx
import pytest

from pennyblack import AsyncPages, AsyncPennyblack, Pages, Pennyblack
from pennyblack.types import KeyBudgetLimits

openapi: Dict[str, Any] = json.loads((Path(__file__).parents[3] / "openapi.json").read_text("utf-8"))
operations = {
    operation["operationId"]: {**operation, "method": method.upper(), "path": path}
    for path, methods in openapi["paths"].items()
    for method, operation in methods.items()
}
# Called by the payment processor.
not_for_callers = ["receiveStripeEvent"]

start, end = datetime(2026, 1, 1, tzinfo=timezone.utc), "2026-02-01"
budget: KeyBudgetLimits = {"day": "1.00"}
item = "7f0c"
calls: Dict[str, Callable[[Any], Any]] = {
    "createSearch": lambda client: client.search("q"),
    "listLenses": lambda client: client.lenses.list(),
    "getLens": lambda client: client.lenses.get(item),
    "inspectLens": lambda client: client.lenses.inspect(item, "https://a.example/"),
    "getWallet": lambda client: client.wallet(),
    "listEntries": lambda client: client.entries(request_id=item, from_=start, to=end, kind="search", limit=5),
    "exportEntries": lambda client: client.export_entries(from_=start, to=end),
    "getWalletProof": lambda client: client.proof(until=start),
    "getSearchReceipt": lambda client: client.receipt(item),
    "getTopUpReceipt": lambda client: client.top_ups.receipt(item),
    "getCurrentKey": lambda client: client.key(),
    "listKeys": lambda client: client.keys.list(limit=5),
    "createKey": lambda client: client.keys.create({"mode": "live", "name": "agent", "budget": budget}),
    "getKey": lambda client: client.keys.get(item),
    "updateKey": lambda client: client.keys.update(item, {"name": "agent"}),
    "revokeKey": lambda client: client.keys.revoke(item),
    "rotateKey": lambda client: client.keys.rotate(item, grace_seconds=60),
    "listBudgets": lambda client: client.budgets.list(limit=5),
    "createBudget": lambda client: client.budgets.create(
        {"mode": "live", "name": "team", "amount": "1.00", "period": "week"}
    ),
    "getBudget": lambda client: client.budgets.get(item),
    "updateBudget": lambda client: client.budgets.update(item, {"amount": "2.00"}),
    "requestBudget": lambda client: client.budgets.request({"budget": item, "amount": "1.00", "hours": 24}),
    "archiveBudget": lambda client: client.budgets.archive(item),
    "listSearches": lambda client: client.searches.list(
        kind="all", outcome="failed", key_id=item, for_="a", mode="live", category="gov", run="nightly", from_=start, to=end, limit=5
    ),
    "getSearch": lambda client: client.searches.get(item),
    "listRuns": lambda client: client.runs.list(from_=start, limit=5),
    "getUsage": lambda client: client.usage(from_=start, to=end, by="day", group=["end_user"], for_="a", limit=5),
    "getWalletSummary": lambda client: client.summary(mode="test"),
    "getAlerts": lambda client: client.alerts.get(),
    "setAlerts": lambda client: client.alerts.update({"email": None, "low_balance": "1.00"}),
    "getEndUserSettings": lambda client: client.end_users.get(),
    "setEndUserSettings": lambda client: client.end_users.update({"ids": "plain"}),
    "listWebhooks": lambda client: client.webhooks.list(),
    "createWebhook": lambda client: client.webhooks.create({"url": "https://hooks.example/"}),
    "getWebhook": lambda client: client.webhooks.get(item),
    "updateWebhook": lambda client: client.webhooks.update(item, {"enabled": False}),
    "deleteWebhook": lambda client: client.webhooks.delete(item),
    "rotateWebhookSecret": lambda client: client.webhooks.rotate_secret(item),
    "listDeliveries": lambda client: client.webhooks.deliveries.list(item, limit=5),
    "testWebhook": lambda client: client.webhooks.test(item),
    "replayDelivery": lambda client: client.webhooks.deliveries.replay(item),
    "listActivity": lambda client: client.activity.list(
        act="key", actor="person", actor_id=item, subject_id=item, from_=start, to=end, limit=5
    ),
    "exportActivity": lambda client: client.activity.export(
        act="key", actor="key", actor_id=item, subject_id=item, from_=start, to=end
    ),
    "createTopUp": lambda client: client.top_ups.create({"amount": "20.00"}),
    "listTopUps": lambda client: client.top_ups.list(limit=5),
    "getTopUp": lambda client: client.top_ups.get(item),
    "getAutoTopUp": lambda client: client.auto_top_up.get(),
    "setAutoTopUp": lambda client: client.auto_top_up.update(
        {"threshold": "1.00", "amount": "20.00", "monthly_cap": "100.00"}
    ),
    "deleteAutoTopUp": lambda client: client.auto_top_up.delete(),
    "listSigningKeys": lambda client: client.jwks(),
}

lists = "results lenses entries keys budgets searches runs usage endpoints deliveries top_ups activity".split()


class Recorder:
    def __init__(self) -> None:
        self.sent: List[httpx.Request] = []

    def respond(self, request: httpx.Request) -> httpx.Response:
        self.sent.append(request)
        path = request.url.path
        if path.endswith(".csv"):
            return httpx.Response(200, headers={"content-type": "text/csv"})
        if path.endswith(".jsonl"):
            return httpx.Response(200, headers={"content-type": "application/jsonl"})
        if path == f"/v1/lenses/{item}":
            return httpx.Response(200, headers={"content-type": "text/plain"})
        return httpx.Response(200, json={name: [] for name in lists})


def call_sync(call: Callable[[Any], Any], recorder: Recorder) -> None:
    with httpx.Client(transport=httpx.MockTransport(recorder.respond)) as http:
        result = call(Pennyblack("k", "http://api.test", http_client=http))
        if isinstance(result, Pages):
            result.page("c")


def call_async(call: Callable[[Any], Any], recorder: Recorder) -> None:
    async def run() -> None:
        async with httpx.AsyncClient(transport=httpx.MockTransport(recorder.respond)) as http:
            result = call(AsyncPennyblack("k", "http://api.test", http_client=http))
            await (result.page("c") if isinstance(result, AsyncPages) else result)

    asyncio.run(run())


def test_there_is_a_method_for_every_operation_of_v1() -> None:
    expected = [name for name, operation in operations.items() if operation["path"].startswith("/v1/")]
    assert [name for name in expected if name not in calls and name not in not_for_callers] == []


@pytest.mark.parametrize("run", [call_sync, call_async])
@pytest.mark.parametrize("name", calls)
def test_a_method_sends_its_operation_with_all_its_query_parameters(name: str, run: Callable[..., None]) -> None:
    recorder = Recorder()
    run(calls[name], recorder)
    operation = operations[name]
    (request,) = recorder.sent
    assert (request.method, request.url.path) == (operation["method"], operation["path"].replace("{id}", item).replace("{name}", item))
    sent = dict(parse_qsl(request.url.query.decode()))
    # A list without pages has no cursor.
    assert sorted(set(sent) - ({"cursor"} - query_parameters(operation))) == sorted(query_parameters(operation))


def query_parameters(operation: Dict[str, Any]) -> Any:
    shared = openapi["components"].get("parameters", {})
    parameters = [
        shared[each["$ref"].split("/")[-1]] if "$ref" in each else each for each in operation.get("parameters", [])
    ]
    return {each["name"] for each in parameters if each["in"] == "query"}


def signatures(kind: type) -> Dict[str, Optional[str]]:
    return {
        name: str(inspect.signature(member)).replace("Async", "")
        for name, member in vars(kind).items()
        if inspect.isfunction(member) and not name.startswith("_")
    }


def test_both_clients_have_the_same_methods() -> None:
    assert signatures(Pennyblack) == signatures(AsyncPennyblack)
