"""Parameters of xAI's requests: the fields other than the messages and the tools."""

from __future__ import annotations

from typing import Any

from ...conversation import Request
from ...errors import MalformedBody
from ..parameters import Member, Number, write_parameters
from ..write_context import WriteContext
from .schema import parse_dict

#: The greatest value of the fields, which have 32 bits.
_MOST = 2**31 - 1
PARAMETERS = {
    "max_tokens": Member("max_tokens", int, most=_MOST),
    "temperature": Member("temperature", Number),
    "top_p": Member("top_p", Number),
    "stop": Member("stop", list),
    "seed": Member("seed", int, most=_MOST),
    "n": Member("n", int, most=_MOST),
    "frequency_penalty": Member("frequency_penalty", Number),
    "presence_penalty": Member("presence_penalty", Number),
    "user": Member("user", str),
    "logprobs": Member("logprobs", bool),
    "top_logprobs": Member("top_logprobs", int, most=_MOST),
}


def write_params(request: Request, context: WriteContext, body: Any) -> None:
    """Set the parameters that xAI has, and report the others as losses."""
    if context.own:
        if request.params:
            parse_dict(request.params, body)
        return
    written: dict[str, Any] = {}
    write_parameters(request, context, written)
    for name, value in written.items():
        try:
            parse_dict({name: value}, body)
        except MalformedBody:
            context.lose("param", f"{name} was left out")
