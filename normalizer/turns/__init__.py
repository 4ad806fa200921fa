"""Acting on the calls: rounds, execution, approval, events. On top of the canonical form, and on nothing else.

    from toolparity.normalizer.turns import Tools, Turn
    outcome = await Turn(provider, tools, policy="all", max_rounds=4).run("What do I owe?")

In pieces: `execution.Executor` runs the calls of a selection; `machine.step` is the turn without any I/O; `turn.Turn`
drives it over a `provider.Provider`, telling an `observer.Observer` (a log) before anything happens that cannot be
undone.
"""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .backoff import Backoff
    from .execution import Executor, kept
    from .observer import Observer
    from .outcome import Outcome, Waiting
    from .outcomes import ToolFailed
    from .provider import Provider
    from .running import current_call
    from .state import TurnState
    from .tools import Fallback, Tool, Tools
    from .turn import Turn

__all__ = [
    "Turn",
    "Outcome",
    "Waiting",
    "Tools",
    "Tool",
    "Fallback",
    "ToolFailed",
    "Backoff",
    "current_call",
    "Executor",
    "kept",
    "Provider",
    "Observer",
    "TurnState",
]

#: Name -> the module that has it: loaded when it is first asked for, so that a piece costs no more than itself.
_HOMES = {
    "Turn": "turn",
    "Outcome": "outcome",
    "Waiting": "outcome",
    "Tools": "tools",
    "Tool": "tools",
    "Fallback": "tools",
    "ToolFailed": "outcomes",
    "Backoff": "backoff",
    "current_call": "running",
    "Executor": "execution",
    "kept": "execution",
    "Provider": "provider",
    "Observer": "observer",
    "TurnState": "state",
}


def __getattr__(name: str) -> Any:
    home = _HOMES.get(name)
    if home is None:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from importlib import import_module

    return globals().setdefault(name, getattr(import_module(f".{home}", __name__), name))
