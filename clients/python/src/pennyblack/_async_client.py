"""The client. Each method makes one API call; `_errors.py` lists the errors it can raise."""

from dataclasses import replace
from types import TracebackType
from typing import Any, List, Literal, Optional, Sequence, Type, TypeVar, cast

import httpx

from ._answer import RunBudget, SearchAnswer, read_answer
from ._arguments import (
    OMITTED,
    Query,
    Time,
    check_idempotency_key,
    check_timeout,
    choose_idempotency_key,
    connect,
    search_headers,
    to_iso,
    to_list,
    to_path,
    to_query_string,
    without_none,
)
from ._pages import AsyncPages, Page
from ._send import Call
from ._transport import AsyncTransport
from .types import (
    Activity,
    AlertSettings,
    AutoTopUp,
    Budget,
    Category,
    BudgetRequest,
    CreateBudgetRequest,
    CreateBudgetRequestRequest,
    CreatedKey,
    CreatedWebhook,
    CreateKeyRequest,
    CreateTopUpRequest,
    CreateWebhookRequest,
    CurrentKey,
    DeletedWebhook,
    Delivery,
    EndUserSettings,
    Entry,
    EntryKind,
    Key,
    Lens,
    LensInspection,
    Receipt,
    RotatedWebhookSecret,
    Run,
    Search,
    SearchDetails,
    SetAutoTopUpRequest,
    SigningKeySet,
    TopUp,
    UpdateBudgetRequest,
    UpdateKeyRequest,
    UpdateWebhookRequest,
    UsagePeriod,
    Wallet,
    WalletProof,
    WalletSummary,
    Webhook,
)

Body = TypeVar("Body")
Mode = Literal["live", "test"]


class AsyncResource:
    """What the methods share. `kind` is the type of the body of the response."""

    def __init__(self, transport: AsyncTransport) -> None:
        self._transport = transport

    async def _get(
        self, kind: Type[Body], path: str, timeout: Optional[float], query: Query = {}, text_type: Optional[str] = None
    ) -> Body:
        return await self._send(kind, Call("GET", path + to_query_string(query), text_type=text_type), timeout)

    async def _send(self, kind: Type[Body], call: Call, timeout: Optional[float]) -> Body:
        check_timeout(timeout)
        response = await self._transport.send(replace(call, timeout=timeout))
        return cast(Body, response.body)

    def _list(self, path: str, name: str, timeout: Optional[float], query: Query = {}) -> AsyncPages[Any]:
        check_timeout(timeout)

        async def load(cursor: Optional[str]) -> Page[Any]:
            text = to_query_string({**query, "cursor": cursor})
            response = await self._transport.send(Call("GET", path + text, list_name=name, timeout=timeout))
            return Page(response.body[name], response.body.get("next_cursor"))

        return AsyncPages(load)


