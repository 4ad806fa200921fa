"""A provider made of two models: the first decides which tools to call, and the second narrates the results.

    provider = NarratingProvider(decider, Narrator(other), tools)
    await Turn(provider, tools, limit=4, acknowledge=acknowledge).run(message)

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
from ...conversation import (
    Assistant,
    JsonPart,
    Message,
    Request,
    TextPart,
    ToolDefinition,
    ToolResult,
    ToolResults,
    User,
)
from ...events import BlockDelta, BlockStart, Event
from ...model import Choice, Response, Stop, StopReason, Text, Usage
from ...requests import read_request, write_request
from ...wires.registry import wire_name
from ..provider import Provider
from .acknowledge import Hinted
from .narrator import Narrator, NarratorInput, input_for


class NarratingProvider:
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
        self.address = getattr(provider, "address", None)
        self._tools = tools or {}
        declared = [ToolDefinition(name, parameters={"type": "object", "properties": {}}) for name in self._tools]
        minimal = Request("", None, [User([TextPart("?")])], declared)
        #: The alias on the wire -> the tool's name, for names that the wire does not accept.
        self._names = write_request(minimal, self.wire, provider=self.name).names

    async def ask(self, body: Any) -> AsyncGenerator[Any, None]:
        """Yield the narrator's answer if the request ends with tool results, else the first model's answer."""
        messages = read_request(body, self.wire, provider=self.name).messages
        ends_with_results = bool(messages) and isinstance(messages[-1], ToolResults)
        answer = self._narration(self._input(messages)) if ends_with_results else self.provider.ask(body)
        async with aclosing(cast(AsyncGenerator[Any, None], answer)) as chunks:
            async for chunk in chunks:
                yield chunk

    async def _narration(self, narrator_input: NarratorInput) -> AsyncGenerator[Event | Response, None]:
        """Yield the narrator's text as canonical events, each with a Response of the text so far."""
        text, responses = "", list[Response]()
        yield BlockStart(0, 0, "text")
        async with aclosing(self.narrator.stream(narrator_input, responses.append)) as deltas:
            async for delta in deltas:
                text += delta
                yield self._response(text, "unknown", complete=False)  # the partial answer, if the turn is cancelled
                yield BlockDelta(0, 0, delta)
        yield self._response(text, "end_turn", responses[0].usage if responses else None)

    def _response(self, text: str, stop: StopReason, usage: Usage | None = None, *, complete: bool = True) -> Response:
        choice = Choice(0, [Text(text)], Stop(stop))
        model = self.narrator.provider.model
        return Response(self.wire, self.name, None, model, [choice], usage, None, complete)

    def _input(self, messages: list[Message]) -> NarratorInput:
        """Return all calls since the last user message, with their results."""
        last_user = max((index for index, message in enumerate(messages) if isinstance(message, User)), default=-1)
        since = messages[last_user + 1 :]
        # Consecutive user messages belong together: a briefing may follow the user's own message.
        users = [*takewhile(lambda message: isinstance(message, User), reversed(messages[: last_user + 1]))][::-1]
        parts = [part for message in users if isinstance(message, User) for part in message.parts]
        calls = [call for message in since if isinstance(message, Assistant) for call in message.response.calls]
        results = [result for message in since if isinstance(message, ToolResults) for result in message.results]
        return input_for(
            "\n".join(part.text for part in parts if isinstance(part, TextPart)),
            [replace(call, name=self._names.get(call.name, call.name)) for call in calls],
            map(_with_json_value, results),
            self._tools,
        )


def _with_json_value(result: ToolResult) -> ToolResult:
    """Parse a JSON text result into a value: most wires carry values as text."""
    [part] = result.parts if len(result.parts) == 1 else [None]
    if not isinstance(part, TextPart) or not part.text.lstrip().startswith(("{", "[")):
        return result
    try:
        return replace(result, parts=[JsonPart(json_codec.decode(part.text))])
    except ValueError:
        return result
