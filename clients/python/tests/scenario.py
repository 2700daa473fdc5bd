"""Calls a real server with both clients and prints the results, which killed-server.test.ts checks."""

import asyncio
import json
import os
import sys
from datetime import datetime, timedelta, timezone
from typing import Any, Callable, Dict

from pennyblack import AsyncPennyblack, Pennyblack, PennyblackError

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
        created = manager.keys.create({"mode": "test", "name": "agent", "budget": {"day": "1.00"}})
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
        "async": lambda: asyncio.run(run_async()),
        "one-search": run_one_search,
        "repeat": run_repeat,
        "wait": run_wait,
    }
    print(json.dumps(scenarios[sys.argv[1]]()))
