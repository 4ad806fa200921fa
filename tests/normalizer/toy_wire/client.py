"""Client of turns for `toy.chat`."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from typing import Any

from toolparity.normalizer.wires.registry import wire_name
from toolparity.turns.clients import SdkClient

from .sdk import ToyClient


class Client(SdkClient):
    """See `toolparity.turns.clients.client`."""

    wire = wire_name("toy.chat")

    async def ask(self, body: Any) -> AsyncGenerator[Any, None]:
        for event in await asyncio.to_thread(list, self._sdk().ask({"stream": True, **body})):
            yield event

    def _create(self, options: dict[str, Any]) -> ToyClient:
        return ToyClient(**options)

    async def _close(self, created: ToyClient) -> None:
        created.close()
