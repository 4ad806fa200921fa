"""A provider made of two models: the first decides which tools to call, and the second narrates the results.

    provider = NarratingProvider(decider, Narrator(other), tools)
    await Turn(provider, tools, limit=4, acknowledge=acknowledge).run(message)

The first model decides after each round whether it calls more tools, and the narrator reports in every round that has
results:

| the first model, after results | the answer of the round                                                             |
|--------------------------------|-------------------------------------------------------------------------------------|
| calls more tools               | the narrator's report on the round, if a call succeeded, in front of the calls      |
| calls none, or may not call    | the narrator's answer from all results of the turn; the first model's text is void  |
| ran tools at the provider      | the first model's answer: the narrator does not have these results                  |
| refuses, pauses or breaks off  | the first model's answer, on which the turn acts as usual                           |

A first model that may not call is not asked: ``Turn(…, max_rounds=1)`` makes one decision and one narration. (Bedrock
Converse has no tool choice "none", so there it is asked.) The narrator also answers if every tool failed, unless
``on_all_failed`` is "stop".

At most `NarratingProvider.call_limit` calls of one answer run, so that the report stays short (option ``limit``).
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, Iterable, Mapping, Sequence
from contextlib import aclosing
from typing import Any, cast

from msgspec.structs import replace

from toolparity.normalizer import json_codec
from toolparity.normalizer.conversation import (
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
from toolparity.normalizer.decoder import StreamDecoder
from toolparity.normalizer.events import BlockDelta, BlockStart, Event
from toolparity.normalizer.headers import ResponseHeaders
from toolparity.normalizer.model import Choice, Reasoning, Response, Stop, StopReason, Text, ToolCall, Usage
from toolparity.normalizer.requests import read_request, write_request
from toolparity.normalizer.wires.registry import spec, wire_name

from ..answer_reader import AnswerReader
from ..backoff import ran_elsewhere
from ..machine.state import add_usage
from ..prompts import user_text
from ..provider import Provider
from .acknowledge import Hinted
from .narrator import Narrator, NarratorInput, input_for

#: Stop reasons of an answer that the narrator may replace or complete. The turn acts on all others itself.
_NARRATED: tuple[StopReason, ...] = ("end_turn", "tool_calls", "stop_sequence", "unknown")


class NarratingProvider:
    """A provider on the first model's wire. ``tools``: used for their names and waiting hints.

    Only the text and the usage of the narrator's answer enter the turn, because its reasoning and item ids mean
    nothing to the first model. If the narrator fails, the plain results follow.
    """

    #: The option ``limit`` of turns with this provider, unless they have another one.
    call_limit = 4
    #: The first model does not write the answer.
    takes_formats = False

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
        """Yield the first model's answer, and the narrator's if the request ends with tool results."""
        request = read_request(body, self.wire, provider=self.name)
        ends_with_results = bool(request.messages) and isinstance(request.messages[-1], ToolResults)
        answer = self._narrated(request, body) if ends_with_results else self.provider.ask(body)
        async with aclosing(cast(AsyncGenerator[Any, None], answer)) as chunks:
            async for chunk in chunks:
                yield chunk

    async def _narrated(self, request: Request, body: Any) -> AsyncGenerator[Event | Response | ResponseHeaders, None]:
        """Yield the answer to a request with results, as canonical events and Responses (see the table above)."""
        decision = await self._decision(body) if _may_call(request) else None
        if decision is not None and not _can_narrate(decision, cast(ToolResults, request.messages[-1])):
            yield decision
            return
        calls = decision.calls if decision is not None else []
        following = calls if decision is not None and not decision.text.strip() else []
        narrator_input = self._input(request.messages, following, only_last=bool(calls))
        if decision is not None and "rate_limit" in decision.extra:
            yield ResponseHeaders(decision.extra["rate_limit"])
        text, responses = "", list[Response]()
        yield BlockStart(0, 0, "text")
        async with aclosing(self.narrator.stream(narrator_input, responses.append)) as deltas:
            async for delta in deltas:
                text += delta
                yield self._response(text, "unknown", complete=False)  # the partial answer, if the turn is cancelled
                yield BlockDelta(0, 0, delta)
        usage = responses[0].usage if responses else None
        if decision is not None and calls:
            yield replace(self._with_report(decision, text), usage=add_usage(decision.usage, usage))
        else:
            yield self._response(text, "end_turn", add_usage(decision.usage, usage) if decision is not None else usage)

    def _with_report(self, decision: Response, text: str) -> Response:
        """Return the first model's answer with the narrator's report in front of its text and its calls."""
        first, *others = decision.choices
        is_reasoning = [isinstance(block, Reasoning) for block in first.blocks]
        position = 0 if spec(self.wire).reasoning_items else is_reasoning.index(False)
        report = Text(f"{text}\n\n" if first.text.strip() else text)
        blocks = [*first.blocks[:position], report, *first.blocks[position:]]
        return replace(decision, choices=[replace(first, blocks=blocks), *others])

    async def _decision(self, body: Any) -> Response:
        """Return the first model's whole answer. It is shown only when the narrator's part of it is known."""
        answer = AnswerReader(StreamDecoder(self.wire, provider=self.name, request=body))
        async with aclosing(answer.events(self.provider.ask(body))) as events:
            async for _ in events:
                pass
        return answer.finish()

    def _response(self, text: str, stop: StopReason, usage: Usage | None = None, *, complete: bool = True) -> Response:
        choice = Choice(0, [Text(text)], Stop(stop))
        model = self.narrator.provider.model
        return Response(self.wire, self.name, None, model, [choice], usage, None, complete)

    def _input(
        self, messages: list[Message], following: Sequence[ToolCall] = (), *, only_last: bool = False
    ) -> NarratorInput:
        """Return the calls since the last user message, or only those of the last round, with their results.

        ``following``: the calls of the next round, which the report announces.
        """
        last_user = max((index for index, message in enumerate(messages) if isinstance(message, User)), default=-1)
        since = messages[last_user + 1 :]
        results = [result for message in since if isinstance(message, ToolResults) for result in message.results]
        calls = [call for message in since if isinstance(message, Assistant) for call in message.response.calls]
        if only_last:
            ids = {result.call_id for result in cast(ToolResults, messages[-1]).results}
            calls = [call for call in calls if call.id in ids]
        return input_for(
            user_text(messages),
            self._named(calls),
            map(_with_json_value, results),
            self._tools,
            following=self._named(following),
        )

    def _named(self, calls: Iterable[ToolCall]) -> list[ToolCall]:
        """Return the calls with the names of their tools instead of the aliases on the wire."""
        return [replace(call, name=self._names.get(call.name, call.name)) for call in calls]


def _may_call(request: Request) -> bool:
    return bool(request.tools) and (request.tool_choice is None or request.tool_choice.mode != "none")


def _can_narrate(decision: Response, results: ToolResults) -> bool:
    """Return whether the narrator has something to report beside the first model's answer, or in place of it."""
    if not decision.complete or decision.error is not None or not decision.choices or ran_elsewhere(decision):
        return False
    if decision.calls and all(result.is_error for result in results.results):
        return False  # the answer at the end reports on them
    return decision.choices[0].stop.reason in _NARRATED


def _with_json_value(result: ToolResult) -> ToolResult:
    """Parse a JSON text result into a value: most wires carry values as text."""
    [part] = result.parts if len(result.parts) == 1 else [None]
    if not isinstance(part, TextPart) or not part.text.lstrip().startswith(("{", "[")):
        return result
    try:
        return replace(result, parts=[JsonPart(json_codec.decode(part.text))])
    except ValueError:
        return result
