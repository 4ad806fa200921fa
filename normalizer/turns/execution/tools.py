"""Declaration of the caller's tools: their names, their parameters, and how they run.

tools = Tools()

@tools.tool(parameters={"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]},
            waiting_hint="looking at the weather")
async def get_weather(city: str) -> dict[str, int]: ...
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, TypeVar

from msgspec import Struct

from ... import conversation
from ..errors import InvalidTool
from .exceptions import is_failure
from .signatures import check_function
from .validation import check_schema

_Function = TypeVar("_Function", bound=Callable[..., Any])

#: Default timeout of a tool, in seconds.
TIMEOUT = 30.0


class Fallback(Struct, frozen=True):
    """Another tool to try when one fails. ``arguments`` maps the call's arguments to its own; default unchanged."""

    tool: str
    arguments: Callable[[dict[str, Any]], dict[str, Any]] | None = None


class Tool(Struct, frozen=True, kw_only=True):
    """One tool.

    ``function``: async, or sync, in which case each call runs in a separate thread. It gets the arguments as keywords.
    With ``mapping`` it gets them as one mapping, for names that are not valid in Python. With ``kind`` "custom" it gets
    the text as its one argument. None for a tool that runs elsewhere: its calls are handed over, the turn waits for
    their results (`Turn.answer`), and ``timeout`` and ``idempotent`` have no effect.
    ``parameters``: the JSON schema of the arguments. None for a function that takes no named parameters, or any
    (``**arguments``). Nothing is derived from annotations.
    ``waiting_hint``: a phrase shown to the user while the tool runs ("checking your billing").
    ``timeout``: seconds, None for no limit. ``parallel``: if False, no other call of the same answer runs meanwhile.
    ``idempotent``: the tool may run again when it is unknown whether the call took effect.
    ``approval``: True if each call needs approval, or a function that decides by the arguments.
    ``fallback``: used by `orchestration`; the executor ignores it.
    ``strict``, ``kind``, ``wire`` and ``raw``: see `toolparity.normalizer.conversation.Tool`.

    Raises InvalidTool if the function cannot take every call that the schema allows (`signatures`).
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

    def __post_init__(self) -> None:
        if self.function is not None:
            check_function(self.name, self.function, self.parameters, kind=self.kind, mapping=self.mapping)

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


class Tools(Mapping[str, Tool]):
    """Tools by name, in the order of declaration.

    Raises InvalidTool for a duplicate name or an invalid JSON schema, and MissingExtra if a tool has a schema and
    jsonschema is not installed.
    """

    def __init__(self, tools: Iterable[Tool] = ()) -> None:
        self._tools: dict[str, Tool] = {}
        for tool in tools:
            self.add(tool)

    def add(self, tool: Tool) -> Tool:
        """Add a tool and return it. Raises InvalidTool and MissingExtra."""
        if not tool.name:
            raise InvalidTool("a tool has no name", hint="pass name=")
        if tool.name in self._tools:
            raise InvalidTool(f"two tools are called {tool.name!r}", hint="rename one of them")
        if tool.function is None and not (tool.parallel and tool.fallback is None):
            what = "a tool without a function runs elsewhere, so it cannot be sequential or have a fallback"
            raise InvalidTool(what, where=tool.name, hint="declare it parallel, and without a fallback")
        if tool.timeout is not None and not tool.timeout > 0:
            raise InvalidTool(f"timeout must be > 0 or None, got {tool.timeout!r}", where=tool.name)
        if tool.parameters is not None:
            check_schema(tool.name, tool.parameters)
        self._tools[tool.name] = tool
        return tool

    def tool(self, function: _Function | None = None, /, **options: Any) -> Any:
        """Decorate a function as a tool. ``options``: the fields of `Tool`.

        The default name is the name of the function, and the default description is the first paragraph of its
        docstring. Returns the function unchanged. Raises InvalidTool and MissingExtra, as `Tool` and `add` do.
        """

        def declare(function: _Function) -> _Function:
            name = options.get("name") or getattr(function, "__name__", None)
            if not name:
                raise InvalidTool(f"a tool has no name: {function!r}", hint="pass name=")
            documented = function.func if isinstance(function, functools.partial) else function
            description = " ".join((documented.__doc__ or "").split("\n\n")[0].split()) or None
            self.add(Tool(**{"description": description, **options, "name": name, "function": function}))
            return function

        return declare if function is None else declare(function)

    def declared(self) -> list[conversation.ToolDefinition]:
        """Return the tool definitions for a request."""
        return [tool.declared() for tool in self._tools.values()]

    def __getitem__(self, name: str) -> Tool:
        return self._tools[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._tools)

    def __len__(self) -> int:
        return len(self._tools)
