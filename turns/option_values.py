"""Checks of the values of options, so that an invalid one is reported where it is passed, not during a turn."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from msgspec import Struct


class Kind(Struct, frozen=True):
    """The values that an option may have. ``what``: their description."""

    types: tuple[Any, ...]
    what: str

    def accepts(self, value: Any) -> bool:
        """Return whether a value is of this kind. True and False are not numbers."""
        return isinstance(value, self.types) and (bool in self.types or not isinstance(value, bool))


NUMBER = Kind((int, float), "a number")
INTEGER = Kind((int,), "an integer")
FLAG = Kind((bool,), "a bool")
TEXT = Kind((str,), "text")


def unfit(name: str, value: Any, kind: Kind, *, optional: bool = True) -> str | None:
    """Return why the value of an option is invalid, None if it is valid. ``optional``: whether it may be None."""
    if kind.accepts(value) or (optional and value is None):
        return None
    return f"{name} must be {kind.what}{' or None' if optional else ''}, got {value!r:.100}"


def unknown(name: str, value: Any, allowed: Iterable[str]) -> str | None:
    """Return why the value of an option is not one of the allowed names, None if it is."""
    names = list(allowed)
    return None if value in names else f"{name} must be one of {', '.join(map(repr, names))}, got {value!r:.100}"
