"""Serialization of the messages that make up nearly every history, without a protobuf object for each.

A serialized request is the concatenation of its fields. The messages of a history can therefore be serialized one by
one, and the request is parsed once from all of them, which takes a fraction of the time of building objects.

The pieces of a request are texts in which each character is a byte (Latin-1), so that a text of ASCII is a piece
without a conversion. Each function appends the pieces of one message, a field ``messages`` of the request, to ``out``.
Texts have to be pieces (`piece`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from .schema import (
    COMPLETED,
    INCOMPLETE,
    ROLE_ASSISTANT,
    ROLE_TOOL,
    ROLE_USER,
    TYPE_CLIENT,
    Content,
    FunctionCall,
    GetCompletionsRequest,
    ProtoMessage,
    ToolCall,
)

_BYTES = "latin-1"


def _varint(number: int) -> str:
    encoded = []
    while number > 0x7F:
        encoded.append(number & 0x7F | 0x80)
        number >>= 7
    return bytes((*encoded, number)).decode(_BYTES)


def _tag(message: Any, field: str, wire_type: int = 2) -> str:
    """Return the bytes before a field: by default one with a length."""
    return _varint(message.DESCRIPTOR.fields_by_name[field].number << 3 | wire_type)


def _enum(message: Any, field: str, value: int) -> str:
    return _tag(message, field, 0) + _varint(value)


class _Heads(dict[int, str]):
    """The bytes before a value, by its size in bytes. Those of usual sizes are kept."""

    _LARGEST_KEPT = 1 << 13

    def __init__(self, head: Callable[[int], str]) -> None:
        self._head = head

    def __missing__(self, size: int) -> str:
        head = self._head(size)
        if size <= self._LARGEST_KEPT:
            self[size] = head
        return head


def _heads_of(message: Any, field: str, before: str = "") -> _Heads:
    tag = before + _tag(message, field)
    return _Heads(lambda size: tag + _varint(size))


def _content_head(size: int) -> str:
    """Return the bytes before the text of a content element, which is a message in a message."""
    head = _TEXT + _varint(size)
    return _CONTENT + _varint(len(head) + size) + head


_TEXT = _tag(Content, "text")
_CONTENT = _tag(ProtoMessage, "content")
_AS_USER = _enum(ProtoMessage, "role", ROLE_USER)
_AS_ASSISTANT = _enum(ProtoMessage, "role", ROLE_ASSISTANT)
_CLIENT = _enum(ToolCall, "type", TYPE_CLIENT)
_messages = _heads_of(GetCompletionsRequest, "messages")
_contents = _Heads(_content_head)
_result_ids = _heads_of(ProtoMessage, "tool_call_id", before=_enum(ProtoMessage, "role", ROLE_TOOL))
_calls = _heads_of(ProtoMessage, "tool_calls")
_call_ids = _heads_of(ToolCall, "id")
_functions = {
    status: _heads_of(ToolCall, "function", before=_CLIENT + _enum(ToolCall, "status", status))
    for status in (COMPLETED, INCOMPLETE)
}
_names = _heads_of(FunctionCall, "name")
_arguments = _heads_of(FunctionCall, "arguments")


def piece(text: str) -> str | None:
    """Return a text as a piece, or None if it has a lone surrogate, which protobuf refuses."""
    if text.isascii():
        return text
    try:
        return text.encode().decode(_BYTES)
    except UnicodeEncodeError:
        return None


def serialized(pieces: Iterable[str]) -> bytes:
    """Return the serialized request that has these messages."""
    return "".join(pieces).encode(_BYTES)


def message(written: Any) -> str:
    """Return any message as one piece."""
    data: str = written.SerializeToString().decode(_BYTES)
    return _messages[len(data)] + data


def user(text: str) -> str:
    """Return a user message of one text as one piece."""
    content = _contents[len(text)] + text + _AS_USER
    return _messages[len(content)] + content


def append_result(call_id: str, text: str, out: list[Any]) -> None:
    """Append the result of a call, which is one text."""
    content, id = _contents[len(text)], _result_ids[len(call_id)]
    out += (_messages[len(content) + len(text) + len(id) + len(call_id)], content, text, id, call_id)


def append_call(call_id: str, name: str, arguments: str, status: int, out: list[str]) -> int:
    """Append a client call, and return its size. It becomes a part of a message (see `append_assistant`)."""
    function_name, before_arguments = _names[len(name)] + name, _arguments[len(arguments)]
    size = len(function_name) + len(before_arguments) + len(arguments)
    id, function = _call_ids[len(call_id)] + call_id, _functions[status][size]
    size += len(id) + len(function)
    call = _calls[size]
    out += (call, id, function, function_name, before_arguments, arguments)
    return size + len(call)


def append_assistant(text: str, calls: list[str], size: int, out: list[Any]) -> None:
    """Append an assistant message of one text. ``calls``: the pieces of its calls, of ``size`` bytes."""
    content = _contents[len(text)]
    out += (_messages[len(content) + len(text) + len(_AS_ASSISTANT) + size], content, text, _AS_ASSISTANT)
    out += calls
