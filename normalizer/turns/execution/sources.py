"""Tools that can change while turns use them, such as those of an MCP server, adapted to what a provider accepts."""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping
from functools import partial
from typing import TYPE_CHECKING, Any, Protocol, runtime_checkable

from msgspec.structs import replace

from ...errors import UnknownWire
from .tool_results import ToolFailed
from .validation import problems

if TYPE_CHECKING:
    from .tools import Tool

_log = logging.getLogger("toolparity")


@runtime_checkable
class ToolSource(Protocol):
    """Offers tools that can change. Each has ``parameters``, ``mapping`` and an async function."""

    def current_tools(self) -> Mapping[str, Tool]:
        """Return the tools that may be used now, by name: the same object until they change."""


class SourcedTools:
    """The tools of sources, beside tools that do not change.

    ``wire`` and ``dialect``: adapt the schemas to the rules of this provider (`schemas`).
    """

    def __init__(self, sources: list[ToolSource], wire: str | None = None, dialect: str = "") -> None:
        self.sources = sources
        self.known: set[str] = set()  # the names of all tools that the sources have offered
        self._wire = wire
        self._dialect = dialect
        self._offers: list[Mapping[str, Tool]] = []
        self._tools: dict[str, Tool] = {}
        self._adapted: dict[tuple[str, str], SourcedTools] = {}

    def adapted_to(self, wire: str, dialect: str) -> SourcedTools:
        """Return the tools of the same sources with the schemas that a provider accepts."""
        adapted = self._adapted.get((wire, dialect))
        if adapted is None:
            adapted = self._adapted[wire, dialect] = SourcedTools(self.sources, wire, dialect)
            adapted.known = self.known
        return adapted

    def beside(self, fixed: Mapping[str, Tool]) -> Mapping[str, Tool]:
        """Return the current tools whose names are not those of ``fixed`` tools. Of equal names, the first counts."""
        offers = [source.current_tools() for source in self.sources]
        if len(offers) != len(self._offers) or any(a is not b for a, b in zip(offers, self._offers, strict=True)):
            tools: dict[str, Tool] = {}
            for offer in offers:
                for name, tool in offer.items():
                    if name in fixed or name in tools:
                        _log.warning("two tools are called %r: the later one is left out", name)
                    else:
                        tools[name] = tool
            self.known.update(tools)
            self._tools = tools if self._wire is None else _adapted(tools, self._wire, self._dialect)
            self._offers = offers
        return self._tools


def _adapted(tools: Mapping[str, Tool], wire: str, dialect: str) -> dict[str, Tool]:
    """Return the tools with schemas that the provider accepts. Their names stay: the writer of the wire has aliases."""
    from ...schemas import adapt_tools

    try:
        adapted = adapt_tools([tool.declared() for tool in tools.values()], wire, dialect)
    except UnknownWire:  # no rules are known for the wire of a custom provider
        return dict(tools)
    for loss in adapted.losses:
        if loss.code == "tool-dropped":
            _log.warning("%s: the tool %r is left out: %s accepts no more tools", wire, loss.name, wire)
    result: dict[str, Tool] = {}
    for definition in adapted.tools:
        name = adapted.names[definition.name]
        tool = tools[name]
        if definition.parameters == tool.parameters:
            result[name] = tool
            continue
        restore = partial(_restored, adapted.restore, definition.name)
        result[name] = replace(
            tool,
            parameters=definition.parameters,
            description=definition.description,
            function=partial(_call_restored, tool, restore),
            approval=tool.approval if isinstance(tool.approval, bool) else partial(_approve_restored, tool, restore),
        )
    return result


def _restored(restore: Callable[[str, Any], tuple[str, Any]], name: str, arguments: dict[str, Any]) -> Any:
    return restore(name, arguments)[1]


async def _call_restored(tool: Tool, restore: Callable[[dict[str, Any]], Any], arguments: dict[str, Any]) -> Any:
    """Call the tool with the arguments that its original schema describes."""
    original = restore(arguments)
    misfits = problems(tool.parameters or {}, original)
    if misfits:
        raise ToolFailed(f"The arguments of {tool.name} do not fit its schema: {'; '.join(misfits)}")
    assert tool.function is not None
    return await tool.function(original)


def _approve_restored(tool: Tool, restore: Callable[[dict[str, Any]], Any], arguments: dict[str, Any]) -> bool:
    return tool.needs_approval(restore(arguments))
