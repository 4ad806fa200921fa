"""Parameters of a Converse request: its members other than the system prompt, the messages and the tools."""

from __future__ import annotations

from typing import Any

from msgspec.structs import replace

from ... import json_codec
from ...conversation import Request
from ..model_owners import report_foreign_model
from ..parameters import Member, Number, schema_of, write_parameters
from ..write_context import WriteContext
from .schema import WIRE


def _read_format(format: Any) -> Any:
    """Return ``outputConfig.textFormat`` in the form of Chat Completions; None if it has no schema."""
    structure = format.get("structure") if isinstance(format, dict) else None
    named = structure.get("jsonSchema") if isinstance(structure, dict) else None
    if not isinstance(named, dict) or not isinstance(named.get("schema"), str):
        return None
    try:
        schema = json_codec.decode(named["schema"])
    except ValueError:
        return None
    return {"type": "json_schema", "json_schema": {**named, "schema": schema}}


def _write_format(format: Any) -> Any:
    schema = schema_of(format)
    if not isinstance(schema, dict):
        return None
    members = {name: format["json_schema"].get(name) for name in ("name", "description")}
    named = {name: value for name, value in members.items() if isinstance(value, str)}
    return {"type": "json_schema", "structure": {"jsonSchema": {"schema": json_codec.text(schema), **named}}}


PARAMETERS = {
    "max_tokens": Member("inferenceConfig.maxTokens", int),
    "temperature": Member("inferenceConfig.temperature", Number, most=1),
    "top_p": Member("inferenceConfig.topP", Number),
    "stop": Member("inferenceConfig.stopSequences", list),
    "format": Member("outputConfig.textFormat", dict, read=_read_format, write=_write_format),
}


def write_params(request: Request, context: WriteContext) -> dict[str, Any]:
    """Return the parameters for a body, and report losses."""
    if request.previous_response_id is not None:
        context.lose("param", f"previous_response_id: {request.previous_response_id} is stored by another provider")
    report_foreign_model(request, context)
    if request.wire == WIRE:
        return dict(request.params)
    written: dict[str, Any] = {}
    # The operation decides whether a response is streamed: Converse or ConverseStream.
    params = {name: value for name, value in request.params.items() if name != "stream"}
    write_parameters(replace(request, params=params), context, written)
    return written
