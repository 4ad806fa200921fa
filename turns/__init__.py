"""Turns: run a model's tool calls round by round until it answers, on top of the normalizer's canonical form.

    from toolparity.turns import Tools, Turn
    outcome = await Turn(provider, tools, policy="all", max_rounds=4).run("What do I owe?")

`execution.Executor` runs the calls of a selection. `machine.table` is the state machine of a turn and does no I/O.
`turn.Turn` drives it over a `provider.Provider`, and notifies each `observer.Observer` (a turn log) before it does
anything that cannot be undone.
"""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .agent import Agent, Conversation
    from .backoff import Backoff
    from .decisions import Final, ToolCalls, decision
    from .events import (
        Acknowledged,
        ApprovalDecided,
        ApprovalNeeded,
        CallFinished,
        CallProgress,
        CallsKnown,
        CallStarted,
        Dropped,
        LoopSuspected,
        Noted,
        ResultNeeded,
        RoundFinished,
        RoundStarted,
        TurnBlock,
        TurnBlockDelta,
        TurnBlockReset,
        TurnBlockRevised,
        TurnBlockStart,
        TurnBlockStop,
        TurnComplete,
        TurnEvent,
        TurnFailed,
        TurnStarted,
        TurnWaiting,
    )
    from .execution.executor import Executor
    from .execution.tool import Fallback, Tool, tool
    from .execution.tool_results import ToolFailed
    from .execution.tools import Tools
    from .execution.typed.injection import CallContext, Injected, current_call
    from .machine.prices import Prices
    from .machine.state import TurnState, dump, load
    from .machine.table import step
    from .mcp.server import McpServer
    from .narration.acknowledge import GUIDANCE, ModelAcknowledger, acknowledge
    from .narration.narrating_provider import NarratingProvider
    from .narration.narrator import Narrator
    from .observer import Observer
    from .outcome import Outcome, Waiting
    from .provider import Provider
    from .request import ROUND_GUIDANCE
    from .turn import Turn

__all__ = [
    "Turn",
    "Agent",
    "Conversation",
    "Outcome",
    "Waiting",
    "decision",
    "Final",
    "ToolCalls",
    "Tools",
    "Tool",
    "tool",
    "McpServer",
    "Injected",
    "CallContext",
    "Fallback",
    "ToolFailed",
    "Backoff",
    "current_call",
    "Executor",
    "Provider",
    "Observer",
    "TurnState",
    "Prices",
    "dump",
    "load",
    "step",
    "acknowledge",
    "ModelAcknowledger",
    "GUIDANCE",
    "ROUND_GUIDANCE",
    "Narrator",
    "NarratingProvider",
    "TurnBlock",
    "TurnStarted",
    "RoundStarted",
    "TurnBlockStart",
    "TurnBlockDelta",
    "TurnBlockReset",
    "TurnBlockStop",
    "TurnBlockRevised",
    "CallsKnown",
    "Dropped",
    "LoopSuspected",
    "Noted",
    "Acknowledged",
    "ApprovalNeeded",
    "ApprovalDecided",
    "ResultNeeded",
    "CallStarted",
    "CallProgress",
    "CallFinished",
    "RoundFinished",
    "TurnWaiting",
    "TurnComplete",
    "TurnFailed",
    "TurnEvent",
]

#: Public name -> the module that defines it. `__getattr__` imports the module on first access.
_HOMES = {
    "Turn": "turn",
    "Agent": "agent",
    "Conversation": "agent",
    "Outcome": "outcome",
    "Waiting": "outcome",
    "decision": "decisions",
    "Final": "decisions",
    "ToolCalls": "decisions",
    "Tools": "execution.tools",
    "Tool": "execution.tool",
    "tool": "execution.tool",
    "McpServer": "mcp.server",
    "Injected": "execution.typed.injection",
    "CallContext": "execution.typed.injection",
    "Fallback": "execution.tool",
    "ToolFailed": "execution.tool_results",
    "Backoff": "backoff",
    "current_call": "execution.typed.injection",
    "Executor": "execution.executor",
    "Provider": "provider",
    "Observer": "observer",
    "TurnState": "machine.state",
    "Prices": "machine.prices",
    "dump": "machine.state",
    "load": "machine.state",
    "step": "machine.table",
    "acknowledge": "narration.acknowledge",
    "ModelAcknowledger": "narration.acknowledge",
    "GUIDANCE": "narration.acknowledge",
    "ROUND_GUIDANCE": "request",
    "Narrator": "narration.narrator",
    "NarratingProvider": "narration.narrating_provider",
    "TurnBlock": "events",
    "TurnStarted": "events",
    "RoundStarted": "events",
    "TurnBlockStart": "events",
    "TurnBlockDelta": "events",
    "TurnBlockReset": "events",
    "TurnBlockStop": "events",
    "TurnBlockRevised": "events",
    "CallsKnown": "events",
    "Dropped": "events",
    "LoopSuspected": "events",
    "Noted": "events",
    "Acknowledged": "events",
    "ApprovalNeeded": "events",
    "ApprovalDecided": "events",
    "ResultNeeded": "events",
    "CallStarted": "events",
    "CallProgress": "events",
    "CallFinished": "events",
    "RoundFinished": "events",
    "TurnWaiting": "events",
    "TurnComplete": "events",
    "TurnFailed": "events",
    "TurnEvent": "events",
}


def __getattr__(name: str) -> Any:
    home = _HOMES.get(name)
    if home is None:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from importlib import import_module

    return globals().setdefault(name, getattr(import_module(f".{home}", __name__), name))