class AsyncPennyblack(AsyncResource):
    """The API client. Tasks or threads can share it. Use it as a context manager, or call `close`."""

    def __init__(
        self,
        api_key: str = OMITTED,
        base_url: str = OMITTED,
        *,
        timeout: float = 60,
        max_retries: int = 3,
        repeat_secret: Optional[str] = None,
        http_client: Optional[httpx.AsyncClient] = None,
    ) -> None:
        """
        api_key: Default: the environment variable PENNYBLACK_API_KEY.
        base_url: The base URL of your server. Default: PENNYBLACK_URL.
        timeout: Time limit for a call in seconds, including retries.
        max_retries: Maximum number of retries, when retrying is safe.
        repeat_secret: The secret from which `repeat` derives Idempotency-Keys. Default: the API key.
        http_client: Your own client, for example with a proxy. `close` does not close it.
        """
        connection = connect(api_key, base_url, timeout, max_retries, repeat_secret)
        super().__init__(AsyncTransport(connection, http_client))
        #: Manages the wallet's API keys.
        self.keys = AsyncKeys(self._transport)
        #: Manages the budgets that keys share.
        self.budgets = AsyncBudgets(self._transport)
        #: Adds money to the wallet.
        self.top_ups = AsyncTopUps(self._transport)
        #: Charges a saved card when the balance is low.
        self.auto_top_up = AsyncAutoTopUps(self._transport)
        #: The low-balance alert.
        self.alerts = AsyncAlerts(self._transport)
        #: How the ids of end users are stored.
        self.end_users = AsyncEndUsers(self._transport)
        self.webhooks = AsyncWebhooks(self._transport)
        self.searches = AsyncSearches(self._transport)
        self.runs = AsyncRuns(self._transport)
        #: Who changed what.
        self.activity = AsyncActivityLog(self._transport)
        #: The published ranking rules.
        self.lenses = AsyncLenses(self._transport)

    async def search(
        self,
        query: str,
        *,
        n: Optional[int] = None,
        category: Optional[Category] = None,
        run: Optional[RunBudget] = None,
        for_: Optional[str] = None,
        wait: Optional[int] = None,
        explain: bool = False,
        registries: bool = True,
        idempotency_key: Optional[str] = None,
        repeat: Optional[str] = None,
        timeout: Optional[float] = None,
    ) -> SearchAnswer:
        """Searches the web for 0.01 USD, charged only on success. Retries are never charged twice.

        n: Number of results, 1 to 20. Default: 10.
        run: A budget shared by all searches with the same id, such as {"id": "task-17", "max": "0.10"}.
        for_: Your ID for the end user on whose behalf you search, 1 to 64 letters, digits or any of `_.:@/+=|-`.
        wait: Your deadline for the call in seconds (1 to 9), including its retries. After it, the search fails and is free.
        explain: Include the ranking explanation in `meta.explanation`.
        registries: False ranks by the hand-written rules only, without published lists of domains.
        idempotency_key: Random by default. Set your own to be able to retry after this process exits.
        repeat: Identical searches within this time window, such as "20m", share one answer and one charge.
        """
        check_timeout(timeout)
        headers = search_headers(run, for_, wait, explain, registries)
        secret = self._transport.connection.repeat_secret
        key = choose_idempotency_key(idempotency_key, repeat, secret=secret, query=query, n=n, category=category)
        call = Call(
            "POST",
            "/v1/search",
            body=without_none({"query": query, "n": n, "category": category}),
            headers=headers,
            idempotency_key=key,
            may_charge=True,
            list_name="results",
            timeout=timeout,
            wait=wait,
        )
        return read_answer(await self._transport.send(call), key)

    async def wallet(self, *, timeout: Optional[float] = None) -> Wallet:
        """Returns the wallet and its balance."""
        return await self._get(Wallet, "/v1/wallet", timeout)

    async def summary(self, *, mode: Optional[Mode] = None, timeout: Optional[float] = None) -> WalletSummary:
        """Returns the balance, how many days it lasts, and the searches of the last 24 hours. Default mode: live."""
        return await self._get(WalletSummary, "/v1/wallet/summary", timeout, {"mode": mode})

    def entries(
        self,
        *,
        request_id: Optional[str] = None,
        from_: Optional[Time] = None,
        to: Optional[Time] = None,
        kind: Optional[EntryKind] = None,
        limit: Optional[int] = None,
        timeout: Optional[float] = None,
    ) -> AsyncPages[Entry]:
        """Lists ledger entries, newest first. Pass `request_id` to check whether a search was charged."""
        query = {"request_id": request_id, "from": to_iso(from_), "to": to_iso(to), "kind": kind, "limit": limit}
        return self._list("/v1/wallet/entries", "entries", timeout, query)

    async def export_entries(
        self, *, from_: Optional[Time] = None, to: Optional[Time] = None, timeout: Optional[float] = None
    ) -> str:
        """Returns all ledger entries as CSV. Default: the last 30 days."""
        query = {"from": to_iso(from_), "to": to_iso(to)}
        return await self._get(str, "/v1/wallet/entries.csv", timeout, query, "text/csv")

    async def proof(self, *, until: Optional[Time] = None, timeout: Optional[float] = None) -> WalletProof:
        """Returns the proof of the wallet's entries. `until`: only hours that ended by this time. Default: now."""
        return await self._get(WalletProof, "/v1/wallet/proof", timeout, {"until": to_iso(until)})

    async def receipt(self, request_id: str, *, timeout: Optional[float] = None) -> Receipt:
        """Returns the signed receipt of a search, by its request id."""
        return await self._get(Receipt, f"{to_path('searches', request_id)}/receipt", timeout)

    async def jwks(self, *, timeout: Optional[float] = None) -> SigningKeySet:
        """Returns the public keys of receipts and roots."""
        return await self._get(SigningKeySet, "/.well-known/jwks.json", timeout)

    def usage(
        self,
        *,
        from_: Optional[Time] = None,
        to: Optional[Time] = None,
        by: Optional[Literal["hour", "day"]] = None,
        group: Optional[Sequence[Literal["key", "category", "outcome", "end_user"]]] = None,
        for_: Optional[str] = None,
        limit: Optional[int] = None,
        timeout: Optional[float] = None,
    ) -> AsyncPages[UsagePeriod]:
        """Lists search counts and charges by hour or day.

        group: `end_user` only alone and by day.
        for_: Only searches for this end user. By day, without another group.
        """
        times = {"from": to_iso(from_), "to": to_iso(to)}
        query = {**times, "by": by, "group": to_list(group), "for": for_, "limit": limit}
        return self._list("/v1/usage", "usage", timeout, query)

    async def key(self, *, timeout: Optional[float] = None) -> CurrentKey:
        """Returns this client's API key and the limits that apply to it."""
        return await self._get(CurrentKey, "/v1/key", timeout)

    async def close(self) -> None:
        """Closes the connections."""
        await self._transport.close()

    async def __aenter__(self: "AsyncSelf") -> "AsyncSelf":
        return self

    async def __aexit__(
        self, kind: Optional[Type[BaseException]], error: Optional[BaseException], trace: Optional[TracebackType]
    ) -> None:
        await self.close()


