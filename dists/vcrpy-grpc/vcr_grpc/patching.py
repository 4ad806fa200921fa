"""The patches for vcrpy's ``custom_patches``.

vcrpy passes the cassette to a patch by subclassing: if a replacement is a class whose attribute ``cassette`` is None,
it creates a subclass that holds the cassette, once per use of a cassette. The replacements here are such classes. Their
metaclass defines ``__get__``, so they bind like the methods they replace.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from . import asynchronous, asynchronous_streams, blocking, blocking_streams, core
from .errors import UnsupportedVersion
from .recording import GrpcCassette

#: Takes the replaced method and the cassette, returns the replacement.
_Make = Callable[[Callable[..., Any], Any], Callable[..., Any]]


def _save(original: Callable[..., Any], cassette: Any) -> Callable[..., Any]:
    """Replace `Cassette._save`: write the calls that are still running before the cassette is saved."""

    def replacement(saved: Any, *args: Any, **more: Any) -> Any:
        GrpcCassette.of(saved).close()
        return original(saved, *args, **more)

    return replacement


_unary = functools.partial(blocking.call, stream=False)
_stream = functools.partial(blocking.call, stream=True)
_aio_unary = functools.partial(asynchronous.call, stream=False)
_aio_stream = functools.partial(asynchronous.call, stream=True)
_requests_unary = functools.partial(blocking_streams.call, stream=False)
_requests_stream = functools.partial(blocking_streams.call, stream=True)
_aio_requests_unary = functools.partial(asynchronous_streams.call, stream=False)
_aio_requests_stream = functools.partial(asynchronous_streams.call, stream=True)

#: (class, method, factory of its replacement)
_TABLE: tuple[tuple[Any, str, _Make], ...] = (
    (core.UnaryUnary, "__call__", _unary),
    (core.UnaryUnary, "with_call", _unary),
    (core.UnaryUnary, "future", _unary),
    (core.UnaryStream, "__call__", _stream),
    (core.SingleThreadedUnaryStream, "__call__", _stream),
    (core.StreamUnary, "__call__", _requests_unary),
    (core.StreamUnary, "with_call", _requests_unary),
    (core.StreamUnary, "future", _requests_unary),
    (core.StreamStream, "__call__", _requests_stream),
    (core.AioUnaryUnary, "__init__", _aio_unary),
    (core.AioUnaryStream, "__init__", _aio_stream),
    (core.AioStreamUnary, "__init__", _aio_requests_unary),
    (core.AioStreamStream, "__init__", _aio_requests_stream),
    (core.Cassette, "_save", _save),
)


class _Open:
    """The class that vcrpy subclasses with the cassette and assigns to the gate."""

    cassette: Any = None


class _Gate:
    """Detects the end of a cassette, by being patched like everything else, and then raises pending exceptions.

    An exception from `Cassette._save` would leave all of vcrpy's patches in place; here it leaves none.
    """

    def __init__(self) -> None:
        self.__dict__["open"] = None

    def __setattr__(self, name: str, value: Any) -> None:
        before = self.__dict__["open"]
        self.__dict__["open"] = value
        if before is not None:
            GrpcCassette.of(before.cassette).complain()


class _Method(type):
    """Metaclass of the classes that replace methods."""

    cassette: Any
    make: _Make
    original: Callable[..., Any]

    def __get__(cls, instance: Any, owner: Any = None) -> Callable[..., Any]:
        method = cls.make(cls.original, cls.cassette)
        return method if instance is None else functools.partial(method, instance)


def custom_patches() -> tuple[tuple[Any, str, Any], ...]:
    """Return the value for ``vcr.VCR(custom_patches=…)`` or ``use_cassette(…, custom_patches=…)``."""
    return _PATCHES


def call_patches() -> tuple[tuple[Any, str, Any], ...]:
    """Return the patches of the calls alone, for a cassette class that raises `GrpcCassette.refusals` itself."""
    return _METHODS


def _replacement(owner: Any, name: str, make: _Make) -> tuple[Any, str, Any]:
    # Take the method as it is when this package is first imported. So a cassette inside another one replaces the outer
    # one's patches instead of calling them, as with vcrpy's own patches.
    original = owner.__dict__.get(name)
    if original is None:
        raise UnsupportedVersion(f"{owner.__module__}.{owner.__name__} has no {name}")
    members = {"cassette": None, "make": staticmethod(make), "original": staticmethod(original)}
    return owner, name, _Method(f"{owner.__name__}.{name}", (), members)


_METHODS = tuple(_replacement(owner, name, make) for owner, name, make in _TABLE)
_PATCHES = (*_METHODS, (_Gate(), "open", _Open))
