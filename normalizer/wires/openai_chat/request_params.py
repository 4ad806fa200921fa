"""Write the request parameters: the body members other than model, messages and tools.

A parameter goes back unchanged to the provider it came from. Another provider gets the parameters that it supports with
the same meaning, under its own names. All others are reported as lost.
"""

from __future__ import annotations

from typing import Any

from ...conversation import Request
from ..write_context import WriteContext
from .dialects import Dialect
from .schema import WIRE

#: Members that mean the same on every wire that has them.
_EVERYWHERE = frozenset(
    ("temperature", "top_p", "stream", "stop", "n", "frequency_penalty", "presence_penalty", "user", "seed")
)
#: Members that mean the same for every provider of this wire.
_HERE = _EVERYWHERE | {
    "response_format",
    "stream_options",
    "logprobs",
    "top_logprobs",
    "logit_bias",
    "reasoning_effort",
}
_RENAMED = {
    "max_tokens": "limit",
    "max_output_tokens": "limit",
    "max_completion_tokens": "limit",
    "seed": "seed",
    "random_seed": "seed",
}


def write_params(request: Request, dialect: Dialect, context: WriteContext, body: dict[str, Any]) -> None:
    """Add the request's parameters to ``body``, as far as the dialect accepts them."""
    if request.previous_response_id is not None:
        context.lose("param", "previous_response_id: this wire has no stored history")
    if context.own:
        body.update((key, value) for key, value in request.params.items() if key not in body)
        return
    for key, value in request.params.items():
        if value is None:
            continue  # None means unset
        name = _name(key, request, dialect)
        if name is None or not _takes(name, value, dialect):
            if (key, value) != ("n", 1):
                context.lose("param", f"{key} was left out")
        elif name not in body:
            body[name] = value
        elif body[name] != value:
            context.lose("param", f"{key} was left out: another member sets {name}")


def _name(key: str, request: Request, dialect: Dialect) -> str | None:
    """Return the parameter's name at the target; None if it may have another meaning there."""
    if key in _RENAMED:
        return dialect.limit if _RENAMED[key] == "limit" else dialect.seed
    if request.wire != WIRE:
        return "stop" if key == "stop_sequences" else key if key in _EVERYWHERE else None
    # If the source provider is unknown, the parameters may include the target's own.
    return key if key in _HERE or request.provider is None else None


def _takes(name: str, value: Any, dialect: Dialect) -> bool:
    if name in dialect.lacks or (dialect.members is not None and name not in dialect.members):
        return False
    return dialect.schemas or not (name == "response_format" and is_schema(value))


def is_schema(format: Any) -> bool:
    """Whether a ``response_format`` requires JSON that matches a schema."""
    return isinstance(format, dict) and format.get("type") == "json_schema"