AsyncSelf = TypeVar("AsyncSelf", bound=AsyncPennyblack)


class AsyncKeys(AsyncResource):
    def list(self, *, limit: Optional[int] = None, timeout: Optional[float] = None) -> AsyncPages[Key]:
        return self._list("/v1/keys", "keys", timeout, {"limit": limit})

    async def get(self, key_id: str, *, timeout: Optional[float] = None) -> Key:
        return await self._get(Key, to_path("keys", key_id), timeout)

    async def create(self, key: CreateKeyRequest, *, timeout: Optional[float] = None) -> CreatedKey:
        """Creates a key. Only this response contains the secret. Not retried if no response arrives."""
        return await self._send(CreatedKey, Call("POST", "/v1/keys", body=key, is_idempotent=False), timeout)

    async def update(self, key_id: str, changes: UpdateKeyRequest, *, timeout: Optional[float] = None) -> Key:
        return await self._send(Key, Call("PATCH", to_path("keys", key_id), body=changes), timeout)

    async def rotate(self, key_id: str, *, grace_seconds: int, timeout: Optional[float] = None) -> CreatedKey:
        """Creates a replacement. The old key keeps working for `grace_seconds`. Not retried if no response arrives."""
        path = f"{to_path('keys', key_id)}/rotate"
        call = Call("POST", path, body={"grace_seconds": grace_seconds}, is_idempotent=False)
        return await self._send(CreatedKey, call, timeout)

    async def revoke(self, key_id: str, *, timeout: Optional[float] = None) -> Key:
        return await self._send(Key, Call("DELETE", to_path("keys", key_id)), timeout)


class AsyncBudgets(AsyncResource):
    def list(self, *, limit: Optional[int] = None, timeout: Optional[float] = None) -> AsyncPages[Budget]:
        return self._list("/v1/budgets", "budgets", timeout, {"limit": limit})

    async def get(self, budget_id: str, *, timeout: Optional[float] = None) -> Budget:
        return await self._get(Budget, to_path("budgets", budget_id), timeout)

    async def create(self, budget: CreateBudgetRequest, *, timeout: Optional[float] = None) -> Budget:
        """Creates a budget that keys can name in `budgets`. Not retried if no response arrives."""
        return await self._send(Budget, Call("POST", "/v1/budgets", body=budget, is_idempotent=False), timeout)

    async def update(self, budget_id: str, changes: UpdateBudgetRequest, *, timeout: Optional[float] = None) -> Budget:
        return await self._send(Budget, Call("PATCH", to_path("budgets", budget_id), body=changes), timeout)

    async def archive(self, budget_id: str, *, timeout: Optional[float] = None) -> Budget:
        """Archives a budget that no key names."""
        return await self._send(Budget, Call("DELETE", to_path("budgets", budget_id)), timeout)

    async def request(
        self, request: CreateBudgetRequestRequest, *, timeout: Optional[float] = None
    ) -> BudgetRequest:
        """Asks a person to raise a shared budget of this client's key. Equal requests are one as long as it is open."""
        return await self._send(BudgetRequest, Call("POST", "/v1/key/budget-requests", body=request), timeout)


