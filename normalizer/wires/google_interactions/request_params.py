"""Parameters of a request: its members other than the input, the system instruction and the tools.

The members of ``generation_config`` are parameters of their own in the canonical form, as they are on other wires.
"""

from __future__ import annotations

from typing import Any

from ...conversation import Request
from ..parameters import Member, Number, write_parameters
from ..write_context import WriteContext

#: The members of ``generation_config`` (`google.genai.interactions.GenerationConfig`) except for the tool choice.
GENERATION = frozenset(
    (
        "image_config",
        "max_output_tokens",
        "seed",
        "speech_config",
        "stop_sequences",
        "temperature",
        "thinking_level",
        "thinking_summaries",
        "top_p",
        "transcription_config",
        "video_config",
    )
)
#: The members of `google.genai.interactions.TextResponseFormat`.
_OF_TEXTS = frozenset(("type", "mime_type", "schema"))
_JSON = "application/json"
#: OpenAI's words for efforts are the thinking levels.
_LEVELS = frozenset(("minimal", "low", "medium", "high", "xhigh"))


def _read_format(format: Any) -> Any:
    """Return a ``response_format`` for texts in the form of Chat Completions; None for any other."""
    if not isinstance(format, dict) or format.get("type") != "text" or not format.keys() <= _OF_TEXTS:
        return None
    if format.get("mime_type") != _JSON:
        return {"type": "text"} if format.get("mime_type") in (None, "text/plain") and "schema" not in format else None
    schema = format.get("schema")
    return {"type": "json_object"} if schema is None else {"type": "json_schema", "json_schema": {"schema": schema}}


def _write_format(format: Any) -> Any:
    kind = format.get("type") if isinstance(format, dict) else None
    if kind == "json_object":
        return {"type": "text", "mime_type": _JSON}
    wrapped = format.get("json_schema") if kind == "json_schema" else None
    schema = wrapped.get("schema") if isinstance(wrapped, dict) else None
    return {"type": "text", "mime_type": _JSON, "schema": schema} if isinstance(schema, dict) else None


#: The members of ``generation_config`` under the names that `read_params` gives them.
PARAMETERS = {
    "max_tokens": Member("max_output_tokens", int),
    "temperature": Member("temperature", Number),
    "top_p": Member("top_p", Number),
    "stop": Member("stop_sequences", list),
    "seed": Member("seed", int),
    "stream": Member("stream", bool),
    "effort": Member("thinking_level", str, values=_LEVELS),
    "format": Member("response_format", dict, read=_read_format, write=_write_format),
}


def read_params(params: dict[str, Any]) -> dict[str, Any]:
    """Return the parameters of a body with the members of ``generation_config`` beside the others.

    A body that has such a member itself, where the API does not expect it, keeps its form.
    """
    config = params.get("generation_config")
    if not isinstance(config, dict) or not config or not GENERATION.isdisjoint(params):
        return params
    beside = {name: value for name, value in config.items() if name in GENERATION}
    rest = {name: value for name, value in config.items() if name not in GENERATION}
    others = {name: value for name, value in params.items() if name != "generation_config"}
    return {**others, **beside, **({"generation_config": rest} if rest else {})}


def write_params(request: Request, choice: Any, context: WriteContext, body: dict[str, Any]) -> None:
    """Add the parameters to ``body``, as far as they have an equivalent, and report the others.

    ``choice``: the tool choice on the wire; None if there is none.
    """
    if request.previous_response_id is not None:
        if context.own:
            body["previous_interaction_id"] = request.previous_response_id
        else:
            context.lose("param", "previous_response_id: another provider stores that history")
    params = request.params
    if not context.same_wire:
        write_parameters(request, context, params := {})
    config = params.get("generation_config")
    nested = isinstance(config, dict) or config is None
    generation: dict[str, Any] = dict(config) if isinstance(config, dict) else {}
    for name, value in params.items():
        if name in GENERATION and nested:
            generation[name] = value
        elif (name != "generation_config" or not nested) and name not in body:
            body[name] = value
    if choice is not None:
        generation["tool_choice"] = choice
    if generation or config == {}:
        body["generation_config"] = generation
