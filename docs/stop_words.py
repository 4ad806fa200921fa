"""Writes the page of stop words from their table: ``python docs/stop_words.py > docs/stop-words.md``."""

from __future__ import annotations

import sys

from toolparity.normalizer.model import DEAD_STOPS, StopReason
from toolparity.normalizer.wires.stop_reason import CUTS
from toolparity.normalizer.wires.stop_words import PARTS, SOURCES, WORDS

HEAD = """\
# Stop words

The words by which providers say why an answer ended, and the `stop.reason` that each one gives. A word has its meaning
on every wire, whichever provider sends it. Upper case, camel case, hyphens and the prefix of an enum
(`FINISH_REASON_`, `FinishReason.`) make no difference, and `stop.raw` keeps the word as it came. This page is written
by `python docs/stop_words.py > docs/stop-words.md`; the table is `WORDS` in `normalizer/wires/stop_words.py`.

| reason | the client calls of the answer | words |
|---|---|---|
"""
PARTS_HEAD = """
A word that the table does not list gives a `stop-unknown` finding. Where it contains one of these words, it has the
meaning of that word: {parts}. Any other unlisted word means nothing, and the calls in the answer count.

A word of two parts (`content_filter: PROHIBITED_CONTENT`, from Gemini's OpenAI endpoint) has the more severe
meaning. If OpenRouter's `native_finish_reason` names a failure or a cut and `finish_reason` does not, the native word
counts.

## Sources

| source | what it is |
|---|---|
"""


def _calls(reason: StopReason) -> str:
    if reason in DEAD_STOPS:
        return f"rejected: {DEAD_STOPS[reason]}"
    if reason in CUTS:
        return "the last one is rejected where the answer was cut inside it"
    if reason in ("end_turn", "unknown"):
        return "kept; the reason becomes `tool_calls`, with a finding"
    return "kept"


def page() -> str:
    """The page: one row a reason, then the words inside words, then the sources."""
    reasons: dict[StopReason, list[str]] = {}
    for word, row in WORDS.items():
        reasons.setdefault(row.reason, []).append(f"`{word}` ({', '.join(row.sources.split())})")
    rows = (f"| `{reason}` | {_calls(reason)} | {'; '.join(words)} |\n" for reason, words in reasons.items())
    parts = ", ".join(f"`{part}` (`{reason}`)" for part, reason in PARTS.items())
    sources = (f"| {name} | {text} |\n" for name, text in SOURCES.items())
    return HEAD + "".join(rows) + PARTS_HEAD.format(parts=parts) + "".join(sources)


if __name__ == "__main__":
    sys.stdout.buffer.write(page().encode())
