"""Faults for tests of turns: a provider or a tool fails in a named way, at a position that the test chooses.

    provider = FaultyProvider(provider, {2: Cut(after=3)})            # the second request
    tools = FaultyTools(tools, {"search": Raise(), ("book", 1): Hang()})   # each call of search, the first of book
    outcome = await Turn(provider, tools).run("…")
    assert [str(each) for each in provider.injected] == ["request 2: Cut(after=3)"]

| module            | content                                                                    |
|-------------------|----------------------------------------------------------------------------|
| `faults`          | the interfaces of a fault, faults of both kinds, positions drawn by a seed |
| `provider_faults` | faults of a provider, and `FaultyProvider`                                 |
| `tool_faults`     | faults of a tool, and `FaultyTools`                                        |

An emulated provider and its scripts are public here, too. They need the extra `turns`, and for `xai.grpc` the extra
`xai`.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from .faults import Hang, Injection, ProviderFault, Slow, ToolFault, drawn
from .provider_faults import PROVIDER_FAULTS, Break, Cut, FaultyProvider, Malformed, RefuseConnection, Status
from .tool_faults import TOOL_FAULTS, FaultyTools, IgnoreCancelling, Raise, Return, ReturnText

if TYPE_CHECKING:
    from toolparity.cassettes.emulated.provider import EmulatedProvider, call, scripted
    from toolparity.cassettes.scripts import Hit, Refuse, Round, Say, Script, ScriptedCall, ServerCall, Think

#: Public name -> the module of `toolparity.cassettes`, a higher layer, that defines it.
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

__all__ = [
    "FaultyProvider",
    "FaultyTools",
    "PROVIDER_FAULTS",
    "TOOL_FAULTS",
    "ProviderFault",
    "ToolFault",
    "Injection",
    "drawn",
    "RefuseConnection",
    "Status",
    "Cut",
    "Break",
    "Malformed",
    "Slow",
    "Hang",
    "Raise",
    "Return",
    "ReturnText",
    "IgnoreCancelling",
    "EmulatedProvider",
    "call",
    "scripted",
    "Hit",
    "Refuse",
    "Round",
    "Say",
    "Script",
    "ScriptedCall",
    "ServerCall",
    "Think",
]


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return globals().setdefault(name, getattr(import_module(f"toolparity.cassettes.{_HOMES[name]}"), name))
