"""Parameters of a generateContent request: its members other than contents, system instruction and tools."""

from __future__ import annotations

from typing import Any

from msgspec.structs import replace

from ...conversation import Request
from ..model_owners import report_foreign_model
from ..parameters import Member, Number, write_parameters
from ..write_context import WriteContext
from .schema import WIRE
from .tools import json_schema

#: The thinking levels, which are OpenAI's words for efforts in capital letters (`google.genai.types.ThinkingLevel`).
_LEVELS = frozenset(("minimal", "low", "medium", "high", "xhigh"))
#: The MIME types of responses that are texts, and their formats.
_FORMATS = {"application/json": "json_object", "text/plain": "text"}


def _read_format(value: Any) -> Any:
    """Return the format of a response with this schema or MIME type; None if it is another one."""
    if isinstance(value, dict) and value:
        return {"type": "json_schema", "json_schema": {"schema": json_schema(value)}}
    kind = "json_object" if value == {} else _FORMATS.get(value) if isinstance(value, str) else None
    return None if kind is None else {"type": kind}


def _write_format(format: Any) -> Any:
    """Return the schema of a response in JSON, which is empty for any JSON; None for another format."""
    kind = format.get("type") if isinstance(format, dict) else None
    if kind == "json_object":
        return {}
    wrapped = format.get("json_schema") if kind == "json_schema" else None
    return wrapped.get("schema") if isinstance(wrapped, dict) else None


def _read_thinking(config: Any) -> Any:
    """Return the effort of a ``thinkingConfig`` that has nothing but a level."""
    level = config.get("thinkingLevel") if isinstance(config, dict) and len(config) == 1 else None
    return level.lower() if isinstance(level, str) else None


def _write_thinking(effort: Any) -> Any:
    return {"thinkingLevel": effort.upper()} if isinstance(effort, str) and effort in _LEVELS else None


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
    "logprobs": Member("generationConfig.responseLogprobs", bool),
    "top_logprobs": Member("generationConfig.logprobs", int),
    "format": Member(
        "generationConfig.responseJsonSchema",
        dict,
        also=("generationConfig.responseSchema", "generationConfig.responseMimeType"),
        read=_read_format,
        write=_write_format,
    ),
    # Models before Gemini 3 refuse a level, so that only requests for Google have one.
    "effort": Member(
        "generationConfig.thinkingConfig", dict, owner_only=True, read=_read_thinking, write=_write_thinking
    ),
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
    config = written.get("generationConfig", {})
    if "responseJsonSchema" in config:
        config["responseMimeType"] = "application/json"  # required beside a schema
        if not config["responseJsonSchema"]:
            del config["responseJsonSchema"]
    return written
