"""Declaration of the caller's tools: their names, their parameters, and how they run.

@tool(waiting_hint="looking at the weather")
async def get_weather(city: str, days: int = 1) -> Forecast: ...

tools = Tools([get_weather, find_city])     # functions, `Tool` objects, or MCP servers (`mcp.server`)
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import chain
from typing import Any, TypeVar, overload

from msgspec import Struct
from msgspec.structs import force_setattr

from toolparity.normalizer import conversation

from ..errors import InvalidTool
from ..option_values import FLAG, NUMBER, TEXT, Kind, unfit
from .exceptions import is_failure
from .signatures import check_function
from .sources import SourcedTools, ToolSource
from .typed.docstrings import summary
from .typed.parameters import TypedParameters, typed_parameters
from .validation import check_schema

_Function = TypeVar("_Function", bound=Callable[..., Any])

#: Default timeout of a tool, in seconds.
TIMEOUT = 30.0
#: The attribute of a function in which `tool` stores its options.
_OPTIONS = "__tool_options__"


class Fallback(Struct, frozen=True):
    """Another tool to try when one fails. ``arguments`` maps the call's arguments to its own; default unchanged."""

    tool: str
    arguments: Callable[[dict[str, Any]], dict[str, Any]] | None = None


_APPROVAL = Kind((bool, Callable), "a bool or a function")
_FALLBACK = Kind((Fallback, str), "a Fallback or the name of a tool")


class Tool(Struct, frozen=True, kw_only=True):
    """One tool.

    ``function``: async, or sync, in which case each call runs in a separate thread. It gets the arguments as keywords.
    With ``mapping`` it gets them as one mapping, for names that are not valid in Python. With ``kind`` "custom" it gets
    the text as its one argument. None for a tool that runs elsewhere: its calls are handed over, the turn waits for
    their results (`Turn.answer`), and ``timeout`` and ``idempotent`` have no effect.
    ``parameters``: the JSON schema of the arguments. Without it, the schema is derived from the annotations, defaults
    and docstring of the function, and the arguments of a call are converted to the annotated types (``typed``, which
    the constructor sets). With it, the function gets the arguments as JSON values.
    ``waiting_hint``: a phrase shown to the user while the tool runs ("checking your billing").
    ``timeout``: seconds, None for no limit. ``parallel``: if False, no other call of the same answer runs meanwhile.
    ``idempotent``: the tool may run again when it is unknown whether the call took effect.
    ``approval``: True if each call needs approval, or a function that decides by the arguments.
    ``fallback``: the tool that runs if this one fails (`fallbacks`). An executor that the caller makes ignores it.
    ``strict``, ``kind``, ``wire`` and ``raw``: see `toolparity.normalizer.conversation.Tool`.

    Raises InvalidTool if the function cannot take every call that the schema allows (`signatures`), or if no schema
    can be derived from it (`typed.parameters`).
    """

    name: str
    function: Callable[..., Any] | None = None
    description: str | None = None
    parameters: dict[str, Any] | None = None
    waiting_hint: str | None = None
    timeout: float | None = TIMEOUT
    parallel: bool = True
    idempotent: bool = False
    approval: bool | Callable[[dict[str, Any]], bool] = False
    fallback: Fallback | str | None = None
    mapping: bool = False
    strict: bool | None = None
    kind: str = "function"
    wire: str | None = None
    raw: Any = None
    typed: TypedParameters | None = None

    def __post_init__(self) -> None:
        self._check_options()
        typed = self.typed
        if typed is not None and typed.function is self.function and typed.schema is self.parameters:
            return  # a copy of a tool
        typed = None
        if self.function is not None:
            check_function(self.name, self.function, self.parameters, kind=self.kind, mapping=self.mapping)
            if self.parameters is None and self.kind == "function" and not self.mapping:
                typed = typed_parameters(self.name, self.function)
                force_setattr(self, "parameters", typed.schema)
        force_setattr(self, "typed", typed)

    def _check_options(self) -> None:
        """Raises InvalidTool for an option with a value of another type."""
        kinds = (
            (self.waiting_hint, "waiting_hint", TEXT, True),
            (self.description, "description", TEXT, True),
            (self.timeout, "timeout", NUMBER, True),
            (self.parallel, "parallel", FLAG, False),
            (self.idempotent, "idempotent", FLAG, False),
            (self.approval, "approval", _APPROVAL, False),
            (self.fallback, "fallback", _FALLBACK, True),
            (self.mapping, "mapping", FLAG, False),
            (self.strict, "strict", FLAG, True),
        )
        for value, name, kind, optional in kinds:
            problem = unfit(name, value, kind, optional=optional)
            if problem is not None:
                raise InvalidTool(problem, where=self.name)

    @classmethod
    def of(cls, function: Callable[..., Any], **options: Any) -> Tool:
        """Return the tool for a function.

        ``options``: the fields of `Tool`, in addition to those that the decorator `tool` gave the function. The default
        name is the name of the function, and the default description is the first paragraph of its docstring. Raises
        InvalidTool.
        """
        if not callable(function):
            raise InvalidTool(f"not a tool: {function!r}", hint="pass a function or a Tool")
        options = {**getattr(function, _OPTIONS, {}), **options}
        name = options.pop("name", None) or getattr(function, "__name__", None)
        if not name or name == "<lambda>":
            raise InvalidTool(f"a tool has no name: {function!r}", hint="pass name=")
        description = options.pop("description", None) or summary(function)
        return cls(name=name, function=function, description=description, **options)

    def declared(self) -> conversation.ToolDefinition:
        """Return the tool definition for a request.

        A function without ``parameters`` gets an empty object schema, because not every wire takes one without.
        """
        parameters = self.parameters
        if parameters is None and self.kind == "function":
            parameters = {"type": "object", "properties": {}}
        return conversation.ToolDefinition(
            self.name,
            self.description,
            parameters,
            self.strict,
            self.kind,
            waiting_hint=self.waiting_hint,
            wire=self.wire,
            raw=self.raw,
        )

    def needs_approval(self, arguments: dict[str, Any]) -> bool:
        """Return whether a call with these arguments needs approval. True if the rule itself raises."""
        if isinstance(self.approval, bool):
            return self.approval
        try:
            return bool(self.approval(arguments))
        except BaseException as error:
            if not is_failure(error):
                raise
            return True


