"""Conversations made by hand, and their way back: to a provider, in its wire's form, as these tests look at it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tests.support.wires import WIRES
from toolparity import Choice, Response, Stop, ToolCall
from toolparity.normalizer.arguments import parse
from toolparity.normalizer.conversation import (
    Assistant,
    Encoded,
    Message,
    Request,
    TextPart,
    ToolDefinition,
    ToolResult,
    ToolResults,
    User,
)
from toolparity.normalizer.requests import check_request, write_request
from toolparity.normalizer.wires.registry import spec

PROVIDERS = {wire: spec(wire).owner for wire in WIRES}
#: Another provider's wire, for each.
ELSEWHERE = {wire: "xai.grpc" if wire == "anthropic.messages" else "anthropic.messages" for wire in WIRES}


def call(id: str, name: str = "f", text: str = '{"x":1}', **more: Any) -> ToolCall:
    """A call; its arguments are parsed where they are an object."""
    given = parse(text)
    return ToolCall(id, name, given.arguments, text, **{"status": given.status, **more})


def respond(*blocks: Any, wire: str = "openai.chat", **more: Any) -> Response:
    """An answer of a wire's usual provider."""
    reason: Any = "tool_calls" if any(isinstance(block, ToolCall) for block in blocks) else "end_turn"
    head = {"id": "r1", "model": "m", **more}
    return Response(wire, PROVIDERS[wire], choices=[Choice(0, list(blocks), Stop(reason))], **head)


def said(*blocks: Any, wire: str = "openai.chat", **more: Any) -> Assistant:
    """The same as a turn."""
    return Assistant(respond(*blocks, wire=wire, **more))


def tool_result(id: str, text: str = "ok", **more: Any) -> ToolResult:
    """What a call returned."""
    return ToolResult(id, [TextPart(text)], **more)


def results(*given: ToolResult) -> ToolResults:
    """The turn that answers."""
    return ToolResults(list(given))


def user(text: str = "hi") -> User:
    """The user's words."""
    return User([TextPart(text)])


def request(turns: Sequence[Message], wire: str = "openai.chat", names: Sequence[str] = ("f",), **more: Any) -> Request:
    """A request of a wire's usual provider, its tools declared; Anthropic's limit is reported."""
    schema = {"type": "object", "properties": {}}
    params = {"max_tokens": 100, **more.pop("params", {})} if wire == "anthropic.messages" else more.pop("params", {})
    tools = [ToolDefinition(name, "a tool", schema) for name in names]
    return Request(wire, "m", list(turns), tools, provider=PROVIDERS[wire], params=params, **more)


def written(turns: Sequence[Message], source: str, target: str | None = None, **more: Any) -> Encoded:
    """A conversation of one wire as a request of another (default: the same); it keeps the target's rules."""
    target = target or source
    provider = more.pop("provider", PROVIDERS[target])
    if target == "anthropic.messages":  # a limit is demanded there, and a loss where it is made up
        more["params"] = {"max_tokens": 100, **more.get("params", {})}
    encoded = write_request(request(turns, source, **more), target, provider=provider)
    assert check_request(encoded.body, target, provider=provider) == []
    return encoded


def codes(encoded: Encoded) -> list[str]:
    """The losses' codes, in order."""
    return [loss.code for loss in encoded.losses]
