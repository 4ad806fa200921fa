"""Base class of the clients: it creates one SDK client per event loop, and closes those that it created."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from typing import Any, ClassVar, Self
from weakref import WeakKeyDictionary

from toolparity.normalizer.errors import UnknownWire
from toolparity.normalizer.model import Wire
from toolparity.normalizer.wires.registry import spec

from ..synchronous import close_at_end


class SdkClient:
    """A provider over an SDK. It keeps connections open between requests: use ``async with``, or call `aclose`.

    An SDK client works only in the event loop of its first request, so this class creates one for each loop. For the
    constructor's arguments see `toolparity.turns.clients.client`.
    """

    wire: ClassVar[Wire]

    def __init__(
        self, model: str | None = None, *, provider: str | None = None, sdk: Any = None, **options: Any
    ) -> None:
        self.name: str = provider or spec(self.wire).owner
        self.model = model
        self._callers_sdk = sdk
        self._options = options if sdk is not None else self._complete(options)
        self._created: WeakKeyDictionary[asyncio.AbstractEventLoop, Any] = WeakKeyDictionary()

    def ask(self, body: Any) -> AsyncGenerator[Any, None]:
        """Send one request and yield the chunks of its answer, as `turns.provider` defines them.

        Closing the generator closes the connection.
        """
        raise NotImplementedError

    def address(self) -> str | None:
        """Return the URL that the SDK client of this event loop sends requests to, None if it does not say."""
        url = getattr(self._sdk(), "base_url", None)
        return str(url) if url is not None else None

    async def aclose(self) -> None:
        """Close the SDK client of this event loop. An SDK client that the caller passed stays open."""
        created = self._created.pop(asyncio.get_running_loop(), None)
        if created is not None:
            await self._close(created)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *raised: object) -> None:
        await self.aclose()

    def _create(self, options: dict[str, Any]) -> Any:
        """Create the SDK client. Exceptions of its constructor pass through, such as the one for a missing key."""
        raise NotImplementedError

    async def _close(self, created: Any) -> None:
        """Close an SDK client that `_create` created."""
        await created.close()

    def _complete(self, options: dict[str, Any]) -> dict[str, Any]:
        """Return the constructor's options for this provider. Raises UnknownWire if its address is not known."""
        if self.name != spec(self.wire).owner and not options.keys() & {"base_url", "api_host", "host"}:
            raise UnknownWire(f"the address of {self.name} for {self.wire} is unknown", hint="pass base_url or sdk")
        return options

    def _sdk(self) -> Any:
        if self._callers_sdk is not None:
            return self._callers_sdk
        loop = asyncio.get_running_loop()
        created = self._created.get(loop)
        if created is None:
            for ended in [known for known in self._created if known.is_closed()]:
                del self._created[ended]  # its client keeps a reference to the loop
            created = self._created[loop] = self._create(self._options)
            close_at_end(self.aclose)
        return created
