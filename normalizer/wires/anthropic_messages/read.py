"""Reader for requests of the Messages API: it converts them to the canonical form.

The tool results of a user message become a separate message. Consecutive assistant messages become one, as the API
also concatenates them, if each but the last has calls. The blocks of assistant messages are decoded like those of
responses.
"""

from __future__ import annotations

from typing import Any

from ... import json_codec
from ...conversation import Assistant, Message, RawItem, Request, System, ToolResults, User
from ...errors import MalformedBody
from ...model import Response, ToolCall
from ..decode_context import Context
from ..exact_messages import body_bytes, exact_contents
from ..traverse import members_except, request_object
from .decode import decode
from .parts import kind_of, read_parts
from .results import read_result
from .schema import WIRE
from .tools import read_choice, read_tool

_REPRESENTED = ("model", "system", "messages", "tools", "tool_choice")


def read(body: Any, provider: str | None = None) -> Request:
    """Convert a request body (bytes, text or parsed JSON) to a canonical request.

    ``provider``: the provider that the request is for. Raises MalformedBody if the body is not a Messages API request.
    """
    respelled = not isinstance(body, (bytes, bytearray, str))
    data = body_bytes(body)
    request = request_object(data, WIRE, "messages")
    history = _History(provider, respelled)
    if request.get("system"):
        history.messages.append(_system(request["system"], {}))
    for message, content in zip(request["messages"], exact_contents(data, request["messages"]), strict=True):
        history.add_message(message, content)
    history.close()
    choice, parallel = read_choice(request.get("tool_choice"))
    tools, model = request.get("tools"), request.get("model")
    represented = [member for member in _REPRESENTED if member != "tools" or isinstance(tools, list)]
    if not isinstance(model, str):
        represented.remove("model")
    return Request(
        WIRE,
        model if isinstance(model, str) else None,
        history.messages,
        [read_tool(tool) for tool in tools] if isinstance(tools, list) else [],
        choice,
        parallel,
        None,
        provider,
        members_except(request, *represented),
    )


class _History:
    """State of reading one request: the messages so far, and the pending assistant messages."""

    def __init__(self, provider: str | None, respelled: bool) -> None:
        self.messages: list[Message] = []
        self._provider = provider
        self._respelled = respelled
        self._pending: list[tuple[dict[str, Any], bytes]] = []
        self._calls: list[tuple[str, ToolCall]] = []  # calls of the last assistant message, with their ids on the wire

    def add_message(self, message: Any, content: bytes) -> None:
        """Add the next message. ``content``: the bytes of its content."""
        role = message.get("role") if isinstance(message, dict) else None
        blocks = message.get("content") if isinstance(message, dict) else None
        if role == "assistant" and isinstance(blocks, (str, list)):
            if self._pending and not any(kind_of(block) == "tool_use" for block in self._pending[-1][0]["content"]):
                self.close()
            self._pending.append((message, content))
            return
        self.close()
        extra = members_except(message, "role", "content") if isinstance(message, dict) else {}
        if role == "system":
            self.messages.append(_system(blocks, extra))
        elif role == "user" and isinstance(blocks, str):
            self.messages.append(User(read_parts(blocks), extra=extra))
        elif role == "user" and isinstance(blocks, list):
            self._add_user(blocks, extra)
        else:
            self.messages.append(RawItem(WIRE, message))

    def close(self) -> None:
        """Convert the pending assistant messages to one message."""
        pending, self._pending = self._pending, []
        if not pending:
            return
        extra = {
            key: value for message, _ in pending for key, value in members_except(message, "role", "content").items()
        }
        context = Context(WIRE, self._provider, findings=[], respelled=self._respelled)
        content = _concatenated(pending)
        try:
            answer = decode(b'{"content":' + content + b"}", context)
        except MalformedBody:
            self.messages.extend(RawItem(WIRE, message) for message, _ in pending)
            return
        response = Response(WIRE, self._provider, None, None, answer.choices).with_findings(context.findings)
        wire_ids = {id for message, _ in pending for id in _ids(message["content"])}
        named = ((call.extra.get("id", call.id), call) for call in response.calls)
        self._calls = [(id if isinstance(id, str) and id in wire_ids else "", call) for id, call in named]
        self.messages.append(Assistant(response, extra))

    def _add_user(self, blocks: list[Any], extra: dict[str, Any]) -> None:
        results = [block for block in blocks if _is_result(block)]
        others = [block for block in blocks if not _is_result(block)]
        if results:
            waiting: dict[str, list[ToolCall]] = {}
            for id, call in self._calls:  # a repeated or missing id differs from the id of the canonical call
                waiting.setdefault(id, []).append(call)
            self.messages.append(
                ToolResults([read_result(block, waiting) for block in results], {} if others else extra)
            )
        if others or not results:
            self.messages.append(User(read_parts(others), plain=False, extra=extra))


def _concatenated(pending: list[tuple[dict[str, Any], bytes]]) -> bytes:
    if len(pending) == 1 and isinstance(pending[0][0]["content"], list):
        return pending[0][1]
    blocks: list[Any] = []
    for message, _ in pending:
        content = message["content"]
        blocks += [{"type": "text", "text": content}] if isinstance(content, str) else content
    return json_codec.encode(blocks)


def _ids(content: Any) -> list[str]:
    """Return the ids of the client calls in a message's content."""
    calls = content if isinstance(content, list) else ()
    return [b["id"] for b in calls if kind_of(b) == "tool_use" and isinstance(b.get("id"), str)]


def _is_result(block: Any) -> bool:
    return bool(kind_of(block) == "tool_result")


def _system(content: Any, extra: dict[str, Any]) -> System:
    return System(read_parts(content), plain=isinstance(content, str), extra=extra)
