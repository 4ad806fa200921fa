"""The public names of `toolparity.conformance.audit.bulk`."""

from typing import TYPE_CHECKING, Any

from ..conformance.audit import bulk as _home

if TYPE_CHECKING:
    from ..conformance.audit.bulk import *

__all__ = _home.__all__


def __getattr__(name: str) -> Any:
    return getattr(_home, name)
