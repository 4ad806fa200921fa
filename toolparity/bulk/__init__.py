"""The public names of `toolparity.conformance.audit.bulk`."""

from typing import TYPE_CHECKING

from ..conformance.audit import bulk as _home
from ..public_names import attributes_of

if TYPE_CHECKING:
    from ..conformance.audit.bulk import *

__all__ = _home.__all__
__getattr__ = attributes_of(_home, __name__)