class AsyncTopUps(AsyncResource):
    async def create(
        self, top_up: CreateTopUpRequest, *, idempotency_key: Optional[str] = None, timeout: Optional[float] = None
    ) -> TopUp:
        """Starts a top-up, such as {"amount": "20.00"}; pay at the returned `checkout_url`."""
        key = check_idempotency_key(idempotency_key)
        return await self._send(TopUp, Call("POST", "/v1/wallet/top-ups", body=top_up, idempotency_key=key), timeout)

    def list(self, *, limit: Optional[int] = None, timeout: Optional[float] = None) -> AsyncPages[TopUp]:
        return self._list("/v1/wallet/top-ups", "top_ups", timeout, {"limit": limit})

    async def get(self, top_up_id: str, *, timeout: Optional[float] = None) -> TopUp:
        return await self._get(TopUp, to_path("wallet/top-ups", top_up_id), timeout)

    async def receipt(self, top_up_id: str, *, timeout: Optional[float] = None) -> Receipt:
        """Returns the signed receipt of a top-up."""
        return await self._get(Receipt, f"{to_path('wallet/top-ups', top_up_id)}/receipt", timeout)


class AsyncAutoTopUps(AsyncResource):
    async def get(self, *, timeout: Optional[float] = None) -> AutoTopUp:
        return await self._get(AutoTopUp, "/v1/wallet/auto-top-up", timeout)

    async def update(self, settings: SetAutoTopUpRequest, *, timeout: Optional[float] = None) -> AutoTopUp:
        """Turns automatic top-ups on, or replaces their settings. The next paid checkout saves its card."""
        return await self._send(AutoTopUp, Call("PUT", "/v1/wallet/auto-top-up", body=settings), timeout)

    async def delete(self, *, timeout: Optional[float] = None) -> AutoTopUp:
        """Turns automatic top-ups off and deletes the saved card."""
        return await self._send(AutoTopUp, Call("DELETE", "/v1/wallet/auto-top-up"), timeout)


class AsyncAlerts(AsyncResource):
    async def get(self, *, timeout: Optional[float] = None) -> AlertSettings:
        return await self._get(AlertSettings, "/v1/wallet/alerts", timeout)

    async def update(self, settings: AlertSettings, *, timeout: Optional[float] = None) -> AlertSettings:
        """Replaces both settings."""
        return await self._send(AlertSettings, Call("PUT", "/v1/wallet/alerts", body=settings), timeout)


class AsyncEndUsers(AsyncResource):
    async def get(self, *, timeout: Optional[float] = None) -> EndUserSettings:
        return await self._get(EndUserSettings, "/v1/wallet/end-users", timeout)

    async def update(self, settings: EndUserSettings, *, timeout: Optional[float] = None) -> EndUserSettings:
        return await self._send(EndUserSettings, Call("PUT", "/v1/wallet/end-users", body=settings), timeout)


class AsyncWebhooks(AsyncResource):
    def __init__(self, transport: AsyncTransport) -> None:
        super().__init__(transport)
        self.deliveries = AsyncDeliveries(transport)

    def list(self, *, timeout: Optional[float] = None) -> AsyncPages[Webhook]:
        return self._list("/v1/webhooks", "endpoints", timeout)

    async def get(self, webhook_id: str, *, timeout: Optional[float] = None) -> Webhook:
        return await self._get(Webhook, to_path("webhooks", webhook_id), timeout)

    async def create(self, webhook: CreateWebhookRequest, *, timeout: Optional[float] = None) -> CreatedWebhook:
        """Creates a webhook. Only this response contains its signing secret. Not retried if no response arrives."""
        call = Call("POST", "/v1/webhooks", body=webhook, is_idempotent=False)
        return await self._send(CreatedWebhook, call, timeout)

    async def update(
        self, webhook_id: str, changes: UpdateWebhookRequest, *, timeout: Optional[float] = None
    ) -> Webhook:
        return await self._send(Webhook, Call("PATCH", to_path("webhooks", webhook_id), body=changes), timeout)

    async def delete(self, webhook_id: str, *, timeout: Optional[float] = None) -> DeletedWebhook:
        return await self._send(DeletedWebhook, Call("DELETE", to_path("webhooks", webhook_id)), timeout)

    async def rotate_secret(self, webhook_id: str, *, timeout: Optional[float] = None) -> RotatedWebhookSecret:
        """Creates a new signing secret. Until `previous_secret_until`, deliveries are signed with both."""
        call = Call("POST", f"{to_path('webhooks', webhook_id)}/rotate-secret", is_idempotent=False)
        return await self._send(RotatedWebhookSecret, call, timeout)

    async def test(self, webhook_id: str, *, timeout: Optional[float] = None) -> Delivery:
        """Queues a `webhook.test` event for this webhook."""
        call = Call("POST", f"{to_path('webhooks', webhook_id)}/test", is_idempotent=False)
        return await self._send(Delivery, call, timeout)


