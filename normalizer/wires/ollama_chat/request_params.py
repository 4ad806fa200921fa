"""Parameters of a request: its members other than model, messages and tools.

Sampling parameters are members of ``options``. A server streams unless ``stream`` is false.
"""

from __future__ import annotations

from typing import Any

from ...conversation import Request
from ..model_owners import report_foreign_model
from ..write_context import WriteContext

#: Parameters of other wires, and the option with the same meaning (`Options` in `api/types.go`).
_OPTIONS = {
    "temperature": "temperature",
    "top_p": "top_p",
    "top_k": "top_k",
    "min_p": "min_p",
    "seed": "seed",
    "random_seed": "seed",
    "frequency_penalty": "frequency_penalty",
    "presence_penalty": "presence_penalty",
    "stop": "stop",
    "stop_sequences": "stop",
    "max_tokens": "num_predict",
    "max_completion_tokens": "num_predict",
    "max_output_tokens": "num_predict",
}
#: Options whose value is not a number.
_LISTS = frozenset(("stop",))


def write_params(request: Request, context: WriteContext) -> dict[str, Any]:
    """Return the parameters for a body, and report losses."""
    report_foreign_model(request, context)
    if request.previous_response_id is not None:
        context.lose("param", "previous_response_id: this wire has no stored history")
    if context.own:
        return dict(request.params)
    written = _foreign_params(request.params, context)
    # Elsewhere, a request without ``stream`` is for a plain response. One that is made by code is for neither.
    return {"stream": False, **written} if request.wire else written


def _foreign_params(params: dict[str, Any], context: WriteContext) -> dict[str, Any]:
    """Convert the parameters of another wire's request, and report those without a counterpart as losses."""
    written: dict[str, Any] = {}
    options: dict[str, Any] = {}
    for name, given in params.items():
        if given is None or (name, given) == ("n", 1):
            continue
        option = _OPTIONS.get(name)
        value = [given] if option in _LISTS and isinstance(given, str) else given
        if option is None or not _is_valid(option, value):
            if not _write_other(name, given, written, context):
                context.lose("param", f"{name} was left out")
        elif options.setdefault(option, value) != value:
            context.lose("param", f"{name} was left out: another member sets {option}")
    return {**written, "options": options} if options else written


def _is_valid(option: str, value: Any) -> bool:
    if option in _LISTS:
        return isinstance(value, list) and all(isinstance(item, str) for item in value)
    return isinstance(value, (int, float)) and not isinstance(value, bool)


def _write_other(name: str, value: Any, written: dict[str, Any], context: WriteContext) -> bool:
    """Write a parameter that is not an option. Return False if the wire does not have it."""
    if name == "response_format" and isinstance(value, dict):
        schema = value.get("json_schema")
        if value.get("type") == "json_object":
            written["format"] = "json"
        elif isinstance(schema, dict) and isinstance(schema.get("schema"), dict):
            written["format"] = schema["schema"]
            if rest := sorted(schema.keys() - {"schema"}):
                context.lose("param", f"response_format: {', '.join(rest)} of the schema left out")
        else:
            return value == {"type": "text"}
        return True
    if (name in ("logprobs", "stream") and isinstance(value, bool)) or (name == "top_logprobs" and value in range(21)):
        written[name] = value
        return True
    return False
