"""Calls and tools to be executed without a turn around them."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from inspect import signature
from typing import Any

from toolparity import ToolCall
from toolparity.normalizer import json_codec
from toolparity.schemas import adapt_tools, check_tools
from toolparity.turns.execution.executor import Executor, FinishedCall
from toolparity.turns.execution.tool import Tool
from toolparity.turns.execution.tools import Tools

from .playing import at_once

#: The outcome of a call by the name of its fault in `TOOL_FAULTS`.
OUTCOMES = {
    "fails": "failed",
    "raises": "raised",
    "exits": "raised",
    "interrupts": "raised",
    "hangs": "timeout",
    "ignores cancelling": "timeout",
    "is slow": "returned",
    "returns nothing": "returned",
    "returns what is not serializable": "unsayable",
    "returns too much": "returned",
}


def asked(name: str, id: str = "", **arguments: Any) -> ToolCall:
    return ToolCall(id or f"call_{name}", name, arguments, json_codec.text(arguments))


def tool(function: Callable[..., Any], name: str | None = None, **options: Any) -> Tool:
    """A tool that declares any value for each parameter of its function."""
    by_name = options.get("kind", "function") == "function" and not options.get("mapping")
    return Tool(
        name=name or function.__name__,
        function=function,
        **{"parameters": schema_for(function) if by_name else None, **options},
    )


def schema_for(function: Callable[..., Any]) -> dict[str, Any] | None:
    """A schema that accepts any value for each parameter of a function."""
    named = [
        parameter
        for parameter in signature(function).parameters.values()
        if parameter.kind is parameter.POSITIONAL_OR_KEYWORD
    ]
    if not named:
        return None
    required = [parameter.name for parameter in named if parameter.default is parameter.empty]
    return {"type": "object", "properties": {parameter.name: {} for parameter in named}, "required": required}


def ran(
    calls: list[ToolCall], *tools: Tool, executor: dict[str, Any] | None = None, **options: Any
) -> list[FinishedCall]:
    async def run() -> list[FinishedCall]:
        return await Executor(Tools(tools), **(executor or {})).run(calls, **options)

    return at_once(run())


def texts(calls: list[FinishedCall]) -> list[tuple[str, str]]:
    return [(call.outcome, "".join(getattr(part, "text", "") for part in call.result.parts)) for call in calls]


def raising(error: BaseException) -> Callable[[], Any]:
    def function() -> None:
        raise error

    return function


def raising_later(error: BaseException) -> Callable[[], Any]:
    async def function() -> None:
        await asyncio.sleep(0)
        raise error

    return function


def as_sent(tool: Tool, wire: str, arguments: dict[str, Any]) -> dict[str, Any]:
    """The arguments that a model writes by the definition that it gets, which is adapted if the wire refuses it."""
    definition = tool.declared()
    violations = check_tools([definition], wire)
    if not any(found.effect == "refused" or found.pointer.endswith("$ref") for found in violations):
        return arguments
    sent: dict[str, Any] = adapt_tools([definition], wire).express(tool.name, arguments)[1]
    return sent
