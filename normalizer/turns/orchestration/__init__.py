"""Orchestrated turns: limits, circuit breakers, fallback tools, recovery and briefings around the turn machine.

    from toolparity.normalizer.turns.orchestration import ContextBuilder, Coordinator, Limits
    orchestrated = await Coordinator(provider, tools, limits=Limits(rounds=4)).run("…")

| part                       | module        | what it does                                              |
|----------------------------|---------------|-----------------------------------------------------------|
| query coordinator          | `coordinator` | enforces `limits`, chooses the level of recovery          |
| reasoning engine           | `engine`      | sends a request if its breaker and the time limit allow   |
| tool execution dispatcher  | `dispatcher`  | applies breakers and fallbacks to each call               |
| context synthesizer        | `context`     | fits a request into a token budget (`memory`)             |
| response assembler         | `assembler`   | adds a note on uncertainty to the answer                  |

`notes` are what a turn reports of its phases and recoveries. `recording` records a turn and replays it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .assembler import Orchestrated
    from .breakers import Breakers
    from .context import Built, ContextBuilder
    from .coordinator import Coordinator
    from .limits import Limits
    from .memory import Session, session_of
    from .recording import RecordingObserver, record, replay

__all__ = [
    "Coordinator",
    "Limits",
    "Orchestrated",
    "Breakers",
    "ContextBuilder",
    "Built",
    "Session",
    "session_of",
    "record",
    "RecordingObserver",
    "replay",
]

_HOMES = {
    "Coordinator": "coordinator",
    "Limits": "limits",
    "Orchestrated": "assembler",
    "Breakers": "breakers",
    "ContextBuilder": "context",
    "Built": "context",
    "Session": "memory",
    "session_of": "memory",
    "record": "recording",
    "RecordingObserver": "recording",
    "replay": "recording",
}


def __getattr__(name: str) -> Any:
    home = _HOMES.get(name)
    if home is None:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from importlib import import_module

    return globals().setdefault(name, getattr(import_module(f".{home}", __name__), name))
