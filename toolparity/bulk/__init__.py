"""The public names of `toolparity.audit.bulk.functions`."""

from typing import TYPE_CHECKING

from ..audit.bulk import functions as _home
from ..public_names import attributes_of

if TYPE_CHECKING:
    from ..audit.bulk.functions import *

__all__ = _home.__all__
__getattr__ = attributes_of(_home, __name__)
