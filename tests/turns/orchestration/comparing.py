"""The same question answered in one round and in several: facts found, answer, and cost."""

from __future__ import annotations

from msgspec import Struct

from toolparity.cassettes.scripts import Script
from toolparity.turns.execution.tools import Tools
from toolparity.turns.orchestration import ContextBuilder, Coordinator, Limits
from toolparity.turns.orchestration.assembler import Orchestrated

from .staging import Sequenced, assert_answered, directed


class Compared(Struct, frozen=True):
    """The result of one configuration. ``found``: facts by call; ``asked``: estimated tokens of all its requests."""

    result: Orchestrated
    found: dict[str, str]
    requests: int
    asked: int


def compared(wire: str, script: Script, tools: Tools, *settings: tuple[Limits, ContextBuilder]) -> list[Compared]:
    """Play the script under each configuration, with the same tools."""
    comparisons = []
    for limits, context in settings:
        provider = Sequenced(wire, script)
        coordinator = Coordinator(provider, tools, limits=limits, context=context)
        directed(coordinator)
        assert_answered(coordinator)
        result = coordinator.orchestrated
        asked = sum(context.weight(provider.asked(number)) for number in range(len(provider.bodies)))
        comparisons.append(Compared(result, result.session.discovered_facts, len(provider.bodies), asked))
    return comparisons
