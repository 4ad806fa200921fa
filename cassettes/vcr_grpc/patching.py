"""The patches for vcrpy's ``custom_patches``.

vcrpy gives a patch its cassette by subclassing: of a replacement that is a class with an attribute ``cassette`` that
is None it makes a subclass with the cassette in it, a new one for each use of a cassette. The replacements here are
such classes; put where a method was, they bind as one (their metaclass has ``__get__``).
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from . import asynchronous, blocking, core
from .errors import UnsupportedVersion
from .recording import Tape

#: Given the method that is replaced and the cassette, the method that stands in its place.
_Make = Callable[[Callable[..., Any], Any], Callable[..., Any]]


def _save(original: Callable[..., Any], cassette: Any) -> Callable[..., Any]:
    """Calls that still run when a cassette is saved are written first."""

    def replacement(saved: Any, *args: Any, **more: Any) -> Any:
        Tape.of(saved).close()
        return original(saved, *args, **more)

    return replacement


_unary = functools.partial(blocking.call, stream=False)
_stream = functools.partial(blocking.call, stream=True)
_aio_unary = functools.partial(asynchronous.call, stream=False)
_aio_stream = functools.partial(asynchronous.call, stream=True)

#: Class, method -> its replacement.
_TABLE: tuple[tuple[Any, str, _Make], ...] = (
    (core.UnaryUnary, "__call__", _unary),
    (core.UnaryUnary, "with_call", _unary),
    (core.UnaryUnary, "future", _unary),
    (core.UnaryStream, "__call__", _stream),
    (core.SingleThreadedUnaryStream, "__call__", _stream),
    (core.StreamUnary, "__call__", blocking.refuse),
    (core.StreamUnary, "with_call", blocking.refuse),
    (core.StreamUnary, "future", blocking.refuse),
    (core.StreamStream, "__call__", blocking.refuse),
    (core.AioUnaryUnary, "__init__", _aio_unary),
    (core.AioUnaryStream, "__init__", _aio_stream),
    (core.AioStreamUnary, "__init__", asynchronous.refuse),
    (core.AioStreamStream, "__init__", asynchronous.refuse),
    (core.Cassette, "_save", _save),
)


class _Open:
    """What vcrpy puts into the gate: a subclass with the cassette."""

    cassette: Any = None


class _Gate:
    """Learns when a cassette was closed, by being patched like everything else.

    An exception from `Cassette._save` would leave all of vcrpy's patches in place; here it leaves none.
    """

    def __init__(self) -> None:
        self.__dict__["open"] = None

    def __setattr__(self, name: str, value: Any) -> None:
        before = self.__dict__["open"]
        self.__dict__["open"] = value
        if before is not None:
            Tape.of(before.cassette).complain()


class _Method(type):
    """The class of classes that stand where a method was."""

    cassette: Any
    make: _Make
    original: Callable[..., Any]

    def __get__(cls, instance: Any, owner: Any = None) -> Callable[..., Any]:
        method = cls.make(cls.original, cls.cassette)
        return method if instance is None else functools.partial(method, instance)


def custom_patches() -> tuple[tuple[Any, str, Any], ...]:
    """For ``vcr.VCR(custom_patches=…)`` or ``use_cassette(…, custom_patches=…)``."""
    return _PATCHES


def _replacement(owner: Any, name: str, make: _Make) -> tuple[Any, str, Any]:
    # The real method, as it is when this package is first imported: a cassette inside another one replaces the outer
    # one's patches, it does not go through them (so it is with vcrpy's own).
    original = owner.__dict__.get(name)
    if original is None:
        raise UnsupportedVersion(f"{owner.__module__}.{owner.__name__} has no {name}")
    members = {"cassette": None, "make": staticmethod(make), "original": staticmethod(original)}
    return owner, name, _Method(f"{owner.__name__}.{name}", (), members)


_PATCHES = (*(_replacement(owner, name, make) for owner, name, make in _TABLE), (_Gate(), "open", _Open))
