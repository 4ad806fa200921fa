"""A provider in this process: an emulated model that plays a script and reads the results of its calls.

The emulated providers of `cassettes` play a script strictly. This model does what real models do, too: it requests a
call again that the policy or the limit dropped, and its last text can depend on the results.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, Callable, Iterator
from typing import Any

from msgspec.structs import replace

from toolparity.cassettes.emulated.script_player import Play, StoredAnswers, play
from toolparity.cassettes.scripts import Round, Say, Script, ScriptedCall
from toolparity.cassettes.surfaces import Surface
from toolparity.normalizer import json_codec
from toolparity.normalizer.conversation import Assistant, JsonPart, Message, Request, TextPart, ToolResult, ToolResults
from toolparity.normalizer.model import ToolCall
from toolparity.normalizer.requests import read_request

#: The results of dropped calls contain one of these reasons (`normalizer.policies.select`).
_DROPPED = ("not executed: policy ", "not executed: the limit is ")


class EmulatedModel:
    """A provider (`turns.provider.Provider`) that plays a script on a surface.

    ``closing``: writes the last text of the script from the request. ``stream``: whether answers are streamed, as they
    always are on wires with messages.
    """

    def __init__(
        self, script: Script, surface: Surface, *, stream: bool, closing: Callable[[Request], str] | None = None
    ) -> None:
        self.wire = surface.wire
        self.name = surface.provider
        self.model = surface.model
        self._script = script
        self._surface = surface
        self._stream = stream or surface.by_messages
        self._closing = closing
        #: The pieces of the last answer that the caller did not read because it closed the stream.
        self.unread: list[Any] = []

    async def ask(self, body: Any) -> AsyncGenerator[Any, None]:
        """Yield the pieces of the answer. Raises ProviderRefusal if the provider would refuse the request."""
        script = self._script_for(read_request(body, self.wire, provider=self.name))
        played = play(self._surface, body, StoredAnswers(), {script.id: script})
        pieces = self._pieces(played)
        try:
            for piece in pieces:
                yield piece
        finally:
            self.unread = list(pieces)

    def _pieces(self, played: Play) -> Iterator[Any]:
        if self._stream:
            yield from self._surface.emulation.events(played)
            return
        yield json_codec.encode(self._surface.emulation.answer(played))

    def _script_for(self, request: Request) -> Script:
        """Return a script whose next round is the answer to this request."""
        rounds = [Round()] * len(_answers(request)) + [self._next_round(request)]
        return replace(self._script, rounds=[replace(rounds[0], ask=self._script.ask), *rounds[1:]])

    def _next_round(self, request: Request) -> Round:
        dropped: list[ToolCall] = []
        number = 0
        for results in _answers(request):
            number += not dropped  # an answer that repeats calls is not a round of the script
            dropped = [call for call, text in results if any(reason in text for reason in _DROPPED)]
        if dropped:
            return Round([self._repeated(call) for call in dropped])
        if self._closing is not None and number == len(self._script.rounds) - 1:
            return Round([Say(self._closing(request))])
        return self._script.rounds[number]

    def _repeated(self, call: ToolCall) -> ScriptedCall:
        return next(
            scripted
            for round in self._script.rounds
            for scripted in round.calls
            if (scripted.tool, scripted.arguments) == (call.name, call.arguments)
        )


def results_of(request: Request) -> list[tuple[ToolCall, str]]:
    """Return all calls of a conversation that have a result, each with the text of the result."""
    return [result for results in _answers(request) for result in results]


def _answers(request: Request) -> list[list[tuple[ToolCall, str]]]:
    """Return for each answer of the model its calls with the texts of their results.

    Consecutive assistant messages are one answer.
    """
    answers: list[list[tuple[ToolCall, str]]] = []
    calls: dict[str, ToolCall] = {}
    before: Message | None = None
    for message in request.messages:
        if isinstance(message, Assistant):
            if not isinstance(before, Assistant):
                answers.append([])
            calls.update((call.id, call) for call in message.response.calls)
        elif isinstance(message, ToolResults):
            answers[-1] += [(calls[result.call_id], _text(result)) for result in message.results]
        before = message
    return answers


def _text(result: ToolResult) -> str:
    return "".join(
        part.text if isinstance(part, TextPart) else json_codec.text(part.value) if isinstance(part, JsonPart) else ""
        for part in result.parts
    )
