"""The public names of `toolparity.normalizer.schemas`."""

from typing import TYPE_CHECKING, Any

from ..normalizer import schemas as _home

if TYPE_CHECKING:
    from ..normalizer.schemas import *

__all__ = _home.__all__


def __getattr__(name: str) -> Any:
    return getattr(_home, name)
