"""Reader for requests of the Messages API: it converts them to the canonical form.

The tool results of a user message become a separate message. Consecutive assistant messages become one, as the API
also concatenates them, if each but the last has calls. The blocks of assistant messages are decoded like those of
responses.
"""

from __future__ import annotations

from typing import Any

from ... import json_codec
from ...conversation import Assistant, RawItem, Request, System, User
from ...errors import MalformedBody
from ..exact_messages import body_bytes, exact_contents
from ..history_reader import HistoryReader
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
    history = _History(WIRE, provider, respelled)
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


class _History(HistoryReader):
    """Reader of the messages of one request, of which adjacent assistant messages are pending until they are one."""

    def __init__(self, wire: str, provider: str | None, respelled: bool) -> None:
        super().__init__(wire, provider, respelled)
        self._pending: list[tuple[dict[str, Any], bytes]] = []

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
            self._add_divided(blocks, extra, _is_result, read_result, read_parts)
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
        context = self._context()
        content = _concatenated(pending)
        try:
            answer = decode(b'{"content":' + content + b"}", context)
        except MalformedBody:
            self.messages.extend(RawItem(WIRE, message) for message, _ in pending)
            return
        response = self._response(answer.choices, context)
        self._open_calls(response.calls, [id for message, _ in pending for id in _ids(message["content"])])
        self.messages.append(Assistant(response, extra))


def _concatenated(pending: list[tuple[dict[str, Any], bytes]]) -> bytes:
    if len(pending) == 1 and isinstance(pending[0][0]["content"], list):
        return pending[0][1]
    blocks: list[Any] = []
    for message, _ in pending:
        content = message["content"]
        blocks += [{"type": "text", "text": content}] if isinstance(content, str) else content
    return json_codec.encode(blocks)


def _ids(content: Any) -> list[Any]:
    """Return the ids of the client calls in a message's content."""
    return [b.get("id") for b in content if kind_of(b) == "tool_use"] if isinstance(content, list) else []


def _is_result(block: Any) -> bool:
    return bool(kind_of(block) == "tool_result")


def _system(content: Any, extra: dict[str, Any]) -> System:
    return System(read_parts(content), plain=isinstance(content, str), extra=extra)
