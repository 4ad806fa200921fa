"""Tools that can change while turns use them, such as those of an MCP server."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from typing import Protocol, runtime_checkable

from .tool import Tool

_log = logging.getLogger("toolparity")


@runtime_checkable
class ToolSource(Protocol):
    """Offers tools that can change. Each has ``parameters``, ``mapping`` and an async function."""

    def current_tools(self) -> Mapping[str, Tool]:
        """Return the tools that may be used now, by name: the same object until they change."""


class SourcedTools:
    """The tools of sources, beside tools that do not change."""

    def __init__(self, sources: list[ToolSource]) -> None:
        self.sources = sources
        self.known: set[str] = set()  # the names of all tools that the sources have offered
        self._offers: list[Mapping[str, Tool]] = []
        self._tools: dict[str, Tool] = {}

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
            self._tools = tools
            self._offers = offers
        return self._tools
