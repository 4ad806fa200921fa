"""Rules of the providers for tool definitions, one module per provider, and the table of their targets.

    rules_of("openai.chat")                            OpenAI
    rules_of("openai.chat", "xai")                     xAI, which serves the same wire
    rules_of("google.gemini/parameters")               Gemini's older member for schemas

Rules exist also for wires that the registry of the normalizer does not have yet.
"""

from __future__ import annotations

from ...errors import UnknownWire
from . import anthropic, cohere, google, ollama, openai, xai
from .model import ToolRules

#: Name of each target -> its rules. A provider without an entry on a wire has the rules of the wire's owner.
TARGETS: dict[str, ToolRules] = {
    rules.target: rules
    for rules in (
        openai.CHAT,
        openai.RESPONSES,
        anthropic.MESSAGES,
        xai.GRPC,
        xai.CHAT,
        xai.RESPONSES,
        google.GEMINI,
        google.PARAMETERS,
        google.INTERACTIONS,
        anthropic.CONVERSE,
        ollama.CHAT,
        cohere.CHAT,
    )
}


def rules_of(wire: str, dialect: str = "") -> ToolRules:
    """Return the rules of a wire in a dialect, or of a target's name. Raises UnknownWire for a wire without rules."""
    found = TARGETS.get(f"{wire}/{dialect}") or TARGETS.get(wire)
    if found is None:
        raise UnknownWire(f"no rules for the tools of {wire!r}", hint=f"one of {', '.join(TARGETS)}")
    return found
