"""One tool of the caller: its name, its parameters, and how it runs."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar, overload

from msgspec import Struct
from msgspec.structs import force_setattr

from toolparity.normalizer import conversation

from ..errors import InvalidTool
from ..option_values import FLAG, NUMBER, TEXT, Kind, unfit
from .exceptions import is_failure
from .signatures import check_function
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


def check_tool(tool: Tool) -> None:
    """Raise InvalidTool for a tool that cannot be declared, and MissingExtra if jsonschema is not installed."""
    if not tool.name:
        raise InvalidTool("a tool has no name", hint="pass name=")
    if tool.function is None and not tool.parallel:
        what = "a tool without a function runs elsewhere, so it cannot be sequential"
        raise InvalidTool(what, where=tool.name, hint="declare it parallel")
    if tool.timeout is not None and not tool.timeout > 0:
        raise InvalidTool(f"timeout must be > 0 or None, got {tool.timeout!r}", where=tool.name)
    if tool.parameters is not None:
        check_schema(tool.name, tool.parameters)


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
            check_tool(Tool.of(function))
        return function

    return mark if function is None else mark(function)


def _is_in_class(function: Callable[..., Any]) -> bool:
    """Return whether a function was defined in the body of a class."""
    return "." in getattr(function, "__qualname__", "").rpartition("<locals>.")[2]
