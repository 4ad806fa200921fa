"""An emulated provider inside the process, for turns: it plays a script in the format of a surface, without a network.

provider = EmulatedProvider("anthropic.messages", scripted([Say("Let me look."), call("look", at=1)], [Say("Done.")]))
outcome = await Turn(provider, [look]).run("…")
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterable, Iterator, Mapping
from typing import Any

from msgspec.structs import replace

from toolparity.normalizer.conversation import Request, TextPart, User
from toolparity.normalizer.decoder import normalize
from toolparity.normalizer.errors import PolicyError
from toolparity.normalizer.model import Response
from toolparity.normalizer.requests import read_request
from toolparity.turns.answer_reader import close
from toolparity.turns.testing.faults import ProviderFault, Slow
from toolparity.turns.testing.provider_faults import answered, checked

from ..scripts import OfferedTool, Part, Round, Script, ScriptedCall
from ..surfaces import surface as surface_named
from . import script_player
from .encoding import encoded
from .script_player import ConnectionReset, Play, ProviderRefusal, StoredAnswers

_STATUSES = {"rate_limit": 429, "overloaded": 529, "server_error": 500, "authentication": 401, "not_found": 404}


def call(tool: str, **arguments: Any) -> ScriptedCall:
    """Return a call that the model makes: of the tool with this name, with these arguments."""
    return ScriptedCall(tool, arguments)


def scripted(*rounds: Iterable[Part] | Round, tools: Iterable[str] | None = None, **more: Any) -> Script:
    """Return a script of the model's rounds. ``tools``: by default, those that it calls; they accept any arguments.

    ``more``: the other fields of `Script`. Raises PolicyError without a round, and for one that is not a list of parts.
    """
    if not rounds:
        raise PolicyError("a script has at least one round", hint='scripted([Say("Hello.")])')
    played = [round if isinstance(round, Round) else Round(_parts(round)) for round in rounds]
    first = replace(played[0], ask=played[0].ask or "Go.")
    called = dict.fromkeys(call.tool for round in played for call in round.calls)
    names = called if tools is None else tools
    offered = [OfferedTool(name, f"Does {name}.", {"type": "object", "properties": {}}) for name in names]
    return Script("made", "Made by a program", [first, *played[1:]], offered, **more)


def _parts(round: Any) -> list[Part]:
    parts: list[Any] | None = list(round) if isinstance(round, Iterable) else None
    if parts is None or not all(isinstance(part, Part) for part in parts):
        raise PolicyError(f"a round must be a list of parts, got {round!r:.200}", hint='scripted([Say("Hello.")])')
    return parts


class EmulatedProvider:
    """Plays a script, whatever the user's first message is, and refuses requests that the real provider would refuse.

    ``surface``: such as "anthropic.messages" or "xai.chat". The round that answers a request is the number of answers
    in its history. With ``in_order``, each request gets the next round after the last one that was sent in full, and
    the last round again after that, so that the history may be shortened; only tools of the request are called.
    ``faults``: by the number of the request, from 1 (`turns.testing`). ``bodies``: the requests so far. ``closed``: how
    many answers ended or were closed. Raises UnknownSurface, and PolicyError for faults that could not happen.
    """

    def __init__(
        self,
        surface: str,
        script: Script,
        *,
        in_order: bool = False,
        faults: Mapping[int, ProviderFault] | None = None,
    ) -> None:
        self._surface = surface_named(surface)
        self.wire: str = self._surface.wire
        self.name: str = self._surface.provider
        self.model: str = self._surface.model
        self.bodies: list[Any] = []
        self.closed = 0
        self.script = script
        self.faults = checked(faults or {})
        self._in_order = in_order
        self._sent = 0

    async def ask(self, body: Any) -> AsyncIterator[Any]:
        """Yield the chunks of the answer to a request."""
        self.bodies.append(body)
        fault = self.faults.get(len(self.bodies))
        answer = answered(fault, self, lambda: self._paced(body))
        try:
            async for chunk in answer:
                yield chunk
            self._sent += fault is None or isinstance(fault, Slow)
        finally:
            self.closed += 1
            await close(answer)

    def asked(self, number: int = -1) -> Request:
        """Return a request in canonical form. ``number``: from 0."""
        return read_request(self.bodies[number], self._surface.wire, provider=self.name)

    async def _paced(self, body: Any) -> AsyncIterator[Any]:
        for chunk in self._chunks(body):
            yield chunk
            await asyncio.sleep(0)

    def _chunks(self, body: Any) -> Iterator[Any]:
        try:
            for event in self._surface.emulation.events(self._play(body)):
                yield encoded(self._surface, event)
        except ProviderRefusal as refused:
            yield self._error(refused)
        except ConnectionReset:
            raise ConnectionResetError("the connection broke") from None

    def _play(self, body: Any) -> Play:
        if self._in_order:
            return self._next(body)
        request = read_request(body, self._surface.wire, provider=self.name)
        user = next((message for message in request.messages if isinstance(message, User)), None)
        asked = "".join(part.text for part in (user.parts if user else []) if isinstance(part, TextPart))
        first, *later = self.script.rounds
        played = replace(self.script, rounds=[replace(first, ask=asked), *later])
        return script_player.play(self._surface, body, StoredAnswers(), {played.id: played})

    def _next(self, body: Any) -> Play:
        if (refused := script_player.refusal(self._surface, body)) is not None:
            raise refused
        request = read_request(body, self._surface.wire, provider=self.name)
        round = self.script.rounds[min(self._sent, len(self.script.rounds) - 1)]
        offered = [tool.name for tool in request.tools]
        parts = [part for part in round.parts if not isinstance(part, ScriptedCall) or part.tool in offered]
        number = len(self.bodies) - 1  # ids of calls depend on it
        return Play(self._surface, self.script, number, replace(round, parts=parts), request, body)

    def _error(self, refused: ProviderRefusal) -> Response:
        status = refused.status or _STATUSES.get(refused.kind, 400)
        body = {"error": {"type": refused.kind, "message": refused.message}}
        return normalize(body, wire="openai.chat", status=status)
