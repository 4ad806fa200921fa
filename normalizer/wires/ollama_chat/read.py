"""Reader for requests of Ollama's chat API: it converts them to the canonical form.

The wire can lack the ids of calls and of results. A call without one gets an id from its position, and a result belongs
to the next open call of its ``tool_name``, or to the next open call.

``as_written`` in the ``extra`` of a message keeps its original spelling, so that the writer can reproduce it:

- ``silent``: the message had no ``content``, as the SDK sends a message without text.
- ``ids``: canonical id -> None, if the calls had no id. Ids that repeat are not written back.
- ``indexes``: canonical id -> ``index`` of the call, which newer servers send and clients send back.
"""

from __future__ import annotations

from typing import Any

import msgspec
from msgspec import Raw, Struct

from ... import json_codec
from ...conversation import Assistant, RawItem, Request, System, User
from ...errors import MalformedBody
from ...model import ToolCall
from ..history_reader import HistoryReader
from ..schema import Note, Reader
from ..traverse import members_except, request_object
from ..write_context import AS_WRITTEN
from . import schema as s
from .blocks import build_choice, call_builder
from .parts import is_readable, read_parts
from .results import read_result
from .schema import WIRE
from .tools import read_tool

_reader = Reader(s.Message)
_REPRESENTED = ("model", "messages", "tools")
#: Members that become blocks.
_BLOCKS = ("role", "content", "thinking", "tool_calls")


class _RawBody(Struct):
    messages: list[Raw]


def read(body: Any, provider: str | None = None, before: int = 0) -> Request:
    """Convert a request body (bytes, text or parsed JSON) to a canonical request.

    ``before``: the number of canonical messages before those of the body. Members that are empty mean nothing and are
    left out; the SDK sends ``tools: []`` in every request. Raises MalformedBody if the body is not JSON, is nested too
    deep, or has no list of messages.
    """
    respelled = not isinstance(body, (bytes, bytearray, str))
    request = request_object(body, WIRE, "messages")
    history = _History(WIRE, provider, respelled, before)
    try:
        for message, exact in zip(request["messages"], _exact(body, request["messages"]), strict=True):
            history.add(message, exact)
    except RecursionError:
        raise MalformedBody("the request is nested too deep", body=b"") from None
    tools, model = request.get("tools"), request.get("model")
    represented = [name for name in _REPRESENTED if name != "tools" or isinstance(tools, list)]
    if not isinstance(model, str):
        represented.remove("model")
    params = members_except(request, *represented)
    return Request(
        WIRE,
        model if isinstance(model, str) else None,
        history.messages,
        [read_tool(tool) for tool in tools] if isinstance(tools, list) else [],
        provider=provider,
        params={key: value for key, value in params.items() if value not in ("", {})},
    )


def _exact(body: Any, messages: list[Any]) -> list[bytes]:
    """Return each message as its original bytes, which keeps the exact argument texts."""
    if isinstance(body, (bytes, bytearray, memoryview, str)):
        data = body.encode("utf-8", "surrogatepass") if isinstance(body, str) else bytes(body)
        try:
            return [bytes(message) for message in json_codec.decoder(_RawBody)(data).messages]
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
            pass
    return [json_codec.bytes_of(message) for message in messages]


class _History(HistoryReader):
    def add(self, message: Any, exact: bytes) -> None:
        """Add the next message. ``exact``: its bytes."""
        role = message.get("role") if isinstance(message, dict) else None
        if role not in ("system", "user", "assistant", "tool") or not is_readable(message):
            self.messages.append(RawItem(WIRE, message))
        elif role == "assistant":
            self.messages.append(self._assistant(message, exact))
        elif role == "tool":
            self._add_result(read_result(message, self._answer(message)))
        else:
            extra = members_except(message, "role", "content", "images")
            if message.get("content") is None:
                extra[AS_WRITTEN] = {"silent": True}
            parts = read_parts(message)
            self.messages.append(User(parts, extra=extra) if role == "user" else System(parts, extra=extra))

    def _answer(self, message: dict[str, Any]) -> ToolCall | None:
        """Return the open call that a result answers.

        Their ids decide. If one of them has none, it is the next call of this name, or the next one if it has no name.
        """
        id, name = message.get("tool_call_id"), message.get("tool_name") or None
        return self._open.take(id, name, any_id=True) or self._open.take(None, name)

    def _assistant(self, source: dict[str, Any], exact: bytes) -> Assistant:
        notes: list[Note] = []
        message = _reader.read(exact, notes)
        context = self._context()
        position = self._before + len(self.messages)
        builder = call_builder(context, f"message {position}")  # derived ids of two messages differ
        choice = build_choice(builder, message.thinking, message.content, message.tool_calls, None, {})
        extra = members_except(source, *_BLOCKS)
        extra.update(message.extra_ or ())
        if written := self._spellings(source, choice.calls):
            extra[AS_WRITTEN] = written
        return Assistant(self._response([choice], context), extra)

    def _spellings(self, source: dict[str, Any], calls: list[ToolCall]) -> dict[str, Any]:
        """Return the value of ``as_written`` for an assistant message, and let the next results answer its calls."""
        written: dict[str, Any] = {} if source.get("content") is not None else {"silent": True}
        entries = source.get("tool_calls")
        entries = [entry for entry in entries if isinstance(entry, dict)] if isinstance(entries, list) else []
        opened = self._open_calls(calls, [entry.get("id") for entry in entries])
        if without_id := [call.id for id, call in opened if not isinstance(id, str)]:
            written["ids"] = dict.fromkeys(without_id)
        if len(entries) == len(calls):
            functions = [entry.get("function") for entry in entries]
            indexes = {
                call.id: function["index"]
                for call, function in zip(calls, functions, strict=True)
                if isinstance(function, dict) and "index" in function
            }
            if indexes:
                written["indexes"] = indexes
        return written
