"""Parameters of a Converse request: its members other than the system prompt, the messages and the tools."""

from __future__ import annotations

from typing import Any

from msgspec.structs import replace

from ...conversation import Request
from ..model_owners import report_foreign_model
from ..parameters import Member, Number, write_parameters
from ..write_context import WriteContext
from .schema import WIRE

PARAMETERS = {
    "max_tokens": Member("inferenceConfig.maxTokens", int),
    "temperature": Member("inferenceConfig.temperature", Number, most=1),
    "top_p": Member("inferenceConfig.topP", Number),
    "stop": Member("inferenceConfig.stopSequences", list),
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
