"""Facts about client calls that all wires share: their kinds, texts without arguments, and assigned ids."""

from __future__ import annotations

import re

#: Kinds of calls whose tools a request declares by name.
BY_NAME = frozenset(("function", "custom", "legacy_function"))
#: Argument texts of a call without arguments.
NO_ARGUMENTS = frozenset(("", "{}", "null"))
#: The ids that `CallBuilder` assigns to calls without one.
_synthetic_form = re.compile(r"call_[0-9a-f]{8}_\d+_\d+x*").fullmatch


def is_synthetic(id: str) -> bool:
    """Report whether an id has the form of those that `CallBuilder` assigns to calls without one."""
    return id.startswith("call_") and _synthetic_form(id) is not None


def position_of(id: str) -> str:
    """Return an id without the digest of its response if `CallBuilder` assigned it: the position of the call."""
    return f"call{id[13:]}" if is_synthetic(id) else id
