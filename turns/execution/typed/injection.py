"""Objects that a tool's function receives besides the arguments of its call. The model does not see them.

def refund(order: int, shop: Injected[Shop], call: CallContext) -> Receipt: ...

Turn(provider, [refund], inject=Shop())
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextvars import ContextVar
from typing import Annotated, Any, TypeVar, get_args, get_origin

from msgspec import Struct

from ...errors import InvalidTool

_T = TypeVar("_T")


class CallContext(Struct, frozen=True):
    """Information for a tool about its call. A parameter of this type receives it, and so does `current_call.get()`,
    also in the tool's thread.

    ``key``: the same each time this call runs, for use as an idempotency key. ``progress(data)`` reports progress
    (`call_progress`).
    """

    call_id: str
    name: str
    key: str
    turn: str
    round: int
    progress: Callable[[Any], None]


#: The call that runs in the current context. `current_call.get()` raises LookupError outside of a tool.
current_call: ContextVar[CallContext] = ContextVar("toolparity_call")


class _Marker(Struct, frozen=True):
    """Metadata of an annotation whose parameter receives the object that the caller injects."""


_MARKER = _Marker()
#: The annotation of a parameter that receives the object passed as ``Turn(…, inject=…)``.
Injected = Annotated[_T, _MARKER]


class Injections(Struct, frozen=True):
    """The parameters of one function that receive no arguments. ``contexts``: names of those that receive the
    `CallContext`. ``objects``: name of each `Injected` parameter -> its type.
    """

    contexts: tuple[str, ...] = ()
    objects: dict[str, Any] = {}

    @property
    def names(self) -> frozenset[str]:
        """The names of all these parameters."""
        return frozenset((*self.contexts, *self.objects))

    def check(self, tool: str, injected: Any) -> None:
        """Raises InvalidTool if the object cannot be passed to the `Injected` parameters of the tool's function."""
        for name, type in self.objects.items():
            if not _fits(injected, type):
                what = f"its parameter {name!r} is {_described(type)}, and inject= is {injected!r:.100}"
                raise InvalidTool(what, where=tool, hint="pass the object to the turn or executor as inject=")

    def values(self, injected: Any, context: CallContext) -> Mapping[str, Any]:
        """Return the keyword arguments for these parameters."""
        return {**dict.fromkeys(self.contexts, context), **dict.fromkeys(self.objects, injected)}


def injections(annotations: Mapping[str, Any]) -> Injections:
    """Return the injections among the parameters of a function, given their evaluated annotations."""
    contexts = tuple(name for name, annotation in annotations.items() if annotation is CallContext)
    objects = {
        name: get_args(annotation)[0]
        for name, annotation in annotations.items()
        if get_origin(annotation) is Annotated and _MARKER in get_args(annotation)[1:]
    }
    return Injections(contexts, objects)


def _fits(injected: Any, type: Any) -> bool:
    try:
        return isinstance(injected, get_origin(type) or type)
    except TypeError:  # a type that isinstance does not support, such as Any or a protocol
        return True


def _described(type: Any) -> str:
    return getattr(type, "__qualname__", None) or str(type)
