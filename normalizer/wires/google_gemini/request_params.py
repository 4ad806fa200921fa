"""Parameters of a generateContent request: its members other than contents, system instruction and tools."""

from __future__ import annotations

from typing import Any

from msgspec.structs import replace

from ...conversation import Request
from ..model_owners import report_foreign_model
from ..parameters import Member, Number, write_parameters
from ..write_context import WriteContext
from .schema import WIRE

PARAMETERS = {
    "max_tokens": Member("generationConfig.maxOutputTokens", int),
    "temperature": Member("generationConfig.temperature", Number),
    "top_p": Member("generationConfig.topP", Number),
    "top_k": Member("generationConfig.topK", Number),
    "seed": Member("generationConfig.seed", int),
    "presence_penalty": Member("generationConfig.presencePenalty", Number),
    "frequency_penalty": Member("generationConfig.frequencyPenalty", Number),
    "stop": Member("generationConfig.stopSequences", list),
    "n": Member("generationConfig.candidateCount", int),
}


def write_params(request: Request, context: WriteContext) -> dict[str, Any]:
    """Return the parameters for a body, and report losses."""
    if request.previous_response_id is not None:
        context.lose("param", f"previous_response_id: {request.previous_response_id} is stored by another provider")
    report_foreign_model(request, context)
    if request.wire == WIRE:
        return dict(request.params)
    written: dict[str, Any] = {}
    # The method in the address decides whether a response is streamed.
    params = {name: value for name, value in request.params.items() if name != "stream"}
    write_parameters(replace(request, params=params), context, written)
    return written
