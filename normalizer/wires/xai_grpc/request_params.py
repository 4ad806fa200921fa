"""Parameters of xAI's requests: the fields other than the messages and the tools."""

from __future__ import annotations

from typing import Any

from ...conversation import Request
from ..write_context import WriteContext
from .schema import parse_dict

#: Parameters of other wires, and the field of xAI's request with the same meaning.
_RENAMED = {
    "temperature": "temperature",
    "top_p": "top_p",
    "max_tokens": "max_tokens",
    "max_completion_tokens": "max_tokens",
    "max_output_tokens": "max_tokens",
    "stop": "stop",
    "stop_sequences": "stop",
    "seed": "seed",
    "n": "n",
    "frequency_penalty": "frequency_penalty",
    "presence_penalty": "presence_penalty",
    "user": "user",
}


def write_params(request: Request, context: WriteContext, body: Any) -> None:
    """Set the parameters that xAI has, and report the others as losses."""
    if context.own:
        if request.params:
            parse_dict(request.params, body)
        return
    written: dict[str, Any] = {}
    for name, value in request.params.items():
        target = _RENAMED.get(name)
        if value is None:
            continue
        if target in written and written[target] != value:
            context.lose("param", f"{name} was left out: another member sets {target}")
        elif not _set(body, target, value):
            context.lose("param", f"{name} was left out")
        elif target is not None:
            written[target] = value


def _set(body: Any, target: str | None, value: Any) -> bool:
    """Set a field, and report whether that succeeded."""
    if target is None:
        return False
    try:
        if target == "stop":
            body.stop.extend([value] if isinstance(value, str) else value)
        else:
            setattr(body, target, value)
    except (TypeError, ValueError, OverflowError):
        return False
    return True
