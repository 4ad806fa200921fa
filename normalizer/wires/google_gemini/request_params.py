"""Parameters of a generateContent request: its members other than contents, system instruction and tools.

The parameters that other wires have too are members of the canonical request under their names there; all other
members of ``generationConfig`` stay in it.
"""

from __future__ import annotations

from typing import Any

from ...conversation import Request
from ..model_owners import report_foreign_model
from ..traverse import members_except
from ..write_context import WriteContext
from .schema import WIRE

#: Members of ``generationConfig`` -> parameters of the canonical request.
_SHARED = {
    "temperature": "temperature",
    "topP": "top_p",
    "maxOutputTokens": "max_output_tokens",
    "stopSequences": "stop",
}
_LIMITS = ("max_output_tokens", "max_completion_tokens", "max_tokens")
#: Parameters of other wires -> members of ``generationConfig`` with the same meaning.
_ALIKE = {
    "temperature": "temperature",
    "top_p": "topP",
    "top_k": "topK",
    "seed": "seed",
    "presence_penalty": "presencePenalty",
    "frequency_penalty": "frequencyPenalty",
    "n": "candidateCount",
}
_NUMBERS = (int, float)


def read_params(body: dict[str, Any], *represented: str) -> dict[str, Any]:
    """Return the parameters of a request body. ``represented``: the members that other fields hold."""
    config = body.get("generationConfig")
    params = members_except(body, *represented, "generationConfig")
    if not isinstance(config, dict):
        return params if config is None else {**params, "generationConfig": config}
    shared = {name: config[member] for member, name in _SHARED.items() if config.get(member) is not None}
    rest = members_except(config, *_SHARED)
    if rest or not shared:
        params["generationConfig"] = rest
    return {**shared, **params}


def write_params(request: Request, context: WriteContext) -> dict[str, Any]:
    """Return the parameters for a body, and report losses."""
    if request.previous_response_id is not None:
        context.lose("param", f"previous_response_id: {request.previous_response_id} is stored by another provider")
    report_foreign_model(request, context)
    if request.wire != WIRE:
        return _foreign_params(request.params, context)
    params = members_except(request.params, *_SHARED.values())
    shared = {m: request.params[name] for m, name in _SHARED.items() if request.params.get(name) is not None}
    config = params.get("generationConfig")
    if shared:
        params["generationConfig"] = {**shared, **config} if isinstance(config, dict) else shared
    return params


def _foreign_params(params: dict[str, Any], context: WriteContext) -> dict[str, Any]:
    """Convert the parameters of another wire's request, and report those without a counterpart as losses."""
    config: dict[str, Any] = {}
    limits = {name: params[name] for name in _LIMITS if isinstance(params.get(name), int)}
    if limits:
        config["maxOutputTokens"] = next(iter(limits.values()))
    for name, limit in limits.items():
        if limit != config["maxOutputTokens"]:
            context.lose("param", f"{name} was left out: another member sets maxOutputTokens")
    for name, value in params.items():
        if value is None or name in limits:
            continue
        if name in _ALIKE and isinstance(value, _NUMBERS):
            config[_ALIKE[name]] = value
        elif name in ("stop", "stop_sequences") and isinstance(value, (str, list)):
            config["stopSequences"] = [value] if isinstance(value, str) else value
        elif name == "stream":
            if value:
                context.lose("param", "stream was left out: the method in the address requests a stream")
        else:
            context.lose("param", f"{name} was left out")
    return {"generationConfig": config} if config else {}
