"""The public names of `toolparity.normalizer.conversations`."""

from typing import TYPE_CHECKING, Any

from ..normalizer import conversations as _home

if TYPE_CHECKING:
    from ..normalizer.conversations import *

__all__ = _home.__all__


def __getattr__(name: str) -> Any:
    return getattr(_home, name)
