"""Calls and tools to be executed without a turn around them."""

from __future__ import annotations

from collections.abc import Callable
from inspect import signature
from typing import Any

from toolparity import ToolCall
from toolparity.normalizer import json_codec
from toolparity.normalizer.turns.execution.executor import Executor, FinishedCall
from toolparity.normalizer.turns.execution.tools import Tool, Tools

from .playing import at_once


def asked(name: str, id: str = "", **arguments: Any) -> ToolCall:
    return ToolCall(id or f"call_{name}", name, arguments, json_codec.text(arguments))


def tool(function: Callable[..., Any], name: str | None = None, **options: Any) -> Tool:
    """A tool that declares any value for each parameter of its function."""
    by_name = options.get("kind", "function") == "function" and not options.get("mapping")
    return Tool(
        name=name or function.__name__,
        function=function,
        **{"parameters": taking(function) if by_name else None, **options},
    )


def taking(function: Callable[..., Any]) -> dict[str, Any] | None:
    """The schema by which a function's parameters may have any values."""
    named = [one for one in signature(function).parameters.values() if one.kind is one.POSITIONAL_OR_KEYWORD]
    if not named:
        return None
    required = [one.name for one in named if one.default is one.empty]
    return {"type": "object", "properties": {one.name: {} for one in named}, "required": required}


def ran(
    calls: list[ToolCall], *tools: Tool, executor: dict[str, Any] | None = None, **options: Any
) -> list[FinishedCall]:
    async def run() -> list[FinishedCall]:
        return await Executor(Tools(tools), **(executor or {})).run(calls, **options)

    return at_once(run())


def texts(found: list[FinishedCall]) -> list[tuple[str, str]]:
    return [(one.outcome, "".join(getattr(part, "text", "") for part in one.result.parts)) for one in found]


def raising(error: BaseException) -> Callable[[], Any]:
    def function() -> None:
        raise error

    return function
