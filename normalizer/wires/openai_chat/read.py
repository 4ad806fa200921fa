"""Reader for Chat Completions requests, in any dialect: it converts them to the canonical form.

``Assistant.extra`` and ``Result.extra`` hold the members of a message that have no canonical field. Two keys in them
keep the original spelling, so that the writer can reproduce it.

``as_written`` of an assistant message:

- ``parts``: the content was a list.
- ``silent``: the message had no ``content`` member.
- ``reasoning``: the name of the member that held the reasoning text.
- ``ids``: canonical id -> id on the wire, None if the call had no id.
- ``indexes``: canonical id -> the ``index`` that a streamed call left in the history.
- ``objects``: some arguments were JSON objects instead of text.

``as_written`` of a result has only ``parts``: its content held parts other than text.

``repeated`` holds members that duplicate other content (a result's ``name``) or are empty (``prefix: false``).
"""

from __future__ import annotations

from typing import Any

from ... import json_codec
from ...conversation import Assistant, Message, RawItem, Request, System, User
from ...errors import MalformedBody
from ...model import ToolCall
from ..call_builder import CallBuilder
from ..history_reader import HistoryReader
from ..schema import Note, Reader
from ..traverse import items, request_object
from ..write_context import AS_WRITTEN, REPEATED
from .blocks import build_choice
from .parts import read_parts
from .results import read_result
from .schema import WIRE, ChatMessage
from .tools import read_choice, read_tools

_reader = Reader(ChatMessage)
#: Members of an assistant message that become blocks unless they are empty.
_SAID = frozenset(
    (
        "annotations",
        "content",
        "function_call",
        "reasoning",
        "reasoning_content",
        "reasoning_details",
        "refusal",
        "tool_calls",
    )
)
_BESIDE = frozenset(("messages", "model", "tools", "tool_choice", "parallel_tool_calls"))


def read(body: Any, provider: str | None) -> Request:
    """Return the canonical request for a body: a parsed object, or JSON as text or bytes.

    Raises MalformedBody if the body is not JSON, is nested too deep, or has no list of messages.
    """
    body = request_object(body, WIRE, "messages")
    try:
        messages = _History(WIRE, provider).read(body["messages"])
    except RecursionError:
        raise MalformedBody("the request is nested too deep", body=b"") from None
    params = {key: value for key, value in body.items() if key not in _BESIDE}
    tools = read_tools(body.get("tools"), params)
    parallel = body.get("parallel_tool_calls")
    model = body.get("model")
    if not isinstance(parallel, bool) and "parallel_tool_calls" in body:
        params["parallel_tool_calls"], parallel = parallel, None
    if not isinstance(model, str) and "model" in body:
        params["model"], model = model, None
    return Request(WIRE, model, messages, tools, read_choice(body, params), parallel, provider=provider, params=params)


class _History(HistoryReader):
    def read(self, messages: list[Any]) -> list[Message]:
        for message in messages:
            self._add(message)
        return self.messages

    def _add(self, message: Any) -> None:
        role = message.get("role") if isinstance(message, dict) else None
        if role in ("tool", "function"):
            self._add_result(read_result(message, self._answer(message, role)))
        else:
            self.messages.append(self._assistant(message) if role == "assistant" else self._spoken(message, role))

    def _spoken(self, message: Any, role: Any) -> Message:
        if role not in ("system", "developer", "user") or "content" not in message:
            return RawItem(WIRE, message)
        content = message["content"]
        if content is not None and not isinstance(content, (str, list)):
            return RawItem(WIRE, message)
        extra = {key: value for key, value in message.items() if key not in ("role", "content")}
        if content is None:
            extra["content"] = None
        plain = isinstance(content, str)
        if role == "user":
            return User(read_parts(content), plain, extra)
        return System(read_parts(content), role, plain, extra)

    def _assistant(self, source: dict[str, Any]) -> Assistant:
        notes: list[Note] = []
        message = _reader.read(json_codec.bytes_of(source), notes)
        context = self._context()
        beside: dict[str, Any] = {}
        choice = build_choice(CallBuilder.of(context, 0, None), message, None, beside)
        extra = {k: v for k, v in source.items() if k not in _SAID or v in (None, "", []) or k in beside}
        del extra["role"]
        if "tool_calls" in source and not isinstance(source["tool_calls"], list):
            extra["tool_calls"] = source["tool_calls"]
        if source.get("reasoning_content") and source.get("reasoning"):
            extra["reasoning"] = source["reasoning"]  # the server sent both members; the block keeps one of them
        legacy = source.get("function_call")
        if isinstance(legacy, dict) and not any(call.kind == "legacy_function" for call in choice.calls):
            extra["function_call"] = legacy  # empty, or a duplicate of an entry in tool_calls
        again = {name: extra.pop(name) for name in [*extra] if _is_redundant(name, source)}
        if again:
            extra[REPEATED] = again
        written = self._spellings(source, [block for block in choice.blocks if type(block) is ToolCall])
        if written:
            extra[AS_WRITTEN] = written
        return Assistant(self._response([choice], context), extra)

    def _spellings(self, source: dict[str, Any], calls: list[ToolCall]) -> dict[str, Any]:
        """Return the value of ``as_written`` for an assistant message.

        Also make its calls the ones that the following results answer.
        """
        written: dict[str, Any] = {}
        if isinstance(source.get("content"), list):
            written["parts"] = True
        if "content" not in source:
            written["silent"] = True
        if source.get("reasoning_content"):
            written["reasoning"] = "reasoning_content"
        entries = [entry for entry in items(source, "tool_calls") if isinstance(entry, dict)]
        opened = self._open_calls(calls, [entry.get("id") for entry in entries])
        ids = {call.id: id for id, call in opened if id != call.id and call.kind != "legacy_function"}
        if ids:
            written["ids"] = ids
        indexes = {
            entry["id"]: entry["index"] for entry in entries if "index" in entry and isinstance(entry.get("id"), str)
        }
        if indexes:
            texts = [(wire, call) for wire, call in opened if isinstance(wire, str)]
            written["indexes"] = {call.id: indexes[wire] for wire, call in texts if wire in indexes}
        functions = (entry.get("function") for entry in entries)
        if any(isinstance(f, dict) and isinstance(f.get("arguments"), dict) for f in functions):
            written["objects"] = True
        return written

    def _answer(self, message: dict[str, Any], role: str) -> ToolCall | None:
        """Return the open call that a result answers.

        A result without an id answers the next open call of its name, and for the role ``tool`` else the next one.
        """
        id, name = message.get("tool_call_id"), message.get("name")
        named = name if isinstance(name, str) and name else None
        call = None if role == "tool" and named is None else self._open.take(id, named or "", any_id=True)
        return self._open.take(id, any_id=True) if call is None and role == "tool" else call


def _is_redundant(member: str, source: dict[str, Any]) -> bool:
    """Whether a remaining member of an assistant message adds nothing to the canonical fields."""
    if member == "reasoning":
        return bool(source["reasoning"] == source.get("reasoning_content"))
    if member == "function_call":
        return True  # `extra` holds it only if it is empty or duplicates an entry in tool_calls
    return member == "prefix" and source["prefix"] is False
