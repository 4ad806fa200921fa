"""The public names for tests of turns: those of `toolparity.normalizer.turns.testing`, and an emulated provider.

The emulated provider needs the extra `turns`, and for `xai.grpc` the extra `xai`.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from ..normalizer.turns import testing as _home

if TYPE_CHECKING:
    from ..normalizer.turns.testing import *

#: Public name -> the module of `cassettes` that defines it.
_HOMES = {
    "EmulatedProvider": "emulated.provider",
    "call": "emulated.provider",
    "scripted": "emulated.provider",
    "Hit": "scripts",
    "Refuse": "scripts",
    "Round": "scripts",
    "Say": "scripts",
    "Script": "scripts",
    "ScriptedCall": "scripts",
    "ServerCall": "scripts",
    "Think": "scripts",
}

__all__ = _home.__all__ + list(_HOMES)


def __getattr__(name: str) -> Any:
    if name in _HOMES:
        return getattr(import_module(f"toolparity.cassettes.{_HOMES[name]}"), name)
    return getattr(_home, name)
