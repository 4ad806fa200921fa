"""The tables of stop words."""

from __future__ import annotations

from pathlib import Path

from docs.generate import filled
from toolparity.normalizer.model import DEAD_STOPS, StopReason
from toolparity.normalizer.wires.stop_reason import CUTS
from toolparity.normalizer.wires.stop_words import PARTS, SOURCES, WORDS


def _calls(reason: StopReason) -> str:
    if reason in DEAD_STOPS:
        return f"rejected: {DEAD_STOPS[reason]}"
    if reason in CUTS:
        return "the last one is rejected where the answer was cut inside it"
    if reason in ("end_turn", "unknown"):
        return "kept; the reason becomes `tool_calls`, with a finding"
    return "kept"


def files() -> dict[Path, str]:
    """Return the page."""
    reasons: dict[StopReason, list[str]] = {}
    for word, row in WORDS.items():
        reasons.setdefault(row.reason, []).append(f"`{word}` ({', '.join(row.sources.split())})")
    rows = (f"| `{reason}` | {_calls(reason)} | {'; '.join(words)} |" for reason, words in reasons.items())
    parts = (f"`{part}` (`{reason}`)" for part, reason in PARTS.items())
    sources = (f"| {name} | {text} |" for name, text in SOURCES.items())
    blocks = {
        "reasons": "\n".join(["| reason | the client calls of the answer | words |", "|---|---|---|", *rows]),
        "parts": ", ".join(parts),
        "sources": "\n".join(["| source | what it is |", "|---|---|", *sources]),
    }
    return filled("stop-words.md", blocks)
