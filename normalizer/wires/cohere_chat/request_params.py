"""Parameters of a request: its members other than the model, the messages and the tools."""

from __future__ import annotations

from typing import Any

from ...conversation import Request
from ..parameters import Member, Number, write_parameters
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


def _read_format(format: Any) -> Any:
    """Return ``response_format`` in the form of Chat Completions, which wraps a schema."""
    if not isinstance(format, dict) or not isinstance(format.get("json_schema"), dict):
        return format
    return {"type": "json_schema", "json_schema": {"schema": format["json_schema"]}}


def _write_format(format: Any) -> Any:
    """Return the response format in the form of this wire; None if it has none."""
    kind = format.get("type") if isinstance(format, dict) else None
    if kind != "json_schema":
        return {"type": kind} if kind in ("text", "json_object") else None
    wrapped = format["json_schema"] if isinstance(format.get("json_schema"), dict) else {}
    schema = wrapped.get("schema")
    return {"type": "json_object", **({"json_schema": schema} if isinstance(schema, dict) else {})}


#: The ranges are those of the API reference, which also allows at most 5 stop sequences.
PARAMETERS = {
    "max_tokens": Member("max_tokens", int),
    "temperature": Member("temperature", Number),
    "top_p": Member("p", Number, least=0.01, most=0.99),
    "top_k": Member("k", int, least=0, most=500),
    "seed": Member("seed", int),
    "frequency_penalty": Member("frequency_penalty", Number, least=0, most=1),
    "presence_penalty": Member("presence_penalty", Number, least=0, most=1),
    "stop": Member("stop_sequences", list, longest=5),
    "stream": Member("stream", bool),
    "logprobs": Member("logprobs", bool),
    "format": Member("response_format", dict, read=_read_format, write=_write_format),
}


def write_params(request: Request, context: WriteContext, body: dict[str, Any]) -> None:
    """Add the parameters to ``body``, and report losses."""
    if request.previous_response_id is not None:
        context.lose("param", "previous_response_id: this wire has no stored history")
    if not context.own:
        taken = {name: member for name, member in PARAMETERS.items() if name != "format" or "tools" not in body}
        write_parameters(request, context, body, taken)  # the API does not take a response format beside tools
        return
    for name, value in request.params.items():
        if name in _V1:
            context.lose("param", f"{name} was left out: version 2 of the API does not have it")
        elif name not in body:
            body[name] = value
