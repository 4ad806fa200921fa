"""What stood on the wire of a turn: the requests and the pieces of the answers, as text for people."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import aclosing
from typing import Any, cast

from msgspec import Struct

from toolparity.normalizer import json_codec
from toolparity.normalizer.model import Response
from toolparity.normalizer.turns.provider import Provider

from .pace import Pace

#: Characters of one request or answer that are kept.
_MOST = 200_000


class Spoken(Struct):
    """One request and its answer. ``cut``: there was more than is kept."""

    provider: str | None
    wire: str
    request: Any
    pieces: list[str] = []
    cut: bool = False


class Tapped:
    """A provider that keeps what goes to and fro, and takes its time."""

    def __init__(self, provider: Provider, spoken: list[Spoken], pace: Pace) -> None:
        self.provider = provider
        self.wire = provider.wire
        self.name = provider.name
        self.model = provider.model
        self._spoken = spoken
        self._pace = pace

    async def ask(self, body: Any) -> AsyncGenerator[Any, None]:
        """The provider's pieces."""
        spoken = Spoken(self.name, self.wire, _plain(body))
        self._spoken.append(spoken)
        size = 0
        async with aclosing(cast(AsyncGenerator[Any, None], self.provider.ask(body))) as pieces:
            async for piece in pieces:
                text = _text(piece)
                size += len(text)
                if size <= _MOST:
                    spoken.pieces.append(text)
                else:
                    spoken.cut = True
                await self._pace.piece()
                yield piece


def _plain(message: Any) -> Any:
    """Parsed JSON as it is; a protobuf message as its JSON."""
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
