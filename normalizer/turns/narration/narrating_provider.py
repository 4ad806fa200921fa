"""A provider made of two models: the first decides which tools to call, and the second narrates the results.

    narrated = Narrated(provider, Narrator(other), tools)
    await Turn(narrated, tools, limit=4, acknowledge=acknowledge).run(message)

The first model is asked until there are tool results. Then the narrator answers, and the turn is over. So the first
model gets only one round of calls. For research in several rounds, use a single model. The narrator also answers if
every tool failed, unless ``on_all_failed`` is "stop".
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, Mapping
from contextlib import aclosing
from itertools import takewhile
from typing import Any, cast

from msgspec.structs import replace

from ... import json_codec
from ...conversation import Assistant, JsonPart, Message, Part, Request, TextPart, Tool, ToolResult, ToolResults, User
from ...events import BlockDelta, BlockStart, Event
from ...model import Choice, Response, Stop, StopReason, Text, Usage
from ...requests import read_request, write_request
from ...wires import wire_name
from ..provider import Provider
from .acknowledge import Hinted
from .narrator import Narrator, NarratorInput, narrator_input


class Narrated:
    """A provider on the first model's wire. ``tools``: used for their names and waiting hints.

    Only the text and the usage of the narrator's answer enter the turn, because its reasoning and item ids mean
    nothing to the first model. If the narrator fails, the plain results follow.
    """

    def __init__(self, provider: Provider, narrator: Narrator, tools: Mapping[str, Hinted] | None = None) -> None:
        self.provider = provider
        self.narrator = narrator
        self.wire = wire_name(provider.wire)
        self.name = provider.name
        self.model = provider.model
        self._tools = tools or {}
        declared = [Tool(name, parameters={"type": "object", "properties": {}}) for name in self._tools]
        bare = Request("", None, [User([TextPart("?")])], declared)
        #: The alias on the wire -> the tool's name, for names that the wire does not accept.
        self._names = write_request(bare, self.wire, provider=self.name).names

    async def ask(self, body: Any) -> AsyncGenerator[Any, None]:
        """Yield the narrator's answer if the request ends with tool results, else the first model's answer."""
        given = given_by(read_request(body, self.wire, provider=self.name), self._tools, self._names)
        answer = self.provider.ask(body) if given is None else self._told(given)
        async with aclosing(cast(AsyncGenerator[Any, None], answer)) as pieces:
            async for piece in pieces:
                yield piece

    async def _told(self, given: NarratorInput) -> AsyncGenerator[Event | Response, None]:
        """Yield the narrator's text as canonical events, each with a Response of the text so far."""
        said, heard = "", list[Response]()
        yield BlockStart(0, 0, "text")
        async with aclosing(self.narrator.stream(given, heard.append)) as words:
            async for piece in words:
                said += piece
                yield self._answer(said, "unknown", complete=False)  # the partial answer, if the turn is cancelled here
                yield BlockDelta(0, 0, piece)
        yield self._answer(said, "end_turn", heard[0].usage if heard else None)

    def _answer(self, said: str, stop: StopReason, usage: Usage | None = None, *, complete: bool = True) -> Response:
        choice = Choice(0, [Text(said)], Stop(stop))
        model = self.narrator.provider.model
        return Response(self.wire, self.name, None, model, [choice], usage, None, complete)


def given_by(
    request: Request, tools: Mapping[str, Hinted] | None = None, names: Mapping[str, str] | None = None
) -> NarratorInput | None:
    """Return the narrator's input if the request ends with tool results, else None.

    It contains all calls since the last user message, with their results. ``names``: tool names by their alias in the
    request (`Encoded.names`).
    """
    turns = request.messages
    if not turns or not isinstance(turns[-1], ToolResults):
        return None
    spoke = max((place for place, turn in enumerate(turns) if isinstance(turn, User)), default=-1)
    since = turns[spoke + 1 :]
    messages = list(takewhile(lambda turn: isinstance(turn, User), reversed(turns[: spoke + 1])))  # may be several
    words = [part.text for turn in reversed(messages) for part in _parts(turn) if isinstance(part, TextPart)]
    said = [call for turn in since if isinstance(turn, Assistant) for call in turn.response.calls]
    calls = [replace(call, name=(names or {}).get(call.name, call.name)) for call in said]
    results = [_valued(result) for turn in since if isinstance(turn, ToolResults) for result in turn.results]
    return narrator_input("\n".join(words), calls, results, tools)


def _parts(turn: Message) -> list[Part]:
    return turn.parts if isinstance(turn, User) else []


def _valued(result: ToolResult) -> ToolResult:
    """Parse a JSON text result into a value: most wires carry values as text."""
    [part] = result.parts if len(result.parts) == 1 else [None]
    if not isinstance(part, TextPart) or not part.text.lstrip().startswith(("{", "[")):
        return result
    try:
        return replace(result, parts=[JsonPart(json_codec.decode(part.text))])
    except ValueError:
        return result
