"""Declaration of the caller's tools: their names, their parameters, and how they run.

@tool(waiting_hint="looking at the weather")
async def get_weather(city: str, days: int = 1) -> Forecast: ...

tools = Tools([get_weather, find_city])     # functions, `Tool` objects, or MCP servers (`mcp.server`)
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import chain
from typing import Any, TypeVar

from toolparity.normalizer import conversation

from ..errors import InvalidTool
from .sources import SourcedTools, ToolSource
from .tool import Tool, check_tool

_Function = TypeVar("_Function", bound=Callable[..., Any])

#: What `Tools` accepts: a tool, a function, or a source of tools (`mcp.server.McpServer`).
ToolLike = Tool | Callable[..., Any] | ToolSource


class Tools(Mapping[str, Tool]):
    """Tools by name, in the order of declaration, then those of sources. ``tools``: for a function, the tool
    `Tool.of` it. The tools of a source (`sources.ToolSource`) are those that it has at the time.

    Raises InvalidTool for a duplicate name, an invalid JSON schema or a single tool, and MissingExtra if a tool has a
    schema and jsonschema is not installed.
    """

    def __init__(self, tools: Iterable[ToolLike] = ()) -> None:
        self._tools: dict[str, Tool] = {}
        self._sourced = SourcedTools([])
        if not isinstance(tools, Iterable):
            raise InvalidTool(f"tools must be a list, got {tools!r:.100}", hint="pass a single tool as [tool]")
        for tool in tools:
            if isinstance(tool, ToolSource):
                self.add_source(tool)
            else:
                self.add(tool)

    def add_source(self, source: ToolSource) -> None:
        """Add the tools of a source. Raises InvalidTool if one of them has the name of another tool."""
        duplicate = next((name for name in source.current_tools() if name in self), None)
        if duplicate is not None:
            raise InvalidTool(f"two tools are called {duplicate!r}", hint="give the MCP server a prefix")
        self._sourced.sources.append(source)

    def add(self, tool: Tool | Callable[..., Any]) -> Tool:
        """Add a tool, or the tool of a function, and return it. Raises InvalidTool and MissingExtra."""
        if not isinstance(tool, Tool):
            tool = Tool.of(tool)
        if tool.name in self:
            raise InvalidTool(f"two tools are called {tool.name!r}", hint="rename one of them")
        check_tool(tool)
        self._tools[tool.name] = tool
        return tool

    def tool(self, function: _Function | None = None, /, **options: Any) -> Any:
        """Decorate a function as a tool of this collection, and return it unchanged. ``options``: see `Tool.of`.

        Raises InvalidTool and MissingExtra, as `Tool` and `add` do.
        """

        def declare(function: _Function) -> _Function:
            self.add(Tool.of(function, **options))
            return function

        return declare if function is None else declare(function)

    def declared(self, others: Sequence[conversation.ToolDefinition] = ()) -> list[conversation.ToolDefinition]:
        """Return the tool definitions for a request. Its own ``others`` come first and win over equal names.

        An earlier turn may have declared tools of sources there: they get their current definitions.
        """
        current = {tool.name: tool.declared() for tool in self._sources_tools().values()}
        kept = [current.pop(tool.name, tool) for tool in others if not self._is_withdrawn(tool.name)]
        names = {tool.name for tool in kept}
        own = [tool.declared() for tool in self._tools.values() if tool.name not in names]
        return [*kept, *own, *current.values()]

    def has_changed(self, declared: conversation.ToolDefinition) -> bool:
        """Return whether a source has changed or withdrawn a tool since a turn declared it."""
        tool = self._sources_tools().get(declared.name)
        return self._is_withdrawn(declared.name) if tool is None else tool.declared() != declared

    def _sources_tools(self) -> Mapping[str, Tool]:
        return self._sourced.beside(self._tools)

    def _is_withdrawn(self, name: str) -> bool:
        return name not in self and name in self._sourced.known

    def __getitem__(self, name: str) -> Tool:
        tool = self._tools.get(name)
        return tool if tool is not None else self._sources_tools()[name]

    def __iter__(self) -> Iterator[str]:
        return chain(self._tools, self._sources_tools())

    def __len__(self) -> int:
        return len(self._tools) + len(self._sources_tools())
