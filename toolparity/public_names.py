"""The public names of a package under a shorter name."""

from __future__ import annotations

from collections.abc import Callable
from types import ModuleType
from typing import Any


def attributes_of(home: ModuleType, name: str) -> Callable[[str], Any]:
    """Return ``__getattr__`` for the module ``name``, with the public names of ``home`` and no other attribute of it.

    Else an imported subpackage of ``home`` would be found in place of the module of that name here.
    """

    def get(attribute: str) -> Any:
        if attribute not in home.__all__:
            raise AttributeError(f"module {name!r} has no attribute {attribute!r}", name=attribute)
        return getattr(home, attribute)

    return get
