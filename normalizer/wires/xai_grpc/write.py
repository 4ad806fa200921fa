"""Writer for xAI's requests: it converts a canonical request to a GetCompletionsRequest.

Assistant messages from xAI are sent back as they were, with their encrypted state and server calls. Those from other
wires become messages as xAI writes them: reasoning, text, and the client calls of a round in one message.
"""

from __future__ import annotations

from typing import Any, Self

from msgspec.structs import replace

from ...conversation import Assistant, Encoded, Message, RawItem, Request, System, ToolResults, User
from ...pairing import paired_segment
from ..fast_history import RegularWriters
from ..model_owners import report_foreign_model
from ..surrogates import SurrogateReplacer
from ..write_context import REPEATED, IdStyle, NameStyle, WriteContext
from ..writer import WriterBase
from ..xai_tools import RESERVED_ON_GRPC
from . import schema as s
from . import serialize
from .parts import with_content, write_content
from .request_params import write_params
from .results import regular_results, write_results
from .tools import write_tools
from .write_assistant import AssistantWriter

#: xAI does not document which ids it accepts. The ids that it creates match this pattern.
IDS = IdStyle(r"[!-~]{1,128}", 64, plain=128)
NAMES = NameStyle(reserved=RESERVED_ON_GRPC)


class Writer(WriterBase):
    """Incremental writer for the messages of a request. ``_written``: their pieces (see `serialize`)."""

    def __init__(self, request: Request, provider: str | None) -> None:
        self._continues = request.previous_response_id is not None  # whether xAI stores messages before these
        basis = None if self._continues else (request.wire, provider)
        super().__init__(request, WriteContext(request, s.WIRE, provider, IDS, NAMES), basis)
        self._assistant = AssistantWriter(self._context)
        self._held: list[Any] = []  # tool messages that have to follow later messages
        self._wait = 0  # how many such messages are still to come

    @property
    def settled(self) -> bool:  # type: ignore[override]
        return not self._held

    def fork(self, request: Request) -> Self:
        other = super().fork(request)
        other._written = ["".join(self._written)]
        return other

    def encoded(self) -> Encoded:
        request, context = self._request, self._context
        self._written += map(serialize.message, self._held)
        body = s.GetCompletionsRequest.FromString(serialize.serialized(self._written))
        replacer = SurrogateReplacer()
        request = replacer.clean(replace(request, messages=[]))
        if replacer.replaced:
            context.lose("corrupt-text", "lone surrogates outside of the messages became U+FFFD")
        report_foreign_model(request, context)
        body.model = request.model or ""
        write_tools(request, context, body)
        if self._continues and request.previous_response_id:
            body.previous_response_id = request.previous_response_id
        write_params(request, context, body)
        return context.encoded(body)

    def _regular_writers(self) -> RegularWriters | None:
        return None if self._held else RegularWriters(_regular_user, self._assistant.regular, regular_results)

    def _write_unstored(self) -> None:
        """Write the messages that xAI does not store yet (XAI-05). Their results may answer calls that it stores."""
        request, context = self._request, self._context
        messages, response_id = request.messages, request.previous_response_id
        stored = context.same_wire or any(_is_response(message, response_id) for message in messages)
        if not stored:
            context.lose("param", "previous_response_id: another provider stores that history")
        paired = paired_segment(messages, context.repaired, 0, len(messages), stored)
        first = next((n + 1 for n in reversed(range(len(paired))) if _is_response(paired[n][1], response_id)), 0)
        self._continues = stored
        for index, message in paired[first:]:
            self._write(message, index)

    def _write(self, message: Message, index: int) -> None:
        replacer = SurrogateReplacer()
        message = replacer.clean(message)
        if replacer.replaced:
            self._context.message = index
            self._context.lose("corrupt-text")
        super()._write(message, index)
        if self._held and type(message) is not ToolResults:
            self._wait -= 1
            if self._wait <= 0:
                self._release()

    def _release(self) -> None:
        self._written += self._held
        self._held = []

    def _write_assistant(self, message: Assistant) -> None:
        self._release()
        self._written += self._assistant.write(message)

    def _write_results(self, message: ToolResults) -> None:
        """Write tool messages. On this wire other messages may come before them; ``behind`` is their number."""
        written = write_results(message, self._assistant.ids, self._context)
        behind = message.extra.get("behind", 0) if self._context.own else 0
        if behind or self._held:
            self._held = self._held + written
            self._wait = max(behind, self._wait)
        else:
            self._written += written

    def _write_user(self, message: User) -> None:
        self._write_spoken(message, s.ROLE_USER)

    def _write_system(self, message: System) -> None:
        self._write_spoken(message, s.ROLE_DEVELOPER if message.role == "developer" else s.ROLE_SYSTEM)

    def _write_spoken(self, message: User | System, role: int) -> None:
        written = s.ProtoMessage(role=role, content=write_content(message.parts, self._context))
        if extra := self._context.kept_extra(message.extra):
            s.parse_dict({**extra, **extra.get(REPEATED, {})}, written)
        self._written.append(with_content(written))

    def _write_raw(self, item: RawItem) -> None:
        if item.wire == s.WIRE:
            self._written.append(s.parse_dict(item.raw, s.ProtoMessage()))
        else:
            self._context.lose("opaque", f"an item of {item.wire} was left out")

    def _complete(self, begun: int, end: int) -> None:
        """Serialize the messages. They have no lone surrogates, because protobuf refuses them."""
        self._written[begun:end] = map(serialize.message, self._written[begun:end])


def _regular_user(text: str) -> str | None:
    text_piece = serialize.piece(text)
    return None if text_piece is None else serialize.user(text_piece)


def _is_response(message: Message, id: str | None) -> bool:
    return isinstance(message, Assistant) and message.response.id == id and message.response.wire == s.WIRE


write = Writer.write
