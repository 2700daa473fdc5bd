"""Calls a real server with both clients and prints the results, which killed-server.test.ts checks."""

import asyncio
import json
import os
import sys
from datetime import datetime, timedelta, timezone
from typing import Any, Callable, Dict

from pennyblack import AsyncPennyblack, Pennyblack, PennyblackError
from pennyblack.types import CreateKeyRequest, Key

management_key = os.environ["PENNYBLACK_MANAGEMENT_KEY"]


def error_of(call: Callable[[], Any]) -> str:
    try:
        call()
    except PennyblackError as error:
        return describe(error)
    return "succeeded"


def describe(error: PennyblackError) -> str:
    return f"{type(error).__name__} {error.code} charged={error.charged}"


def run_sync() -> Dict[str, Any]:
    manager = Pennyblack(management_key)
    with Pennyblack() as client:
        first = client.search("  penny black ", n=3, category="research", idempotency_key="python")
        replay = client.search("penny black", n=3, category="research", idempotency_key="python")
        client.search("the budget's first cent", run={"id": "python", "max": "0.01", "ttl": 60})
        budget = error_of(lambda: client.search("another", run={"id": "python", "max": "0.01"}))
        agent_key: CreateKeyRequest = {"mode": "test", "name": "agent", "budget": {"day": "1.00"}}
        created = manager.keys.create(agent_key)
        agent = Pennyblack(created["key"])
        rotated = manager.keys.rotate(created["id"], grace_seconds=60)
        now = datetime.now(timezone.utc)
        usage = manager.usage(from_=now - timedelta(days=1), to=now + timedelta(hours=1), by="day", group=["outcome"])
        return {
            "first": [first.query, len(first.results), first.meta.charge, first.meta.replayed],
            "replay": [replay.results == first.results, replay.meta.charge, replay.meta.replayed],
            "budget": budget,
            "invalid": error_of(lambda: client.search("cats", n=21)),
            "scope": error_of(client.wallet),
            "charges": [entry["amount"] for entry in manager.entries(request_id=first.meta.request_id)],
            "entries": [f"{entry['kind']} {entry['amount']}" for entry in manager.entries(limit=1)],
            "key": [agent.key()["id"] == created["id"], agent.search("cats").meta.key_budgets[0].left],
            "updated": manager.keys.update(created["id"], {"name": "renamed", "budget": None})["name"],
            "revoked": manager.keys.revoke(rotated["id"])["state"],
            "keys": sorted(key["name"] for key in manager.keys.list(limit=2)),
            "searches": [period["searches"] for period in usage if period["mode"] == "live" and period["outcome"] == "ok"],
            "balance": manager.wallet()["balance"],
        }


def run_management() -> Dict[str, Any]:
    """Everything that a management key can do, except what run_sync does."""
    manager = Pennyblack(management_key)
    with Pennyblack() as client:
        paid = client.search("flood warning levels", run={"id": "nightly", "max": "0.05"}, explain=True)
    listed = manager.searches.list(kind="search", outcome="ok", mode="live", run="nightly").page().items
    found = manager.searches.get(paid.meta.request_id)
    day_ago = datetime.now(timezone.utc) - timedelta(days=1)
    manager.alerts.update({"email": None, "low_balance": "0.50"})
    webhook = manager.webhooks.create({"url": "https://hooks.example/pennyblack", "events": ["key.created"]})
    delivery = manager.webhooks.test(webhook["id"])
    replay = manager.webhooks.deliveries.replay(delivery["id"])
    delivered = {each["id"] for each in manager.webhooks.deliveries.list(webhook["id"], limit=1)}
    rotated = manager.webhooks.rotate_secret(webhook["id"])
    lens = next(iter(manager.lenses.list()))
    return {
        "listed": [search["request_id"] == paid.meta.request_id for search in listed],
        "found": [found["charged"], found["run"], len(found["entries"])],
        "runs": [[each["run"], each["spent"], each["limit"]] for each in manager.runs.list(from_=day_ago)],
        "summary": manager.summary()["balance"],
        "alerts": manager.alerts.get()["low_balance"],
        "end users": [manager.end_users.update({"ids": "plain"})["ids"], manager.end_users.get()["ids"]],
        "webhook": [delivered == {delivery["id"], replay["id"]}, rotated["secret"] != webhook["secret"]],
        "updated": manager.webhooks.update(webhook["id"], {"enabled": False})["enabled"],
        "webhooks": [each["disabled_reason"] for each in manager.webhooks.list()],
        "got": manager.webhooks.get(webhook["id"])["events"],
        "deleted": manager.webhooks.delete(webhook["id"])["deleted"],
        "receipt": manager.receipt(paid.meta.request_id)["receipt"].count("."),
        "signing keys": [key["alg"] for key in manager.jwks()["keys"]],
        "export": len(manager.export_entries(from_=day_ago).splitlines()),
        "proof": error_of(manager.proof),
        "top_up": error_of(lambda: manager.top_ups.create({"amount": "20.00"}, timeout=5)),
        "top_ups": manager.top_ups.list().page().items,
        "no receipt": error_of(lambda: manager.top_ups.receipt(paid.meta.request_id)),
        "no top_up": error_of(lambda: manager.top_ups.get(paid.meta.request_id)),
        "auto": manager.auto_top_up.get()["state"],
        "auto set": error_of(
            lambda: manager.auto_top_up.update({"threshold": "1.00", "amount": "20.00", "monthly_cap": "50.00"}, timeout=5)
        ),
        "auto deleted": manager.auto_top_up.delete()["state"],
        "lens": [lens["name"], isinstance(lens["lambda"], float), manager.lenses.get("base").count("\n") > 10],
        "tier": manager.lenses.inspect("programming", "https://www.postgresql.org/docs/")["tier"],
        "states": sorted({describe_state(key) for key in manager.keys.list()}),
    }


def describe_state(key: Key) -> str:
    return f"{key['mode']} {key['state']}"


async def run_async() -> Dict[str, Any]:
    async with AsyncPennyblack() as client, AsyncPennyblack() as other, AsyncPennyblack(management_key) as manager:
        searches = [each.search("flood warning levels", n=3, repeat="24h") for each in [client, other] * 5]
        answers = await asyncio.gather(*searches)
        return {
            "charged": sorted(answer.meta.charge for answer in answers)[-2:],
            "keys": len({answer.meta.idempotency_key for answer in answers}),
            "entries": [entry["amount"] async for entry in manager.entries(kind="search", limit=1)],
        }


def run_one_search() -> Dict[str, Any]:
    answer = Pennyblack().search("dogs", n=3)
    return {"length": len(answer.results), "charge": answer.meta.charge, "replayed": answer.meta.replayed}


def run_wait() -> Dict[str, Any]:
    try:
        Pennyblack().search("cats", wait=1)
    except PennyblackError as error:
        return {"error": describe(error), "retryable": error.retryable}
    return {"error": "succeeded"}


def run_repeat() -> Dict[str, Any]:
    answer = Pennyblack().search(sys.argv[2], n=3, repeat="24h")
    return {"charge": answer.meta.charge, "key": answer.meta.idempotency_key}


if __name__ == "__main__":
    scenarios: Dict[str, Callable[[], Dict[str, Any]]] = {
        "sync": run_sync,
        "management": run_management,
        "async": lambda: asyncio.run(run_async()),
        "one-search": run_one_search,
        "repeat": run_repeat,
        "wait": run_wait,
    }
    print(json.dumps(scenarios[sys.argv[1]]()))
