"""Write the request parameters: the body members other than model, messages and tools.

A parameter goes back unchanged to the provider it came from. Another provider gets the parameters that it supports with
the same meaning, under its own names. All others are reported as lost.
"""

from __future__ import annotations

from functools import cache
from typing import Any

from ...conversation import Request
from ..parameters import Member, Number, named_schema, write_parameters
from ..write_context import WriteContext
from .dialects import Dialect
from .schema import WIRE

#: Members that mean the same for every provider of this wire. Others may mean something else.
_ALIKE = frozenset(
    (
        *("temperature", "top_p", "stream", "stop", "n", "frequency_penalty", "presence_penalty", "user", "seed"),
        *("response_format", "stream_options", "logprobs", "top_logprobs", "logit_bias", "reasoning_effort"),
    )
)
_LIMITS = ("max_tokens", "max_completion_tokens")
_SEEDS = ("seed", "random_seed")
PARAMETERS = {
    "max_tokens": Member("max_tokens", int, also=("max_completion_tokens",)),
    "temperature": Member("temperature", Number),
    "top_p": Member("top_p", Number),
    "stop": Member("stop", list),
    "seed": Member("seed", int, also=("random_seed",)),
    "frequency_penalty": Member("frequency_penalty", Number),
    "presence_penalty": Member("presence_penalty", Number),
    "n": Member("n", int),
    "stream": Member("stream", bool),
    "user": Member("user", str),
    "logprobs": Member("logprobs", bool),
    "top_logprobs": Member("top_logprobs", int),
    "format": Member("response_format", dict),
    "effort": Member("reasoning_effort", str, owner_only=True),
    "metadata": Member("metadata", dict, owner_only=True),
    "service_tier": Member("service_tier", str, owner_only=True),
    "store": Member("store", bool, owner_only=True),
    "safety_identifier": Member("safety_identifier", str, owner_only=True),
    "prompt_cache_key": Member("prompt_cache_key", str, owner_only=True),
}


def write_params(request: Request, dialect: Dialect, context: WriteContext, body: dict[str, Any]) -> None:
    """Add the request's parameters to ``body``, as far as the dialect accepts them."""
    if request.previous_response_id is not None:
        context.lose("param", "previous_response_id: this wire has no stored history")
    if context.own:
        body.update((key, value) for key, value in request.params.items() if key not in body)
    elif request.wire != WIRE:
        write_parameters(request, context, body, _members(dialect))
        _name_schema(context, body)
    else:
        _write_alike(request, dialect, context, body)


def _name_schema(context: WriteContext, body: dict[str, Any]) -> None:
    """Give the schema of the response a name, which is required (`openai.types.shared_params`)."""
    format: dict[str, Any] = body.get("response_format") or {}
    schema = format.get("json_schema")
    if isinstance(schema, dict):
        body["response_format"] = {**format, "json_schema": named_schema(schema, context)}


def _write_alike(request: Request, dialect: Dialect, context: WriteContext, body: dict[str, Any]) -> None:
    """Add the parameters of a request for another provider of this wire."""
    for key, value in request.params.items():
        if value is None:
            continue  # None means unset
        name = dialect.limit if key in _LIMITS else dialect.seed if key in _SEEDS else key
        # If the source provider is unknown, the parameters may include the target's own.
        known = name != key or key in (*_ALIKE, *_LIMITS, *_SEEDS) or request.provider is None
        if not known or not _takes(name, value, dialect):
            if (key, value) != ("n", 1):
                context.lose("param", f"{key} was left out")
        elif body.setdefault(name, value) != value:
            context.lose("param", f"{key} was left out: another member sets {name}")


@cache
def _members(dialect: Dialect) -> dict[str, Member]:
    """Return the parameters that a dialect accepts."""
    own = {
        **PARAMETERS,
        "max_tokens": Member(dialect.limit, int),
        "seed": Member(dialect.seed, int),
        "format": Member("response_format", dict, write=None if dialect.schemas else _without_schema),
    }
    return {name: member for name, member in own.items() if _takes(member.path, None, dialect)}


def _without_schema(format: Any) -> Any:
    return None if is_schema(format) else format


def _takes(name: str, value: Any, dialect: Dialect) -> bool:
    if name in dialect.lacks or (dialect.members is not None and name not in dialect.members):
        return False
    return dialect.schemas or not (name == "response_format" and is_schema(value))


def is_schema(format: Any) -> bool:
    """Whether a ``response_format`` requires JSON that matches a schema."""
    return isinstance(format, dict) and format.get("type") == "json_schema"
