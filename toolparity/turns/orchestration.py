"""The public names of `toolparity.normalizer.turns.orchestration`."""

from typing import TYPE_CHECKING, Any

from ..normalizer.turns import orchestration as _home

if TYPE_CHECKING:
    from ..normalizer.turns.orchestration import *

__all__ = _home.__all__


def __getattr__(name: str) -> Any:
    return getattr(_home, name)
