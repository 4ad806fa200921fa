"""The public names of `toolparity.normalizer.textmode`."""

from typing import TYPE_CHECKING

from ..normalizer import textmode as _home
from ..public_names import attributes_of

if TYPE_CHECKING:
    from ..normalizer.textmode import *

__all__ = _home.__all__
__getattr__ = attributes_of(_home, __name__)
