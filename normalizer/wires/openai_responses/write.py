"""Writer for Responses requests: it converts the canonical conversation to a request body.

Messages from this wire and provider go back unchanged. All others are translated into valid items. ``input`` is always
a list of items, so that the bytes of finished rounds stay the same while a conversation grows. If the provider stores
the history (``previous_response_id``, ``conversation``), only the messages after it are sent (XAI-05).
"""

from __future__ import annotations

from typing import Any

from ...conversation import Assistant, Encoded, Message, RawItem, Request, System, ToolResults, User
from ...pairing import paired_segment
from ..fast_history import RegularWriters
from ..model_owners import report_foreign_model
from ..surrogates import is_encodable, replace_in_members
from ..write_context import AS_WRITTEN, HINTS, IdStyle, NameStyle, WriteContext
from ..writer import WriterBase
from ..xai_tools import RESERVED_ON_RESPONSES
from .parts import text_of, write_content
from .request_params import write_params
from .results import regular_results, write_result
from .schema import WIRE
from .tools import write_tools
from .write_assistant import LONGEST_ID, AssistantWriter

IDS = IdStyle(pattern=f"[^\ud800-\udfff]{{1,{LONGEST_ID}}}", length=LONGEST_ID)
NAMES = NameStyle(pattern=r"[a-zA-Z0-9_-]{1,128}")
XAI_NAMES = NameStyle(pattern=NAMES.pattern, reserved=RESERVED_ON_RESPONSES)


class Writer(WriterBase):
    """Incremental writer for the messages of a request."""

    def __init__(self, request: Request, provider: str | None) -> None:
        own = request.wire == WIRE and (None in (request.provider, provider) or request.provider == provider)
        context = WriteContext(request, WIRE, provider, IDS, XAI_NAMES if provider == "xai" else NAMES, own)
        stateless = request.params.get("store") is False
        stored = own and _is_stored(request)
        super().__init__(request, context, None if stored else (request.wire, request.provider, provider, stateless))
        self._assistant = AssistantWriter(context, stateless)
        self._instructions: str | None = None

    def encoded(self) -> Encoded:
        request, context = self._request, self._context
        body: dict[str, Any] = {}
        report_foreign_model(request, context)
        if request.model is not None:
            body["model"] = request.model
        if self._instructions is not None:
            body["instructions"] = self._instructions
        needs_input = request.messages or request.params.get("prompt") is None
        if needs_input and (self._written or "input" not in request.params):
            body["input"] = self._written
        write_tools(request, context, body)
        return context.encoded(replace_in_members(write_params(request, context, body), "input", context))

    def _regular_writers(self) -> RegularWriters | None:
        return RegularWriters(_regular_user, self._assistant.regular, regular_results)

    def _write_unstored(self) -> None:
        """Write the messages that the provider does not store. Their results may answer calls that it stores."""
        request = self._request
        messages = paired_segment(request.messages, self._context.repaired, 0, len(request.messages), stored=True)
        first = _first_unstored(request, [message for _, message in messages])
        for number, (index, message) in enumerate(messages):
            if number < first and type(message) is Assistant:
                self._assistant.learn(message)
            elif number >= first or (type(message) is System and message.extra.get("instructions")):
                self._write(message, index)

    def _write_assistant(self, message: Assistant) -> None:
        self._assistant.write_items(message, self._written)

    def _write_results(self, message: ToolResults) -> None:
        context = self._context
        context.lose_extra(message.extra)
        for result in message.results:
            kind = self._assistant.kinds.get(result.call_id, result.kind)
            id = context.id(result.call_id)
            self._written += write_result(result, kind, id, context)

    def _write_user(self, message: User) -> None:
        self._write_spoken(message, "user")

    def _write_system(self, message: System) -> None:
        if message.extra.get("instructions") and self._instructions is None:
            self._instructions = text_of(message.parts)
        else:
            self._write_spoken(message, message.role)

    def _write_spoken(self, message: User | System, role: str) -> None:
        content = write_content(message.parts, message.plain, self._context)
        if content == [] and not self._context.same_wire:
            self._context.lose("empty")
            return
        item: dict[str, Any] = {"role": role, "content": content}
        if self._context.same_wire:
            if message.extra.get(AS_WRITTEN) == "typed":
                item["type"] = "message"
            item.update((k, v) for k, v in message.extra.items() if k not in HINTS)
        else:
            self._context.lose_extra(message.extra)
        self._written.append(item)

    def _write_raw(self, item: RawItem) -> None:
        from_client = isinstance(item.raw, dict) and item.raw.get("role") is not None
        if item.wire == WIRE and (self._context.own or from_client):
            self._written.append(item.raw)
        else:
            self._context.lose("opaque", f"an item of {item.wire} was left out")


def _regular_user(text: str) -> dict[str, Any] | None:
    return {"role": "user", "content": text} if text.isascii() or is_encodable(text) else None


def _is_stored(request: Request) -> bool:
    """Whether the provider stores a part of the history, so that results may appear without their calls."""
    if request.previous_response_id is not None or request.params.get("conversation") is not None:
        return True
    messages = request.messages
    return RawItem in map(type, messages) and any(type(item) is RawItem and _refers(item.raw) for item in messages)


def _refers(raw: Any) -> bool:
    return isinstance(raw, dict) and raw.get("type") == "item_reference"


def _first_unstored(request: Request, messages: list[Message]) -> int:
    """Return the index of the first message that the provider does not have yet."""
    response_id, conversation = request.previous_response_id, _conversation_id(request.params.get("conversation"))
    if response_id is None and conversation is None:
        return 0
    for index in range(len(messages) - 1, -1, -1):
        message = messages[index]
        if type(message) is Assistant:
            response = message.response
            if response_id is not None and response.id == response_id:
                return index + 1
            if conversation is not None and _conversation_id(response.extra.get("conversation")) == conversation:
                return index + 1
    return 0


def _conversation_id(conversation: Any) -> str | None:
    if isinstance(conversation, dict):
        conversation = conversation.get("id")
    return conversation if isinstance(conversation, str) else None


write = Writer.write
