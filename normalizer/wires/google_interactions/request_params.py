"""Parameters of a request: its members other than the input, the system instruction and the tools.

The members of ``generation_config`` are parameters of their own in the canonical form, as they are on other wires.
"""

from __future__ import annotations

from typing import Any

from ...conversation import Request
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
#: Parameter of another wire -> parameter with the same meaning here.
_RENAMED = {
    "stream": "stream",
    "temperature": "temperature",
    "top_p": "top_p",
    "seed": "seed",
    "random_seed": "seed",
    "stop": "stop_sequences",
    "stop_sequences": "stop_sequences",
    "max_tokens": "max_output_tokens",
    "max_completion_tokens": "max_output_tokens",
    "max_output_tokens": "max_output_tokens",
    "reasoning_effort": "thinking_level",
}
#: The thinking levels, which OpenAI's efforts are named like.
_LEVELS = frozenset(("minimal", "low", "medium", "high", "xhigh"))


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
    params = request.params if context.same_wire else _foreign(request.params, context)
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


def _foreign(params: dict[str, Any], context: WriteContext) -> dict[str, Any]:
    written: dict[str, Any] = {}
    for name, value in params.items():
        if value is None or (name, value) == ("n", 1):
            continue
        target = _RENAMED.get(name)
        converted = [value] if name == "stop" and isinstance(value, str) else value
        if target is None or (name == "reasoning_effort" and value not in _LEVELS):
            context.lose("param", f"{name} was left out")
        elif written.setdefault(target, converted) != converted:
            context.lose("param", f"{name} was left out: another member sets {target}")
    return written
