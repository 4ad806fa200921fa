"""The tools of a caller: what they are called, what they take, how they are run.

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

from .. import conversation
from ..errors import InvalidTool
from .cancelling import is_failure
from .signatures import check_function
from .validation import check_schema

_Function = TypeVar("_Function", bound=Callable[..., Any])

#: How long a tool may take where nobody says, in seconds.
TIMEOUT = 30.0


class Fallback(Struct, frozen=True):
    """Another tool to try when one fails. ``arguments``: makes its arguments of those of the call; default the same."""

    tool: str
    arguments: Callable[[dict[str, Any]], dict[str, Any]] | None = None


class Tool(Struct, frozen=True, kw_only=True):
    """One tool.

    ``function``: sync (it gets a thread of its own) or async. The arguments come as keywords; as one mapping where
    ``mapping`` is set, for names that Python does not take; the text of a ``kind`` "custom" comes as the one argument.
    Null for a tool that is run elsewhere: its calls are handed out, and the turn waits for their results
    (`Turn.answer`). ``timeout`` and ``idempotent`` say nothing of it.
    ``parameters``: the JSON schema of the arguments. None for a function that takes no named parameters, or any
    (``**arguments``): nothing is derived from annotations.
    ``waiting_hint``: what it does, said to the user while it runs ("checking your billing").
    ``timeout``: seconds, null for none. ``parallel`` false: never beside another call of the same answer.
    ``idempotent``: it may be run again where nobody knows whether it ran.
    ``approval``: somebody has to allow the call; a function of the arguments decides by call.
    ``fallback``: for whoever recovers from failures; execution itself does not use it.
    ``strict``, ``kind``, ``wire`` and ``raw``: as `toolparity.normalizer.conversation.Tool` has them.

    Raises InvalidTool where the function cannot take the calls that the schema allows (`signatures`).
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

    def declared(self) -> conversation.Tool:
        """What the model is told of it. Not every wire takes a function without a schema."""
        parameters = self.parameters
        if parameters is None and self.kind == "function":
            parameters = {"type": "object", "properties": {}}
        return conversation.Tool(
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
        """Whether this call has to be allowed. A rule that fails asks."""
        if isinstance(self.approval, bool):
            return self.approval
        try:
            return bool(self.approval(arguments))
        except BaseException as error:
            if not is_failure(error):
                raise
            return True


class Tools(Mapping[str, Tool]):
    """Tools by name, in the order in which they are declared.

    Raises InvalidTool for a name that is taken and for a schema that is none; MissingExtra where jsonschema is needed
    and not there.
    """

    def __init__(self, tools: Iterable[Tool] = ()) -> None:
        self._tools: dict[str, Tool] = {}
        for tool in tools:
            self.add(tool)

    def add(self, tool: Tool) -> Tool:
        """Take one more."""
        if not tool.name:
            raise InvalidTool("a tool without a name")
        if tool.name in self._tools:
            raise InvalidTool(f"two tools are called {tool.name!r}", hint="give one of them another name")
        if tool.function is None and not (tool.parallel and tool.fallback is None):
            said = "it has no function, so that nobody here knows when it runs, or that it failed"
            raise InvalidTool(said, where=tool.name, hint="declare it parallel, and without a fallback")
        if tool.timeout is not None and not tool.timeout > 0:
            raise InvalidTool(f"a timeout of {tool.timeout!r} seconds", where=tool.name, hint="more than 0, or None")
        if tool.parameters is not None:
            check_schema(tool.name, tool.parameters)
        self._tools[tool.name] = tool
        return tool

    def tool(self, function: _Function | None = None, /, **options: Any) -> Any:
        """Decorates a function as a tool. ``options``: the members of `Tool`.

        The name is the function's own where none is given, the description the first paragraph of its docstring. The
        function stays what it was. Raises InvalidTool, as `Tool` and `add` do.
        """

        def take(made: _Function) -> _Function:
            name = options.get("name") or getattr(made, "__name__", None)
            if not name:
                raise InvalidTool(f"a tool without a name: {made!r} has none", hint="pass name=")
            documented = made.func if isinstance(made, functools.partial) else made
            told = " ".join((documented.__doc__ or "").split("\n\n")[0].split()) or None
            self.add(Tool(**{"description": told, **options, "name": name, "function": made}))
            return made

        return take if function is None else take(function)

    def declared(self) -> list[conversation.Tool]:
        """What a request declares."""
        return [tool.declared() for tool in self._tools.values()]

    def __getitem__(self, name: str) -> Tool:
        return self._tools[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._tools)

    def __len__(self) -> int:
        return len(self._tools)
