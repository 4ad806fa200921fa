"""Reader for requests of Converse: it converts them to the canonical form.

The tool results of a user message become a separate message. The blocks of assistant messages are decoded like those of
responses.
"""

from __future__ import annotations

from typing import Any

from ...conversation import Assistant, RawItem, Request, System
from ...errors import MalformedBody
from ..exact_messages import body_bytes, exact_contents
from ..history_reader import HistoryReader
from ..traverse import members_except, request_object
from .decode import decode
from .parts import read_parts
from .results import read_result
from .schema import CLIENT, WIRE
from .tools import read_choice, read_tool

_REPRESENTED = ("modelId", "system", "messages", "toolConfig")


def read(body: Any, provider: str | None = None) -> Request:
    """Convert a request body to a canonical request.

    ``body``: bytes, text or parsed JSON, or the arguments of boto3's ``converse``. ``provider``: the provider that the
    request is for. Raises MalformedBody if the body is not a request of Converse.
    """
    respelled = not isinstance(body, (bytes, bytearray, memoryview, str))
    data = body_bytes(body)
    request = request_object(data, WIRE, "messages")
    history = _History(WIRE, provider, respelled)
    if request.get("system"):
        history.messages.append(_system(request["system"], {}))
    for message, content in zip(request["messages"], exact_contents(data, request["messages"]), strict=True):
        history.add_message(message, content)
    config = request.get("toolConfig")
    is_known = isinstance(config, dict) and isinstance(config.get("tools"), list)
    represented = [member for member in _REPRESENTED if member != "toolConfig" or is_known]
    tools = config if is_known and isinstance(config, dict) else {}
    model = request.get("modelId")
    if not isinstance(model, str):
        represented.remove("modelId")
    params = members_except(request, *represented)
    if beside := members_except(tools, "tools", "toolChoice"):
        params["toolConfig"] = beside
    return Request(
        WIRE,
        model if isinstance(model, str) else None,
        history.messages,
        [read_tool(tool) for tool in tools.get("tools", ())],
        read_choice(tools.get("toolChoice")),
        None,
        None,
        provider,
        params,
    )


class _History(HistoryReader):
    def add_message(self, message: Any, content: bytes) -> None:
        """Add the next message. ``content``: the bytes of its content."""
        role = message.get("role") if isinstance(message, dict) else None
        blocks = message.get("content") if isinstance(message, dict) else None
        if not isinstance(blocks, list) or role not in ("assistant", "user", "system"):
            self.messages.append(RawItem(WIRE, message))
            return
        extra = members_except(message, "role", "content")
        if role == "assistant":
            self._add_assistant(message, blocks, content, extra)
        elif role == "system":
            self.messages.append(_system(blocks, extra))
        else:
            self._add_divided(blocks, extra, _is_result, read_result, read_parts)

    def _add_assistant(self, message: Any, blocks: list[Any], content: bytes, extra: dict[str, Any]) -> None:
        context = self._context()
        try:
            answer = decode(b'{"output":{"message":{"content":' + content + b"}}}", context)
        except MalformedBody:
            self.messages.append(RawItem(WIRE, message))
            return
        response = self._response(answer.choices, context)
        self._open_calls(response.calls, _ids(blocks))
        self.messages.append(Assistant(response, extra))


def _ids(blocks: list[Any]) -> list[Any]:
    """Return the ids of the client calls in a message's content."""
    calls = [block["toolUse"] for block in blocks if isinstance(block, dict) and isinstance(block.get("toolUse"), dict)]
    return [call.get("toolUseId") for call in calls if call.get("type") in (None, CLIENT)]


def _is_result(block: Any) -> bool:
    return isinstance(block, dict) and isinstance(block.get("toolResult"), dict)


def _system(content: Any, extra: dict[str, Any]) -> System:
    return System(read_parts(content), plain=False, extra=extra)