class AsyncDeliveries(AsyncResource):
    def list(
        self, webhook_id: str, *, limit: Optional[int] = None, timeout: Optional[float] = None
    ) -> AsyncPages[Delivery]:
        """Lists the deliveries of a webhook, newest first."""
        return self._list(f"{to_path('webhooks', webhook_id)}/deliveries", "deliveries", timeout, {"limit": limit})

    async def replay(self, delivery_id: str, *, timeout: Optional[float] = None) -> Delivery:
        """Queues a new delivery of the same event."""
        call = Call("POST", f"{to_path('webhooks/deliveries', delivery_id)}/replay", is_idempotent=False)
        return await self._send(Delivery, call, timeout)


class AsyncSearches(AsyncResource):
    def list(
        self,
        *,
        kind: Optional[Literal["search", "refused", "replayed", "all"]] = None,
        outcome: Optional[str] = None,
        key_id: Optional[str] = None,
        for_: Optional[str] = None,
        mode: Optional[Mode] = None,
        category: Optional[Literal[Category, "none"]] = None,
        run: Optional[str] = None,
        from_: Optional[Time] = None,
        to: Optional[Time] = None,
        limit: Optional[int] = None,
        timeout: Optional[float] = None,
    ) -> AsyncPages[Search]:
        """Lists finished searches, newest first. Queries are not included.

        kind: Default: "search", those whose price was held.
        outcome: "ok", "failed" for every other outcome except "replayed", or one such as "upstream_timeout".
        for_: The id of an end user, or an `end_user` of a response.
        category: "none" for searches without a category.
        run: Name of the run.
        """
        filters = {"kind": kind, "outcome": outcome, "key_id": key_id, "for": for_, "mode": mode, "category": category}
        query = {**filters, "run": run, "from": to_iso(from_), "to": to_iso(to), "limit": limit}
        return self._list("/v1/searches", "searches", timeout, query)

    async def get(self, request_id: str, *, timeout: Optional[float] = None) -> SearchDetails:
        """Returns a search with its charge and refund, by its request id."""
        return await self._get(SearchDetails, to_path("searches", request_id), timeout)


class AsyncRuns(AsyncResource):
    def list(
        self, *, from_: Optional[Time] = None, limit: Optional[int] = None, timeout: Optional[float] = None
    ) -> AsyncPages[Run]:
        """Lists runs that are open or ended within the last hour. `from_`: only runs started since then."""
        return self._list("/v1/runs", "runs", timeout, {"from": to_iso(from_), "limit": limit})


class AsyncActivityLog(AsyncResource):
    def list(
        self,
        *,
        act: Optional[str] = None,
        actor: Optional[Literal["person", "key", "operator", "system"]] = None,
        actor_id: Optional[str] = None,
        subject_id: Optional[str] = None,
        from_: Optional[Time] = None,
        to: Optional[Time] = None,
        limit: Optional[int] = None,
        timeout: Optional[float] = None,
    ) -> AsyncPages[Activity]:
        """Lists who changed what in the last 400 days, newest first. `act`: "key.change", or "key" for all acts of keys."""
        query = {"act": act, "actor": actor, "actor_id": actor_id, "subject_id": subject_id}
        times = {"from": to_iso(from_), "to": to_iso(to)}
        return self._list("/v1/activity", "activity", timeout, {**query, **times, "limit": limit})

    async def export(
        self,
        *,
        act: Optional[str] = None,
        actor: Optional[Literal["person", "key", "operator", "system"]] = None,
        actor_id: Optional[str] = None,
        subject_id: Optional[str] = None,
        from_: Optional[Time] = None,
        to: Optional[Time] = None,
        timeout: Optional[float] = None,
    ) -> str:
        """Returns the same lines as JSON Lines, oldest first."""
        query = {"act": act, "actor": actor, "actor_id": actor_id, "subject_id": subject_id}
        times = {"from": to_iso(from_), "to": to_iso(to)}
        return await self._get(str, "/v1/activity.jsonl", timeout, {**query, **times}, "application/jsonl")


class AsyncLenses(AsyncResource):
    def list(self, *, timeout: Optional[float] = None) -> AsyncPages[Lens]:
        """Lists the published ranking rules."""
        return self._list("/v1/lenses", "lenses", timeout)

    async def get(self, name: str, *, timeout: Optional[float] = None) -> str:
        """Returns the text of a lens: one rule per line, each with its reason."""
        return await self._get(str, to_path("lenses", name), timeout, text_type="text/plain")

    async def inspect(self, name: str, url: str, *, timeout: Optional[float] = None) -> LensInspection:
        """Returns the tier of a page in a lens, and the rule or published list behind it."""
        return await self._get(LensInspection, f"{to_path('lenses', name)}/inspect", timeout, {"url": url})
