"""The public names of `toolparity.audit.conversations`."""

from typing import TYPE_CHECKING

from ..audit import conversations as _home
from ..public_names import attributes_of

if TYPE_CHECKING:
    from ..audit.conversations import *

__all__ = _home.__all__
__getattr__ = attributes_of(_home, __name__)
