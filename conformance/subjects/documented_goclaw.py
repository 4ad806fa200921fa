"""The behaviour that the first source document describes: one tool call per response, the others dropped silently.

For OpenAI (and xAI, which shares the code) the first call is kept. For Anthropic it is the last one, because each block
overwrites the previous one. It proves that the suite detects the problem that it was built for.
"""

from __future__ import annotations

from typing import Any

from toolparity.normalizer.model import Text

from .interface import SubjectExchange
from .reference import read_answer


class DocumentedGoclaw:
    """Keeps one call per response under every policy, without a warning about the others."""

    name = "documented-goclaw"
    version = "as documented"
    claims = frozenset(("stream", "select", "text"))
    wires = None

    def read(self, exchange: SubjectExchange) -> dict[str, Any]:
        """Return the one call that this gateway passes on, and the text."""
        response = read_answer(exchange)
        blocks = response.choices[0].blocks if response.choices else []
        calls = [block for choice in response.choices for block in choice.calls if block.status == "complete"]
        if not response.complete or response.error is not None:
            calls = []
        taken = calls[-1:] if exchange.wire == "anthropic.messages" else calls[:1]
        return {
            "calls": [{"id": call.id, "name": call.name, "arguments_text": call.arguments_text} for call in taken],
            "text": "".join(block.text for block in blocks if isinstance(block, Text)),
            "policy": exchange.policy,
        }
