"""The same question, in one round and in several: what was found, what was answered, and what it cost."""

from __future__ import annotations

from msgspec import Struct

from toolparity.cassettes.scripts import Script
from toolparity.normalizer.turns.execution.tools import Tools
from toolparity.normalizer.turns.orchestration import ContextBuilder, Coordinator, Limits
from toolparity.normalizer.turns.orchestration.assembler import Orchestrated

from .staging import Sequenced, assert_answered, directed


class Compared(Struct, frozen=True):
    """One way of answering. ``found``: facts by call; ``asked``: tokens of all its requests, as the context counts."""

    done: Orchestrated
    found: dict[str, str]
    requests: int
    asked: int


def compared(wire: str, script: Script, tools: Tools, *ways: tuple[Limits, ContextBuilder]) -> list[Compared]:
    """The script played in each way, with the same tools."""
    made = []
    for limits, context in ways:
        provider = Sequenced(wire, script)
        coordinator = Coordinator(provider, tools, limits=limits, context=context)
        directed(coordinator)
        assert_answered(coordinator)
        done = coordinator.orchestrated
        asked = sum(context.weight(provider.asked(number)) for number in range(len(provider.bodies)))
        made.append(Compared(done, done.session.discovered_facts, len(provider.bodies), asked))
    return made
