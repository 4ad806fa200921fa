"""The public names of `toolparity.normalizer.turns`."""

from typing import TYPE_CHECKING, Any

from ..normalizer import turns as _home

if TYPE_CHECKING:
    from ..normalizer.turns import *

__all__ = _home.__all__


def __getattr__(name: str) -> Any:
    return getattr(_home, name)
