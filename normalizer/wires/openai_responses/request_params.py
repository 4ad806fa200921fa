"""Parameters of a Responses request: its members other than the input and the tools."""

from __future__ import annotations

from typing import Any

from ...conversation import Request
from ..registry import is_wire, spec
from ..write_context import WriteContext, merged

#: The smallest accepted ``max_output_tokens``.
SMALLEST_LIMIT = 16
#: Body member of another wire -> member with the same meaning here.
_RENAMED = {
    "temperature": "temperature",
    "top_p": "top_p",
    "stream": "stream",
    "metadata": "metadata",
    "service_tier": "service_tier",
    "max_tokens": "max_output_tokens",
    "max_completion_tokens": "max_output_tokens",
    "store": "store",
    "user": "user",
    "safety_identifier": "safety_identifier",
    "prompt_cache_key": "prompt_cache_key",
}
#: Members that refer to objects that only one provider stores.
_STORED = ("conversation", "prompt")
#: Members whose values other owners define differently, so only those of the owner's other wires are taken.
_OWNER_ONLY = frozenset(("metadata", "service_tier", "store", "user", "safety_identifier", "prompt_cache_key"))


def write_params(request: Request, context: WriteContext, body: dict[str, Any]) -> dict[str, Any]:
    """Return the body with the parameters of the request, as far as they have an equivalent; report the others."""
    if request.previous_response_id is not None:
        if context.own:
            body["previous_response_id"] = request.previous_response_id
        else:
            context.lose("param", "previous_response_id: another provider stores that history")
    if context.own:
        return merged(body, request.params)
    if context.same_wire:
        stored = [name for name in _STORED if request.params.get(name) is not None]
        for name in stored:
            context.lose("param", f"{name}: another provider stores it")
        return merged(body, request.params, *stored)
    _add_foreign(request, context, body)
    return body


def _add_foreign(request: Request, context: WriteContext, body: dict[str, Any]) -> None:
    """Add the parameters of another wire that have an equivalent here; report the others as lost."""
    same_owner = is_wire(request.wire) and spec(request.wire).owner == spec(context.wire).owner
    for name, value in request.params.items():
        target = _RENAMED.get(name)
        if target is not None and (same_owner or name not in _OWNER_ONLY):
            converted = value
            if target == "max_output_tokens" and isinstance(value, int) and value < SMALLEST_LIMIT:
                context.lose("param", f"{name}: {value} was raised to the minimum, {SMALLEST_LIMIT}")
                converted = SMALLEST_LIMIT
            if body.setdefault(target, converted) != converted:
                context.lose("param", f"{name} was left out: another member sets {target}")
        elif same_owner and name == "reasoning_effort":
            body["reasoning"] = {"effort": value}
        elif same_owner and name == "response_format" and isinstance(value, dict):
            schema = value.get("json_schema")
            rest = {k: v for k, v in value.items() if k != "json_schema"}
            body["text"] = {"format": {**rest, **(schema if isinstance(schema, dict) else {})}}
        else:
            context.lose("param", f"{name} was left out")
