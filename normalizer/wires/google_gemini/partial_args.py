"""Arguments that are streamed one value at a time: `PartialArg`, whose path names the member that it sets or extends.

Source: `google.genai.types.PartialArg`. A path is a JSON path (RFC 9535) of names and indexes, such as
``$.stops[0].name``. A text can come in several fragments, each but the last with ``willContinue``.
"""

from __future__ import annotations

import re
from typing import Any

from ... import json_codec

#: One step of a path: ``.name``, ``['name']``, ``["name"]`` or ``[0]``.
_STEP = r"""\.([^.\[\]'"]+)|\[(\d{1,9})\]|\['((?:[^'\\]|\\.)*)'\]|\["((?:[^"\\]|\\.)*)"\]"""
_VALUES = ("stringValue", "numberValue", "boolValue")


class UnfitPartialArg(ValueError):
    """A partial argument does not fit the arguments so far: its path is not one, or leads through a plain value."""


def assembled(initial: Any, fragments: list[dict[str, Any]]) -> dict[str, Any]:
    """Return the arguments that the fragments set, in order, on top of ``initial``. Raises UnfitPartialArg."""
    arguments: dict[str, Any] = dict(initial) if isinstance(initial, dict) else {}
    paths: dict[str, list[str | int]] = {}
    begun: list[str] = []  # the fragments of a text that continues
    begun_path: str | None = None
    for fragment in [*fragments, _END]:
        path = fragment.get("jsonPath")
        if begun_path is not None and path != begun_path:
            _put(arguments, paths[begun_path], "".join(begun))
            begun_path = None
        if fragment is _END:
            break
        if not isinstance(path, str):
            raise UnfitPartialArg("a partial argument has no path")
        if path not in paths:
            paths[path] = _steps(path)
        value = _value(fragment)
        continues = fragment.get("willContinue") is True
        if begun_path is not None and isinstance(value, str):
            begun.append(value)
        elif isinstance(value, str) and continues:
            begun, begun_path = [value], path
        elif value is not None or "nullValue" in fragment:
            _put(arguments, paths[path], value)
        if begun_path is not None and not continues:
            _put(arguments, paths[begun_path], "".join(begun))
            begun_path = None
    return arguments


#: Follows the last fragment.
_END: dict[str, Any] = {}


def argument_text(initial: str, fragments: list[dict[str, Any]]) -> str:
    """Return the argument text of a call with partial arguments; their own JSON, which cannot run, if they do not fit.

    ``initial``: the text of its ``args``.
    """
    try:
        return json_codec.text(assembled(json_codec.decode(initial) if initial else None, fragments))
    except ValueError:
        return json_codec.text(fragments)


def _value(fragment: dict[str, Any]) -> Any:
    for name in _VALUES:
        value = fragment.get(name)
        if value is not None:
            return value
    return None


def _steps(path: str) -> list[str | int]:
    steps: list[str | int] = []
    at = 1
    while at < len(path):
        match = re.compile(_STEP).match(path, at)
        if match is None:
            break
        name, index, single, double = match.groups()
        quoted = double if single is None else single
        steps.append(int(index) if index else name if quoted is None else re.sub(r"\\(.)", r"\1", quoted))
        at = match.end()
    if not path.startswith("$") or at < len(path) or not steps:
        raise UnfitPartialArg(f"{path!r} is not a path of names and indexes")
    return steps


def _put(arguments: dict[str, Any], steps: list[str | int], value: Any) -> None:
    holder: Any = arguments
    for step, following in zip(steps, [*steps[1:], None], strict=True):
        _check(holder, step)
        if following is None:
            _set(holder, step, value)
            return
        inner = _member(holder, step)
        if inner is None:
            inner = [] if isinstance(following, int) else {}
            _set(holder, step, inner)
        holder = inner


def _check(holder: Any, step: str | int) -> None:
    """Raise UnfitPartialArg unless the holder can have the member. A list only grows by its next index."""
    fits = isinstance(holder, list) and step <= len(holder) if isinstance(step, int) else isinstance(holder, dict)
    if not fits:
        raise UnfitPartialArg(f"a {type(holder).__name__} has no member {step!r}")


def _member(holder: Any, step: Any) -> Any:
    if isinstance(holder, list):
        return holder[step] if step < len(holder) else None
    return holder.get(step)


def _set(holder: Any, step: Any, value: Any) -> None:
    if isinstance(holder, list) and step == len(holder):
        holder.append(value)
    else:
        holder[step] = value
