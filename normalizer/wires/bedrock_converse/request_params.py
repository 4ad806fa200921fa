"""Parameters of a Converse request: its members other than the system prompt, the messages and the tools.

The members of ``inferenceConfig`` have counterparts on all wires. In the canonical request they have the names that
most wires use, so that a request keeps them when it goes to another wire.
"""

from __future__ import annotations

from typing import Any

from ...conversation import Request
from ..model_owners import report_foreign_model
from ..write_context import WriteContext
from .schema import WIRE

_CONFIG = "inferenceConfig"
#: Member of `inferenceConfig` -> canonical name, and the type of its value.
_ALIKE: dict[str, tuple[str, type | tuple[type, ...]]] = {
    "maxTokens": ("max_tokens", int),
    "temperature": ("temperature", (int, float)),
    "topP": ("top_p", (int, float)),
    "stopSequences": ("stop", list),
}
_LIMITS = ("max_tokens", "max_completion_tokens", "max_output_tokens")


def read_params(members: dict[str, Any]) -> dict[str, Any]:
    """Return the parameters in the other members of a body."""
    config = members.get(_CONFIG)
    if not isinstance(config, dict):
        return members
    params: dict[str, Any] = {}
    rest: dict[str, Any] = {}
    for name, value in config.items():
        alike, kind = _ALIKE.get(name, ("", ()))
        if alike and isinstance(value, kind) and alike not in members:
            params[alike] = value
        elif value is not None:
            rest[name] = value
    others = {name: value for name, value in members.items() if name != _CONFIG}
    return {**params, **({_CONFIG: rest} if rest else {}), **others}


def write_params(request: Request, context: WriteContext) -> dict[str, Any]:
    """Return the parameters for a body, and report losses."""
    if request.previous_response_id is not None:
        context.lose("param", f"previous_response_id: {request.previous_response_id} is stored by another provider")
    report_foreign_model(request, context)
    params = request.params
    config: dict[str, Any] = {}
    written: dict[str, Any] = {}
    for name in _LIMITS:
        if isinstance(limit := params.get(name), int) and config.setdefault("maxTokens", limit) != limit:
            context.lose("param", f"{name} was left out: another member sets the limit")
    for name, value in params.items():
        if value is None or (name in _LIMITS and isinstance(value, int)) or (name == "n" and value == 1):
            continue
        if name == "temperature" and isinstance(value, (int, float)):
            config["temperature"] = min(value, 1)
            if value > 1:
                context.lose("param", f"temperature: {value} was reduced to the maximum, 1")
        elif name == "top_p":
            config["topP"] = value
        elif name == "stop" and isinstance(value, (str, list)):
            config["stopSequences"] = [value] if isinstance(value, str) else value
        elif name == _CONFIG and isinstance(value, dict) and request.wire == WIRE:
            config.update({member: held for member, held in value.items() if member not in config})
        elif request.wire == WIRE:
            written[name] = value
        elif name == "stream":
            context.lose("param", "stream was left out: the operation decides it, Converse or ConverseStream")
        else:
            context.lose("param", f"{name} was left out")
    return {_CONFIG: config, **written} if config else written
