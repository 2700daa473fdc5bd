"""The clients. Each method makes one API call; `_errors.py` lists the errors it can raise."""

import asyncio
import time
from types import TracebackType
from typing import Any, Dict, Literal, Optional, Sequence, Type, TypeVar, Union, cast

import httpx

from ._calls import (
    Time,
    connect,
    create_key_call,
    get_call,
    key_path,
    list_call,
    read_answer,
    read_page,
    revoke_key_call,
    rotate_key_call,
    search_call,
    to_iso,
    update_key_call,
    usage_query,
)
from ._pages import AsyncPages, Page, Pages
from ._send import ApiResponse, Attempt, Call, Pause, RawResponse, send
from .types import (
    Category,
    CreatedKey,
    CreateKeyRequest,
    Entry,
    Key,
    Run,
    SearchAnswer,
    UpdateKeyRequest,
    UsagePeriod,
    Wallet,
)

Group = Literal["key", "category", "outcome", "end_user"]
Self = TypeVar("Self", bound="Pennyblack")
AsyncSelf = TypeVar("AsyncSelf", bound="AsyncPennyblack")


class Pennyblack:
    """The API client. Threads can share it."""

    def __init__(
        self,
        api_key: Optional[str] = None,
        base_url: Optional[str] = None,
        *,
        timeout: float = 60,
        max_retries: int = 3,
        repeat_secret: Optional[str] = None,
        http_client: Optional[httpx.Client] = None,
    ) -> None:
        """
        api_key: Default: the environment variable PENNYBLACK_API_KEY.
        base_url: The base URL of your server. Default: PENNYBLACK_URL.
        timeout: Time limit for a call in seconds, including retries.
        max_retries: Maximum number of retries, when retrying is safe.
        repeat_secret: The secret from which `repeat` derives Idempotency-Keys. Default: the API key.
        http_client: Your own client, for example with a proxy. `close` does not close it.
        """
        self._connection = connect(api_key, base_url, timeout, max_retries, repeat_secret)
        self._own_http = httpx.Client() if http_client is None else None
        self._http = http_client or cast(httpx.Client, self._own_http)
        self.keys = Keys(self)

    def search(
        self,
        query: str,
        *,
        n: Optional[int] = None,
        category: Optional[Category] = None,
        run: Optional[Run] = None,
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
        for_: Your own id of the end user that you search for, 1 to 64 letters, digits or any of `_.:@/+=|-`.
        wait: Your deadline for the call in seconds (1 to 9), including its retries. After it, the search fails and is free.
        explain: Include the ranking explanation in `meta.explanation`.
        registries: False ranks by the hand-written rules only, without published lists of domains.
        idempotency_key: Random by default. Set your own to be able to retry after this process exits.
        repeat: Identical searches within this time window, such as "20m", share one answer and one charge.
        """
        call = search_call(
            query,
            secret=self._connection.repeat_secret,
            n=n,
            category=category,
            run=run,
            for_=for_,
            wait=wait,
            explain=explain,
            registries=registries,
            idempotency_key=idempotency_key,
            repeat=repeat,
            timeout=timeout,
        )
        return read_answer(self._send(call), call)

    def wallet(self) -> Wallet:
        """Returns the wallet and its balance."""
        return cast(Wallet, self._send(get_call("/v1/wallet")).body)

    def key(self) -> Key:
        """Returns this client's API key and its limits."""
        return cast(Key, self._send(get_call("/v1/key")).body)

    def entries(
        self,
        *,
        request_id: Optional[str] = None,
        from_: Optional[Time] = None,
        to: Optional[Time] = None,
        kind: Optional[str] = None,
        limit: Optional[int] = None,
    ) -> Pages[Entry]:
        """Lists ledger entries, newest first. Pass `request_id` to check whether a search was charged."""
        query = {"request_id": request_id, "from": to_iso(from_), "to": to_iso(to), "kind": kind, "limit": limit}
        return self._list("/v1/wallet/entries", "entries", query)

    def usage(
        self,
        *,
        from_: Optional[Time] = None,
        to: Optional[Time] = None,
        by: Optional[Literal["hour", "day"]] = None,
        group: Optional[Sequence[Group]] = None,
        for_: Optional[str] = None,
        limit: Optional[int] = None,
    ) -> Pages[UsagePeriod]:
        """Lists search counts and charges by hour or day.

        group: `end_user` only alone and by day.
        for_: Only searches for this end user. By day, without another group.
        """
        query = usage_query(from_, to, by, group, for_, limit)
        return self._list("/v1/usage", "usage", query)

    def close(self) -> None:
        if self._own_http is not None:
            self._own_http.close()

    def __enter__(self: Self) -> Self:
        return self

    def __exit__(
        self, kind: Optional[Type[BaseException]], error: Optional[BaseException], trace: Optional[TracebackType]
    ) -> None:
        self.close()

    def _list(self, path: str, name: str, query: Dict[str, Union[str, int, None]]) -> Pages[Any]:
        return Pages(lambda cursor: read_page(self._send(list_call(path, name, query, cursor)), name))

    def _send(self, call: Call) -> ApiResponse:
        steps = send(self._connection, call)
        received = None
        while True:
            try:
                step = steps.send(received)
            except StopIteration as end:
                return cast(ApiResponse, end.value)
            if isinstance(step, Pause):
                self._pause(step.seconds)
                received = None
            else:
                received = self._attempt(step)

    def _pause(self, seconds: float) -> None:
        time.sleep(seconds)

    def _attempt(self, attempt: Attempt) -> Union[RawResponse, httpx.RequestError]:
        deadline = time.monotonic() + attempt.timeout
        try:
            with self._http.stream(
                attempt.method,
                attempt.url,
                headers=attempt.headers,
                content=attempt.content,
                timeout=attempt.timeout,
                # Following a redirect could send the API key to another host.
                follow_redirects=False,
            ) as response:
                body = b""
                for chunk in response.iter_bytes():
                    body += chunk
                    # httpx limits the wait for each chunk, but not for all of them.
                    if time.monotonic() > deadline:
                        raise httpx.ReadTimeout("The response did not end in time.")
                return RawResponse(response.status_code, response.headers, body.decode("utf-8", "replace"))
        except httpx.RequestError as error:
            return error


class Keys:
    """Manages the wallet's API keys. Requires a management key."""

    def __init__(self, client: Pennyblack) -> None:
        self._client = client

    def list(self, *, limit: Optional[int] = None) -> Pages[Key]:
        return self._client._list("/v1/keys", "keys", {"limit": limit})

    def get(self, key_id: str) -> Key:
        return cast(Key, self._client._send(get_call(key_path(key_id))).body)

    def create(self, key: CreateKeyRequest) -> CreatedKey:
        """Creates a key. Only this response contains the secret. Not retried if no response arrives."""
        return cast(CreatedKey, self._client._send(create_key_call(key)).body)

    def update(self, key_id: str, changes: UpdateKeyRequest) -> Key:
        return cast(Key, self._client._send(update_key_call(key_id, changes)).body)

    def rotate(self, key_id: str, *, grace_seconds: int) -> CreatedKey:
        """Creates a replacement. The old key keeps working for `grace_seconds`. Not retried if no response arrives."""
        return cast(CreatedKey, self._client._send(rotate_key_call(key_id, grace_seconds)).body)

    def revoke(self, key_id: str) -> Key:
        return cast(Key, self._client._send(revoke_key_call(key_id)).body)


class AsyncPennyblack:
    """The API client for asyncio. The methods are those of `Pennyblack`; await them."""

    def __init__(
        self,
        api_key: Optional[str] = None,
        base_url: Optional[str] = None,
        *,
        timeout: float = 60,
        max_retries: int = 3,
        repeat_secret: Optional[str] = None,
        http_client: Optional[httpx.AsyncClient] = None,
    ) -> None:
        self._connection = connect(api_key, base_url, timeout, max_retries, repeat_secret)
        self._own_http = httpx.AsyncClient() if http_client is None else None
        self._http = http_client or cast(httpx.AsyncClient, self._own_http)
        self.keys = AsyncKeys(self)

    async def search(
        self,
        query: str,
        *,
        n: Optional[int] = None,
        category: Optional[Category] = None,
        run: Optional[Run] = None,
        for_: Optional[str] = None,
        wait: Optional[int] = None,
        explain: bool = False,
        registries: bool = True,
        idempotency_key: Optional[str] = None,
        repeat: Optional[str] = None,
        timeout: Optional[float] = None,
    ) -> SearchAnswer:
        call = search_call(
            query,
            secret=self._connection.repeat_secret,
            n=n,
            category=category,
            run=run,
            for_=for_,
            wait=wait,
            explain=explain,
            registries=registries,
            idempotency_key=idempotency_key,
            repeat=repeat,
            timeout=timeout,
        )
        return read_answer(await self._send(call), call)

    async def wallet(self) -> Wallet:
        return cast(Wallet, (await self._send(get_call("/v1/wallet"))).body)

    async def key(self) -> Key:
        return cast(Key, (await self._send(get_call("/v1/key"))).body)

    def entries(
        self,
        *,
        request_id: Optional[str] = None,
        from_: Optional[Time] = None,
        to: Optional[Time] = None,
        kind: Optional[str] = None,
        limit: Optional[int] = None,
    ) -> AsyncPages[Entry]:
        query = {"request_id": request_id, "from": to_iso(from_), "to": to_iso(to), "kind": kind, "limit": limit}
        return self._list("/v1/wallet/entries", "entries", query)

    def usage(
        self,
        *,
        from_: Optional[Time] = None,
        to: Optional[Time] = None,
        by: Optional[Literal["hour", "day"]] = None,
        group: Optional[Sequence[Group]] = None,
        for_: Optional[str] = None,
        limit: Optional[int] = None,
    ) -> AsyncPages[UsagePeriod]:
        query = usage_query(from_, to, by, group, for_, limit)
        return self._list("/v1/usage", "usage", query)

    async def close(self) -> None:
        if self._own_http is not None:
            await self._own_http.aclose()

    async def __aenter__(self: AsyncSelf) -> AsyncSelf:
        return self

    async def __aexit__(
        self, kind: Optional[Type[BaseException]], error: Optional[BaseException], trace: Optional[TracebackType]
    ) -> None:
        await self.close()

    def _list(self, path: str, name: str, query: Dict[str, Union[str, int, None]]) -> AsyncPages[Any]:
        async def load(cursor: Optional[str]) -> Page[Any]:
            return read_page(await self._send(list_call(path, name, query, cursor)), name)

        return AsyncPages(load)

    async def _send(self, call: Call) -> ApiResponse:
        steps = send(self._connection, call)
        received = None
        while True:
            try:
                step = steps.send(received)
            except StopIteration as end:
                return cast(ApiResponse, end.value)
            if isinstance(step, Pause):
                await self._pause(step.seconds)
                received = None
            else:
                received = await self._attempt(step)

    async def _pause(self, seconds: float) -> None:
        await asyncio.sleep(seconds)

    async def _attempt(self, attempt: Attempt) -> Union[RawResponse, httpx.RequestError]:
        async def receive() -> RawResponse:
            response = await self._http.request(
                attempt.method,
                attempt.url,
                headers=attempt.headers,
                content=attempt.content,
                timeout=attempt.timeout,
                follow_redirects=False,
            )
            return RawResponse(response.status_code, response.headers, response.content.decode("utf-8", "replace"))

        try:
            return await asyncio.wait_for(receive(), attempt.timeout)
        except asyncio.TimeoutError:
            return httpx.ReadTimeout("The response did not end in time.")
        except httpx.RequestError as error:
            return error


class AsyncKeys:
    """Manages the wallet's API keys. Requires a management key."""

    def __init__(self, client: AsyncPennyblack) -> None:
        self._client = client

    def list(self, *, limit: Optional[int] = None) -> AsyncPages[Key]:
        return self._client._list("/v1/keys", "keys", {"limit": limit})

    async def get(self, key_id: str) -> Key:
        return cast(Key, (await self._client._send(get_call(key_path(key_id)))).body)

    async def create(self, key: CreateKeyRequest) -> CreatedKey:
        return cast(CreatedKey, (await self._client._send(create_key_call(key))).body)

    async def update(self, key_id: str, changes: UpdateKeyRequest) -> Key:
        return cast(Key, (await self._client._send(update_key_call(key_id, changes))).body)

    async def rotate(self, key_id: str, *, grace_seconds: int) -> CreatedKey:
        return cast(CreatedKey, (await self._client._send(rotate_key_call(key_id, grace_seconds))).body)

    async def revoke(self, key_id: str) -> Key:
        return cast(Key, (await self._client._send(revoke_key_call(key_id))).body)
