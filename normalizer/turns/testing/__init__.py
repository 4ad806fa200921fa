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
"""

from .faults import Hang, Injection, ProviderFault, Slow, ToolFault, drawn
from .provider_faults import PROVIDER_FAULTS, Break, Cut, FaultyProvider, Malformed, RefuseConnection, Status
from .tool_faults import TOOL_FAULTS, FaultyTools, IgnoreCancelling, Raise, Return, ReturnText

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
]
