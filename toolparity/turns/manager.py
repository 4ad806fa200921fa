"""The public names of `toolparity.normalizer.turns.manager`. Needs the extra `server`."""

from typing import TYPE_CHECKING, Any

from ..normalizer.turns import manager as _home

if TYPE_CHECKING:
    from ..normalizer.turns.manager import *

__all__ = _home.__all__


def __getattr__(name: str) -> Any:
    return getattr(_home, name)
