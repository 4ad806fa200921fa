"""Reader for requests of Cohere's Chat API: it converts them to the canonical form.

``Assistant.extra`` holds the members of a message that have no canonical field. `AS_WRITTEN` in it keeps the original
spelling: ``text`` (the content was a text), ``ids`` (canonical id -> id on the wire, None if the call had no id).
"""

from __future__ import annotations

from typing import Any

from ... import json_codec
from ...conversation import Assistant, Message, RawItem, Request, System, User
from ...errors import MalformedBody
from ..call_builder import CallBuilder
from ..history_reader import HistoryReader
from ..schema import Note, Reader
from ..traverse import items, members_except, request_object
from ..write_context import AS_WRITTEN
from . import read_v1
from .blocks import build_choice
from .parts import read_parts
from .results import read_result
from .schema import WIRE
from .schema import Message as WireMessage
from .tools import read_choice, read_tool

_reader = Reader(WireMessage)
_REPRESENTED = ("model", "messages", "tools", "tool_choice", "strict_tools")
_BLOCKS = ("role", "content", "tool_plan", "tool_calls", "citations")


def read(body: Any, provider: str | None = None) -> Request:
    """Convert a request body (bytes, text or parsed JSON) of version 2 or 1 to a canonical request.

    ``provider``: the provider that the request is for. Raises MalformedBody if the body is not such a request.
    """
    request = request_object(body, WIRE)
    if read_v1.is_v1(request):
        return read_v1.read(request, provider)
    request = request_object(request, WIRE, "messages")
    try:
        messages = _History(WIRE, provider).read(request["messages"])
    except RecursionError:
        raise MalformedBody("the request is nested too deep", body=body) from None
    tools, model, strict = request.get("tools"), request.get("model"), request.get("strict_tools")
    represented = set(_REPRESENTED)
    if not isinstance(tools, list) or not tools:
        represented -= {"tools", "strict_tools"}
    if not isinstance(strict, bool):
        represented.discard("strict_tools")
        strict = None
    if not isinstance(model, str):
        represented.discard("model")
    return Request(
        WIRE,
        model if isinstance(model, str) else None,
        messages,
        [read_tool(tool, strict) for tool in tools] if isinstance(tools, list) else [],
        read_choice(request.get("tool_choice")),
        provider=provider,
        params=members_except(request, *represented),
    )


class _History(HistoryReader):
    def read(self, messages: list[Any]) -> list[Message]:
        for message in messages:
            self._add(message)
        return self.messages

    def _add(self, message: Any) -> None:
        role = message.get("role") if isinstance(message, dict) else None
        content = message.get("content") if isinstance(message, dict) else None
        if role == "assistant":
            self.messages.append(self._assistant(message))
        elif role == "tool" and isinstance(content, (str, list)):
            self._add_result(read_result(message, self._open.take(message.get("tool_call_id"))))
        elif role in ("user", "system") and isinstance(content, (str, list)):
            extra = members_except(message, "role", "content")
            parts, plain = read_parts(content), isinstance(content, str)
            self.messages.append(
                User(parts, plain, extra) if role == "user" else System(parts, plain=plain, extra=extra)
            )
        else:
            self.messages.append(RawItem(WIRE, message))

    def _assistant(self, source: dict[str, Any]) -> Assistant:
        notes: list[Note] = []
        message = _reader.read(json_codec.bytes_of(source), notes)
        context = self._context()
        message.extra_ = None
        choice = build_choice(CallBuilder.of(context, 0, None), message, None)
        extra = members_except(source, *_BLOCKS)
        for member in ("tool_plan", "tool_calls"):  # a value of another type
            if source.get(member) is not None and getattr(message, member) is None:
                extra[member] = source[member]
        written: dict[str, Any] = {"text": True} if isinstance(message.content, str) else {}
        calls = [call for call in items(source, "tool_calls") if isinstance(call, dict)]
        opened = self._open_calls(choice.blocks, [call.get("id") for call in calls])
        ids = {call.id: id for id, call in opened if id != call.id}
        if ids:
            written["ids"] = ids
        if written:
            extra[AS_WRITTEN] = written
        return Assistant(self._response([choice], context), extra)
