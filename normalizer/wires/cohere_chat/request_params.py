"""Parameters of a request: its members other than the model, the messages and the tools."""

from __future__ import annotations

from typing import Any

from ...conversation import Request
from ..write_context import WriteContext

#: The members of a request of version 2 (`cohere.V2Client.chat`).
MEMBERS = frozenset(
    (
        *("model", "messages", "stream", "tools", "strict_tools", "tool_choice", "documents", "citation_options"),
        *("response_format", "safety_mode", "max_tokens", "stop_sequences", "temperature", "seed"),
        *("frequency_penalty", "presence_penalty", "k", "p", "logprobs", "thinking", "priority"),
    )
)
#: Members of version 1 that version 2 does not have (`cohere.BaseCohere.chat`). Its reader converts the others.
_V1 = frozenset(
    (
        *("conversation_id", "prompt_truncation", "connectors", "search_queries_only", "citation_quality"),
        *("max_input_tokens", "raw_prompting", "return_prompt", "force_single_step", "num_generations"),
    )
)
#: The name here of each member of other wires that has a counterpart.
_NAMES = {
    "max_tokens": "max_tokens",
    "max_completion_tokens": "max_tokens",
    "max_output_tokens": "max_tokens",
    "stop": "stop_sequences",
    "stop_sequences": "stop_sequences",
    "top_p": "p",
    "top_k": "k",
    "temperature": "temperature",
    "seed": "seed",
    "frequency_penalty": "frequency_penalty",
    "presence_penalty": "presence_penalty",
    "response_format": "response_format",
    "stream": "stream",
}
#: Documented minimum and maximum of the parameters (API reference, and of the temperature the list of errors).
RANGES: dict[str, tuple[float, float]] = {
    "temperature": (0, 1),
    "p": (0.01, 0.99),
    "k": (0, 500),
    "frequency_penalty": (0, 1),
    "presence_penalty": (0, 1),
}
#: The API reference allows at most 5 stop sequences.
MOST_STOPS = 5


def write_params(request: Request, context: WriteContext, body: dict[str, Any]) -> None:
    """Add the parameters to ``body``, and report losses."""
    if request.previous_response_id is not None:
        context.lose("param", "previous_response_id: this wire has no stored history")
    for name, value in request.params.items():
        if context.own:
            if name in _V1:
                context.lose("param", f"{name} was left out: version 2 of the API does not have it")
            elif name not in body:
                body[name] = value
        elif value is not None and (name, value) != ("n", 1):
            _write_foreign(name, value, context, body)


def _write_foreign(name: str, value: Any, context: WriteContext, body: dict[str, Any]) -> None:
    here = _NAMES.get(name)
    if here == "response_format" and "tools" in body:
        context.lose("param", f"{name} was left out: the API does not take it beside tools")
        return
    written = None if here is None else _value(here, value, context, name)
    if here is None or written is None:
        context.lose("param", f"{name} was left out")
    elif here not in body:
        body[here] = written
    elif body[here] != written:
        context.lose("param", f"{name} was left out: another member sets {here}")


def _value(here: str, value: Any, context: WriteContext, name: str) -> Any:
    """Return the value of a parameter here; None if it has none."""
    if here == "response_format":
        return _format(value, context)
    if here == "stop_sequences":
        stops = [value] if isinstance(value, str) else value
        if isinstance(stops, list) and len(stops) > MOST_STOPS:
            context.lose("param", f"{name}: the API takes {MOST_STOPS} stop sequences; the others were left out")
            return stops[:MOST_STOPS]
        return stops if isinstance(stops, list) else None
    limits = RANGES.get(here)
    if limits is None or not isinstance(value, (int, float)):
        return value
    limited = min(max(value, limits[0]), limits[1])
    if limited != value:
        context.lose("param", f"{name}: {value} was changed to {limited}, the nearest value that the API takes")
    return limited


def _format(value: Any, context: WriteContext) -> Any:
    """Return the response format of Chat Completions in the form of this wire; None if it has none."""
    kind = value.get("type") if isinstance(value, dict) else None
    if kind != "json_schema":
        return {"type": kind} if kind in ("text", "json_object") else None
    wrapped = value["json_schema"] if isinstance(value.get("json_schema"), dict) else {}
    schema = wrapped.get("schema")
    lost = [name for name in wrapped if name != "schema"]
    if lost:
        context.lose("param", f"response_format: left out: {', '.join(lost)}")
    return {"type": "json_object", **({"json_schema": schema} if isinstance(schema, dict) else {})}
