"""Client of turns for `toy.chat`."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from typing import Any

from toolparity.normalizer.decoder import normalize
from toolparity.normalizer.wires.registry import wire_name
from toolparity.turns.clients import SdkClient

from .sdk import AsyncClient, ToyError


class Client(SdkClient):
    """See `toolparity.turns.clients.client`."""

    wire = wire_name("toy.chat")

    async def ask(self, body: Any) -> AsyncGenerator[Any, None]:
        """Send one request and yield the events of its reply."""
        try:
            async for event in self._sdk().events({"stream": True, **body}):
                yield event
        except ToyError as error:
            yield normalize(error.body, self.wire, provider=self.name, request=body, status=error.status)

    def _create(self, options: dict[str, Any]) -> AsyncClient:
        return AsyncClient(**options)
