"""Parameters of a request: its members other than model, messages and tools.

Sampling parameters are members of ``options`` (`Options` in Ollama's `api/types.go`). A server streams unless
``stream`` is false.
"""

from __future__ import annotations

from typing import Any

from ...conversation import Request
from ..model_owners import report_foreign_model
from ..parameters import Member, Number, write_parameters
from ..write_context import WriteContext


def _read_format(format: Any) -> Any:
    """Return ``format`` in the form of Chat Completions; None if it is neither "json" nor a schema."""
    if format == "json":
        return {"type": "json_object"}
    return {"type": "json_schema", "json_schema": {"schema": format}} if isinstance(format, dict) else None


def _write_format(format: Any) -> Any:
    schema = format.get("json_schema") if isinstance(format, dict) else None
    if isinstance(schema, dict) and isinstance(schema.get("schema"), dict):
        return schema["schema"]
    return "json" if isinstance(format, dict) and format.get("type") == "json_object" else None


PARAMETERS = {
    "max_tokens": Member("options.num_predict", int),
    "temperature": Member("options.temperature", Number),
    "top_p": Member("options.top_p", Number),
    "top_k": Member("options.top_k", int),
    "min_p": Member("options.min_p", Number),
    "seed": Member("options.seed", int),
    "frequency_penalty": Member("options.frequency_penalty", Number),
    "presence_penalty": Member("options.presence_penalty", Number),
    "stop": Member("options.stop", list),
    "stream": Member("stream", bool),
    "format": Member("format", (str, dict), read=_read_format, write=_write_format),
    "logprobs": Member("logprobs", bool),
    "top_logprobs": Member("top_logprobs", int, least=0, most=20),
}


def write_params(request: Request, context: WriteContext) -> dict[str, Any]:
    """Return the parameters for a body, and report losses."""
    report_foreign_model(request, context)
    if request.previous_response_id is not None:
        context.lose("param", "previous_response_id: this wire has no stored history")
    if context.own:
        return dict(request.params)
    written: dict[str, Any] = {}
    write_parameters(request, context, written)
    # Elsewhere, a request without ``stream`` is for a plain response. One that is made by code is for neither.
    return {"stream": False, **written} if request.wire else written
