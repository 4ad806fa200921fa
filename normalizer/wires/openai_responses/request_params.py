"""Parameters of a Responses request: its members other than the input and the tools."""

from __future__ import annotations

from typing import Any

from ...conversation import Request
from ..parameters import Member, Number, named_schema, write_parameters
from ..write_context import WriteContext, merged

#: The smallest accepted ``max_output_tokens``.
SMALLEST_LIMIT = 16


def _read_format(format: Any) -> Any:
    """Return ``text.format`` in the form of Chat Completions, which has the members of a schema one level deeper."""
    if not isinstance(format, dict) or format.get("type") != "json_schema":
        return format
    return {"type": "json_schema", "json_schema": {key: value for key, value in format.items() if key != "type"}}


def _write_format(format: Any) -> Any:
    schema = format.get("json_schema") if isinstance(format, dict) else None
    if not isinstance(schema, dict):
        return format
    return {**{key: value for key, value in format.items() if key != "json_schema"}, **schema}


PARAMETERS = {
    "max_tokens": Member("max_output_tokens", int, least=SMALLEST_LIMIT),
    "temperature": Member("temperature", Number),
    "top_p": Member("top_p", Number),
    "top_logprobs": Member("top_logprobs", int),
    "stream": Member("stream", bool),
    "effort": Member("reasoning.effort", str, owner_only=True),
    "format": Member("text.format", dict, read=_read_format, write=_write_format),
    "metadata": Member("metadata", dict, owner_only=True),
    "service_tier": Member("service_tier", str, owner_only=True),
    "store": Member("store", bool, owner_only=True),
    "user": Member("user", str, owner_only=True),
    "safety_identifier": Member("safety_identifier", str, owner_only=True),
    "prompt_cache_key": Member("prompt_cache_key", str, owner_only=True),
}
#: Members that refer to objects that only one provider stores.
_STORED = ("conversation", "prompt")


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
    write_parameters(request, context, body)
    format = body.get("text", {}).get("format", {})
    if format.get("type") == "json_schema":
        body["text"] = {"format": named_schema(format, context)}
    return body
