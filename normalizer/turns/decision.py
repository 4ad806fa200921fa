"""A summary of a model's answer for routing: a final text or tool calls.

JSON: ``{"type": "final", "text"}`` or ``{"type": "tool_calls", "calls": [{"toolName", "arguments"}],
"acknowledgement"}``. It does not decide which calls may run. That is the task of a selection (`policies`).
"""

from __future__ import annotations

from typing import Any

from msgspec import UNSET, Struct, UnsetType

from ..errors import PolicyError
from ..model import Choice, Refusal, Response


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
    found = next((one for one in response.choices if one.index == choice), None)
    if found is None or response.error is not None or not response.complete:
        raise PolicyError("the response decides nothing: it failed, broke off, or has no such choice")
    if not found.calls:
        return Final(found.text or _refusal(found))
    calls = [Called(call.name, call.arguments) for call in found.calls]
    return ToolCalls(calls, found.text.strip() or UNSET)


def _refusal(choice: Choice) -> str:
    return "".join(block.text for block in choice.blocks if isinstance(block, Refusal))
