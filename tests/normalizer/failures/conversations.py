"""Conversations made by hand, and the requests that continue them: for every pair of wires."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import Any

import pytest

from tests.normalizer.history.conversations import PROVIDERS, results, user
from tests.normalizer.history.conversations import answer as assistant
from tests.normalizer.history.conversations import response as respond
from tests.normalizer.history.conversations import result as tool_result
from tests.normalizer.history.views import of_kind
from tests.support.wires import WIRES
from toolparity import ToolCall
from toolparity.normalizer.arguments import parse
from toolparity.normalizer.conversation import Encoded, Message, Request, ToolDefinition
from toolparity.normalizer.requests import check_request, write_request

__all__ = [
    "EVERY_WIRE",
    "PROVIDERS",
    "WIRES",
    "assistant",
    "call",
    "codes",
    "every_pair",
    "parts",
    "request",
    "respond",
]
__all__ += ["results", "tool_result", "user", "written"]
EVERY_WIRE = pytest.mark.parametrize("wire", WIRES)
_PAIRS = pytest.mark.parametrize(("source", "target"), list(itertools.product(WIRES, WIRES)))
_KINDS = ("system", "user", "assistant", "reasoning", "call", "result", "media", "other")


def every_pair(test: Any) -> Any:
    """Run a test for every pair of wires, in the plain run for two sources of each target."""
    return pytest.mark.thorough(keep=2, per="{target}")(_PAIRS(test))


def call(id: str, name: str = "f", text: str = '{"x":1}', **more: Any) -> ToolCall:
    """A call; its arguments are parsed where they are an object."""
    given = parse(text)
    return ToolCall(id, name, given.arguments, text, **{"status": given.status, **more})


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


def parts(wire: str, body: Any) -> list[Any]:
    """The parts of a request that are not empty, in order, as `tests.normalizer.history.views` reads them."""
    return [part for part in of_kind(wire, body, *_KINDS) if part.text or part.kind not in ("assistant", "user")]
