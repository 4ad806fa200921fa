"""The official SDK of the provider of `toy.chat`, as small as one can be."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterator
from typing import Any

import httpx2
from msgspec import Struct


class Reply(Struct):
    """A whole reply."""

    raw: bytes


class Event(Struct):
    """One event of a stream."""

    raw: bytes


class ToyError(Exception):
    """An error response of the provider."""

    def __init__(self, status: int, body: bytes) -> None:
        super().__init__(f"status {status}: {body.decode()}")
        self.status = status
        self.body = body


class Client:
    """A connection to the provider."""

    def __init__(self, base_url: str, api_key: str, timeout: float = 60.0) -> None:
        self._http = httpx2.Client(base_url=base_url, headers={"authorization": f"Bearer {api_key}"}, timeout=timeout)

    def reply(self, body: dict[str, Any]) -> Reply:
        """Return a whole reply. Raises ToyError."""
        response = self._http.post("replies", json=body)
        _check(response)
        return Reply(response.content)

    def events(self, body: dict[str, Any]) -> Iterator[Event]:
        """Yield the events of a reply. Raises ToyError."""
        with self._http.stream("POST", "replies", json=body) as response:
            if response.status_code >= 400:
                response.read()
            _check(response)
            for line in response.iter_lines():
                if line.startswith("data: "):
                    yield _event(line)

    def close(self) -> None:
        """Close the connection."""
        self._http.close()


class AsyncClient:
    """`Client` for asynchronous programs."""

    def __init__(self, base_url: str, api_key: str, timeout: float = 60.0) -> None:
        self._client = Client(base_url, api_key, timeout)

    async def reply(self, body: dict[str, Any]) -> Reply:
        """Return a whole reply. Raises ToyError."""
        return await asyncio.to_thread(self._client.reply, body)

    async def events(self, body: dict[str, Any]) -> AsyncIterator[Event]:
        """Yield the events of a reply. Raises ToyError."""
        for event in await asyncio.to_thread(list, self._client.events(body)):
            yield event

    async def close(self) -> None:
        """Close the connection."""
        await asyncio.to_thread(self._client.close)


def _event(line: str) -> Event:
    data = line.removeprefix("data: ").encode()
    if b'"toy_event"' not in data:
        raise ToyError(200, data)
    return Event(data)


def _check(response: httpx2.Response) -> None:
    if response.status_code >= 400:
        raise ToyError(response.status_code, response.content)
