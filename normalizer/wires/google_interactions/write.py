"""Writer for requests of the Interactions API: it converts the canonical conversation to a request body.

``input`` is always a list of steps, so that the bytes of finished rounds stay the same while a conversation grows. If
the provider stores the history (``previous_interaction_id``), only the steps after it are sent.
"""

from __future__ import annotations

from typing import Any, Self

from ...conversation import Assistant, Encoded, Message, RawItem, Request, System, ToolResults, User
from ...pairing import paired_segment
from ..fast_history import RegularWriters
from ..model_owners import report_foreign_model
from ..surrogates import is_encodable, replace_in_members
from ..write_context import AS_WRITTEN, HINTS, IdStyle, NameStyle, WriteContext
from ..writer import WriterBase
from .parts import text_of, write_contents
from .request_params import write_params
from .results import write_result
from .schema import WIRE
from .tools import write_tools
from .turns import MORE, has_turns, turn_of
from .write_assistant import AssistantWriter

#: Google does not document which ids it accepts. The recorded ids match this pattern.
IDS = IdStyle(r"[!-~]{1,128}", 64, plain=128)
#: https://ai.google.dev/api/caching#FunctionDeclaration
NAMES = NameStyle(r"[a-zA-Z_][a-zA-Z0-9_.:-]{0,63}", prefix="_")


class Writer(WriterBase):
    """Incremental writer for the messages of a request."""

    def __init__(self, request: Request, provider: str | None) -> None:
        own = request.wire == WIRE and (None in (request.provider, provider) or request.provider == provider)
        stored = own and request.previous_response_id is not None
        #: whether to write turns instead of steps, because the request has them
        self._turns = own and has_turns(request.messages)
        basis = None if stored else (request.wire, request.provider, provider, self._turns)
        super().__init__(request, WriteContext(request, WIRE, provider, IDS, NAMES, own), basis)
        self._assistant = AssistantWriter(self._context)
        self._instructions: list[str] = []

    def fork(self, request: Request) -> Self:
        other = super().fork(request)
        other._instructions = self._instructions[:]
        return other

    def encoded(self) -> Encoded:
        request, context = self._request, self._context
        body: dict[str, Any] = {}
        report_foreign_model(request, context)
        if request.model is not None:
            body["model"] = request.model
        if self._instructions:
            body["system_instruction"] = "\n\n".join(self._instructions)
        if self._written or "input" not in request.params:
            body["input"] = self._written
        write_params(request, write_tools(request, context, body), context, body)
        return context.encoded(replace_in_members(body, "input", context))

    def _regular_writers(self) -> RegularWriters | None:
        return None if self._turns else super()._regular_writers()

    def _regular_user(self, text: str) -> dict[str, Any] | None:
        if not (text and (text.isascii() or is_encodable(text))):
            return None
        return {"type": "user_input", "content": [{"type": "text", "text": text}]}

    def _write_unstored(self) -> None:
        """Write the messages that the provider does not store. Their results may answer calls that it stores.

        The system instruction is not stored (https://ai.google.dev/gemini-api/docs/interactions).
        """
        request = self._request
        messages = paired_segment(request.messages, self._context.repaired, 0, len(request.messages), stored=True)
        first = _first_unstored(request, [message for _, message in messages])
        for number, (index, message) in enumerate(messages):
            if number < first and type(message) is Assistant:
                self._assistant.learn(message)
            elif number >= first or type(message) is System:
                self._write(message, index)

    def _write_assistant(self, message: Assistant) -> None:
        steps: list[dict[str, Any]] = []
        self._assistant.write_steps(message, steps)
        self._append("model", steps, message)

    def _write_results(self, message: ToolResults) -> None:
        context = self._context
        context.lose_extra(message.extra)
        steps = []
        for result in message.results:
            name = self._assistant.names.get(result.call_id)
            if name is None and result.name:
                name = context.name(result.name)
            steps.append(write_result(result, context.id(result.call_id), name, context))
        self._append("user", steps, message)

    def _write_user(self, message: User) -> None:
        contents = write_contents(message.parts, self._context)
        if not contents and not self._context.same_wire:
            self._context.lose("empty", "a user message without content was left out")
            return
        step: dict[str, Any] = {"type": "user_input", "content": contents}
        if self._context.own:
            step.update((k, v) for k, v in message.extra.items() if k not in HINTS)
        else:
            self._context.lose_extra(message.extra)
        self._append("user", [step], message)

    def _write_system(self, message: System) -> None:
        """Write a system message: into the system instruction, or as a user's text if steps precede it."""
        context = self._context
        context.lose_extra(message.extra)
        text = text_of(message.parts, context)
        if not self._written:
            if text:
                self._instructions.append(text)
        elif text:
            context.lose("order", "a system message within the conversation was written as a user message")
            content = {"type": "text", "text": f"<system>\n{text}\n</system>"}
            self._append("user", [{"type": "user_input", "content": [content]}], message)

    def _append(self, role: str, steps: list[dict[str, Any]], message: Assistant | System | ToolResults | User) -> None:
        written_as = message.extra.get(AS_WRITTEN)
        if not self._turns:
            self._written += steps
        elif steps:
            turn = turn_of(role, steps, written_as)
            if written_as == MORE and self._written and isinstance(self._written[-1].get("content"), list):
                turn = {**turn, "content": [*self._written.pop()["content"], *turn["content"]]}
            self._written.append(turn)

    def _write_raw(self, item: RawItem) -> None:
        if item.wire == WIRE and self._context.own:
            self._written.append(item.raw)
        else:
            self._context.lose("opaque", f"an item of {item.wire} was left out")


def _first_unstored(request: Request, messages: list[Message]) -> int:
    """Return the index of the first message that the provider does not have yet."""
    for index in range(len(messages) - 1, -1, -1):
        message = messages[index]
        if type(message) is Assistant and message.response.id == request.previous_response_id:
            return index + 1
    return 0


write = Writer.write
