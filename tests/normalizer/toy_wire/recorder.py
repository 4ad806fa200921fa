"""Requests of the recorder through the SDK of `toy.chat`."""

from __future__ import annotations

import contextlib
from collections.abc import AsyncIterator, Iterator
from typing import Any

from toolparity.cassettes.recorder.sdks import Link, ProviderError, RequestSettings

from .sdk import AsyncClient, Client, ToyError

REFUSALS = (ToyError,)
HOSTED: dict[str, dict[str, Any]] = {}


def settings(asking: RequestSettings) -> dict[str, Any]:
    """Return the parameters beside the conversation."""
    return {"stream": True} if asking.stream else {}


def client(link: Link) -> contextlib.closing[Client]:
    """Return a client for use with ``with``."""
    return contextlib.closing(Client(link.base, link.key, link.timeout))


@contextlib.asynccontextmanager
async def async_client(link: Link) -> AsyncIterator[AsyncClient]:
    """Return a client for use with ``async with``."""
    created = AsyncClient(link.base, link.key, link.timeout)
    try:
        yield created
    finally:
        await created.close()


def sent(client: Client, body: dict[str, Any], stream: bool) -> Iterator[Any]:
    """Yield the reply, or its events."""
    if stream:
        yield from client.events(body)
    else:
        yield client.reply(body)


async def async_sent(client: AsyncClient, body: dict[str, Any], stream: bool) -> AsyncIterator[Any]:
    """Asynchronous variant of `sent`."""
    if stream:
        async for event in client.events(body):
            yield event
    else:
        yield await client.reply(body)


def refused(error: ToyError) -> ProviderError:
    """Return the provider's error."""
    return ProviderError(error.body, error.status)
