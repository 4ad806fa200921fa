"""The public names of `toolparity.normalizer.turns`."""

from typing import TYPE_CHECKING

from ..normalizer import turns as _home
from ..public_names import attributes_of

if TYPE_CHECKING:
    from ..normalizer.turns import *

__all__ = _home.__all__
__getattr__ = attributes_of(_home, __name__)
