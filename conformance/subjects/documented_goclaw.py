"""The behaviour that the first source document describes: one tool call an answer, the rest dropped without a word.

Of OpenAI's answers (and xAI's, by the same code) the first call is taken, of Anthropic's the last one, as each block
overwrites the one before. It is the suite's own proof that it sees the problem that it was built for.
"""

from __future__ import annotations

from typing import Any

from toolparity.normalizer.model import Text

from . import Ask
from .reference import read_answer


class DocumentedGoclaw:
    """One call an answer, whatever the policy; nothing is said of the others."""

    name = "documented-goclaw"
    version = "as documented"
    claims = frozenset(("stream", "select", "text"))
    wires = None

    def read(self, ask: Ask) -> dict[str, Any]:
        """The one call that this gateway hands on."""
        response = read_answer(ask)
        blocks = response.choices[0].blocks if response.choices else []
        calls = [block for choice in response.choices for block in choice.calls if block.status == "complete"]
        if not response.complete or response.error is not None:
            calls = []
        taken = calls[-1:] if ask.wire == "anthropic.messages" else calls[:1]
        return {
            "calls": [{"id": call.id, "name": call.name, "arguments_text": call.arguments_text} for call in taken],
            "text": "".join(block.text for block in blocks if isinstance(block, Text)),
            "policy": ask.policy,
        }
