"""The public names of `toolparity.normalizer.textmode`."""

from typing import TYPE_CHECKING, Any

from ..normalizer import textmode as _home

if TYPE_CHECKING:
    from ..normalizer.textmode import *

__all__ = _home.__all__


def __getattr__(name: str) -> Any:
    return getattr(_home, name)
