"""Records the wire of a turn: the requests and the response pieces, as readable text."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import aclosing
from typing import Any, cast

from msgspec import Struct

from toolparity.normalizer import json_codec
from toolparity.normalizer.model import Response
from toolparity.normalizer.turns.provider import Provider

from .tools import Throttle

#: The maximum length of a recorded response, in characters.
_MOST = 200_000


class WireExchange(Struct):
    """One request and its response. ``cut``: the response was longer than what is kept."""

    provider: str | None
    wire: str
    request: Any
    pieces: list[str] = []
    cut: bool = False


class LoggingProvider:
    """A provider that records requests and responses, and delays each piece."""

    def __init__(self, provider: Provider, exchanges: list[WireExchange], throttle: Throttle) -> None:
        self.provider = provider
        self.wire = provider.wire
        self.name = provider.name
        self.model = provider.model
        self._exchanges = exchanges
        self._throttle = throttle

    async def ask(self, body: Any) -> AsyncGenerator[Any, None]:
        """Yield the provider's pieces."""
        exchange = WireExchange(self.name, self.wire, _plain(body))
        self._exchanges.append(exchange)
        size = 0
        async with aclosing(cast(AsyncGenerator[Any, None], self.provider.ask(body))) as pieces:
            async for piece in pieces:
                text = _text(piece)
                size += len(text)
                if size <= _MOST:
                    exchange.pieces.append(text)
                else:
                    exchange.cut = True
                await self._throttle.piece()
                yield piece


def _plain(message: Any) -> Any:
    """Return parsed JSON unchanged, and a protobuf message in its JSON form."""
    if not hasattr(message, "ListFields"):
        return message
    from google.protobuf.json_format import MessageToDict

    return MessageToDict(message, preserving_proto_field_name=True)


def _text(piece: Any) -> str:
    if isinstance(piece, bytes):
        return piece.decode("utf-8", "replace")
    if isinstance(piece, Response):
        return json_codec.text(piece)
    return json_codec.text(_plain(piece)) + "\n"
