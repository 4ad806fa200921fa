"""The reference in the brief form: calls, text, usage, stop and errors, as adapters of other libraries return them."""

from __future__ import annotations

from typing import Any

from ...oracle.responses import COUNTS
from ..mutate import CanonicalForm
from .answers import AnswerMutant

#: What a subject in the brief form claims.
CLAIMS = frozenset(("stream", "text", "usage", "stop", "status"))
_CALL = ("id", "name", "arguments_text", "status")


#: The members of the canonical form that the brief form shows, as they are or as part of its calls and its text.
_SHOWN = frozenset(
    ("response.usage", "response.choices", "response.complete", "response.error", "error.retryable", "choice.blocks")
)
_SHOWN |= {"stop.reason", "text.text", "blocks.tool_call", "blocks.text", *(f"tool_call.{name}" for name in _CALL)}
_SHOWN |= {f"usage.{name}" for name in COUNTS}
#: A mutant that turns another block into one of these shows it, too.
_INTO = ("as-tool_call:", "as-text:")


def is_shown(mutant: AnswerMutant) -> bool:
    """Return whether the brief form can show what a mutant changes."""
    return mutant.field in _SHOWN or mutant.name.startswith(_INTO)


def brief_form(form: CanonicalForm) -> dict[str, Any]:
    """Return the brief form of an answer."""
    response = form["response"]
    blocks = [block for choice in response["choices"] for block in choice["blocks"]]
    first = response["choices"][0] if response["choices"] else None
    usage = response["usage"]
    return {
        "calls": [{name: block[name] for name in _CALL} for block in blocks if block["type"] == "tool_call"],
        "text": "".join(block["text"] for block in first["blocks"] if block["type"] == "text") if first else "",
        "usage": None if usage is None else {name: count for name, count in usage.items() if name != "raw"},
        "stop": first["stop"]["reason"] if first else ("error" if response["error"] else "unknown"),
        "complete": response["complete"],
        "failed": response["error"] is not None,
        "retryable": response["error"] and response["error"]["retryable"],
    }