@overload
def tool(function: _Function, /) -> _Function: ...
@overload
def tool(**options: Any) -> Callable[[_Function], _Function]: ...
def tool(function: Callable[..., Any] | None = None, /, **options: Any) -> Any:
    """Decorate a function or method as a tool, and return it unchanged. ``options``: the fields of `Tool`.

    Pass the function to `Tools` or `Turn`. Raises InvalidTool and MissingExtra if it cannot be declared. A method is
    checked when it is passed to them, because its class does not exist yet.
    """

    def mark(function: _Function) -> _Function:
        try:
            setattr(function, _OPTIONS, options)
        except AttributeError:
            what = f"{function!r} cannot be decorated"
            raise InvalidTool(what, hint="declare it with Tool.of(function, …)") from None
        if not _is_in_class(function):
            Tools([function])
        return function

    return mark if function is None else mark(function)


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
        if not tool.name:
            raise InvalidTool("a tool has no name", hint="pass name=")
        if tool.name in self:
            raise InvalidTool(f"two tools are called {tool.name!r}", hint="rename one of them")
        if tool.function is None and not tool.parallel:
            what = "a tool without a function runs elsewhere, so it cannot be sequential"
            raise InvalidTool(what, where=tool.name, hint="declare it parallel")
        if tool.timeout is not None and not tool.timeout > 0:
            raise InvalidTool(f"timeout must be > 0 or None, got {tool.timeout!r}", where=tool.name)
        if tool.parameters is not None:
            check_schema(tool.name, tool.parameters)
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


def _is_in_class(function: Callable[..., Any]) -> bool:
    """Return whether a function was defined in the body of a class."""
    return "." in getattr(function, "__qualname__", "").rpartition("<locals>.")[2]
