"""A summary of a model's answer for routing: a final text or tool calls.

JSON: ``{"type": "final", "text"}`` or ``{"type": "tool_calls", "calls": [{"toolName", "arguments"}],
"acknowledgement"}``. It does not decide which calls may run. That is the task of a selection (`policies`).
"""

from __future__ import annotations

from typing import Any

from msgspec import UNSET, Struct, UnsetType

from toolparity.normalizer.errors import PolicyError
from toolparity.normalizer.model import Refusal, Response


class Final(Struct, frozen=True, tag="final", tag_field="type", rename="camel"):
    """An answer without calls. ``text``: the answer, or the refusal."""

    text: str


class Called(Struct, frozen=True, rename="camel"):
    """One call. ``arguments``: None if the argument text is not a JSON object."""

    tool_name: str
    arguments: dict[str, Any] | None


class ToolCalls(Struct, frozen=True, tag="tool_calls", tag_field="type", rename="camel"):
    """An answer with calls, in call order. ``acknowledgement``: the text besides the calls, if any."""

    calls: list[Called]
    acknowledgement: str | UnsetType = UNSET


Decision = Final | ToolCalls


def decision(response: Response, *, choice: int = 0) -> Decision:
    """Summarize a choice of a response. Raises PolicyError if it does not exist, or the response failed or is cut."""
    chosen = next((candidate for candidate in response.choices if candidate.index == choice), None)
    if chosen is None or response.error is not None or not response.complete:
        raise PolicyError("no decision in this response: it failed, broke off, or has no such choice")
    if chosen.calls:
        calls = [Called(call.name, call.arguments) for call in chosen.calls]
        return ToolCalls(calls, chosen.text.strip() or UNSET)
    return Final(chosen.text or "".join(block.text for block in chosen.blocks if isinstance(block, Refusal)))
