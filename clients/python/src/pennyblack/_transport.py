"""Sends the requests of a call, with httpx. `_send.py` decides what to send next."""

import asyncio
import time
from typing import Optional, Union, cast

import httpx

from ._send import ApiResponse, Attempt, Call, Connection, Pause, RawResponse, send

Received = Union[RawResponse, httpx.RequestError]


class AsyncTransport:
    def __init__(self, connection: Connection, http_client: Optional[httpx.AsyncClient]) -> None:
        self.connection = connection
        self._own_http = httpx.AsyncClient() if http_client is None else None
        self._http = http_client or cast(httpx.AsyncClient, self._own_http)

    async def send(self, call: Call) -> ApiResponse:
        steps = send(self.connection, call)
        received: Optional[Received] = None
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

    async def close(self) -> None:
        if self._own_http is not None:
            await self._own_http.aclose()

    async def _pause(self, seconds: float) -> None:
        await asyncio.sleep(seconds)

    async def _attempt(self, attempt: Attempt) -> Received:
        async def receive() -> RawResponse:
            response = await self._http.request(
                attempt.method,
                attempt.url,
                headers=attempt.headers,
                content=attempt.content,
                timeout=attempt.timeout,
                # Following a redirect could send the API key to another host.
                follow_redirects=False,
            )
            return RawResponse(response.status_code, response.headers, response.content.decode("utf-8", "replace"))

        try:
            return await asyncio.wait_for(receive(), attempt.timeout)
        except asyncio.TimeoutError:
            return httpx.ReadTimeout("The response did not end in time.")
        except httpx.RequestError as error:
            return error


class Transport:
    def __init__(self, connection: Connection, http_client: Optional[httpx.Client]) -> None:
        self.connection = connection
        self._own_http = httpx.Client() if http_client is None else None
        self._http = http_client or cast(httpx.Client, self._own_http)

    def send(self, call: Call) -> ApiResponse:
        steps = send(self.connection, call)
        received: Optional[Received] = None
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

    def close(self) -> None:
        if self._own_http is not None:
            self._own_http.close()

    def _pause(self, seconds: float) -> None:
        time.sleep(seconds)

    def _attempt(self, attempt: Attempt) -> Received:
        deadline = time.monotonic() + attempt.timeout
        try:
            with self._http.stream(
                attempt.method,
                attempt.url,
                headers=attempt.headers,
                content=attempt.content,
                timeout=attempt.timeout,
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
