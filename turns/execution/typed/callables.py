"""Inspection of a callable: its signature, its evaluated annotations, and the function that has its docstring."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any, get_type_hints

from ...errors import InvalidTool


def signature_of(function: Callable[..., Any]) -> inspect.Signature | None:
    """Return the signature of a callable, None for a builtin that has none."""
    try:
        return inspect.signature(function)
    except (ValueError, TypeError):
        return None


def is_generator(function: Callable[..., Any]) -> bool:
    """Return whether a callable is a generator function, also an asynchronous one, a partial or an object."""
    return any(
        is_kind(candidate)
        for candidate in (function, type(function).__call__)
        for is_kind in (inspect.isgeneratorfunction, inspect.isasyncgenfunction)
    )


def documented(function: Callable[..., Any]) -> Callable[..., Any]:
    """Return the function whose docstring describes a callable: for a partial, that of the function inside."""
    while isinstance(function, functools.partial):
        function = function.func
    return function


def annotation_of(tool: str, function: Callable[..., Any], parameter: inspect.Parameter) -> Any:
    """Return the evaluated annotation of a parameter, with its metadata.

    Raises InvalidTool, with the name of the ``tool``, if it has none or cannot be evaluated.
    """
    if parameter.annotation is parameter.empty:
        what = f"its parameter {parameter.name!r} has no type annotation"
        hint = "annotate it (Any allows every value), or pass parameters= with the JSON schema"
        raise InvalidTool(what, where=tool, hint=hint)
    holder = SimpleNamespace(__annotations__={parameter.name: parameter.annotation})
    try:
        return get_type_hints(holder, _globals(function), include_extras=True)[parameter.name]
    except Exception as error:
        what = f"the annotation of its parameter {parameter.name!r} cannot be evaluated: {error}"
        raise InvalidTool(what, where=tool, hint="define or import its names at the top of the module") from None


def _globals(function: Callable[..., Any]) -> dict[str, Any]:
    """Return the namespace in which the annotations of a callable were written."""
    function = inspect.unwrap(documented(function))
    if not hasattr(function, "__globals__"):  # a callable object
        function = inspect.unwrap(type(function).__call__)
    names: dict[str, Any] = getattr(function, "__globals__", {})
    return names
