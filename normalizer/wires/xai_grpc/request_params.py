"""Parameters of xAI's requests: the fields other than the messages and the tools."""

from __future__ import annotations

from typing import Any

from ... import json_codec
from ...conversation import Request
from ...errors import MalformedBody
from ..parameters import Member, Number, schema_of, write_parameters
from ..write_context import WriteContext
from .schema import parse_dict

#: The greatest value of the fields, which have 32 bits.
_MOST = 2**31 - 1
_EFFORTS = frozenset(("none", "low", "medium", "high", "xhigh"))
_EFFORT, _TYPE = "EFFORT_", "FORMAT_TYPE_"


def _read_effort(word: Any) -> Any:
    return word.removeprefix(_EFFORT).lower() if isinstance(word, str) else None


def _write_effort(word: Any) -> Any:
    return _EFFORT + word.upper() if isinstance(word, str) and word in _EFFORTS else None


def _read_format(format: Any) -> Any:
    """Return ``response_format`` in the form of Chat Completions; None if it has no type."""
    kind = format.get("format_type") if isinstance(format, dict) else None
    if not isinstance(kind, str):
        return None
    read: dict[str, Any] = {"type": kind.removeprefix(_TYPE).lower()}
    if read["type"] == "json_schema":
        try:
            read["json_schema"] = {"schema": json_codec.decode(format["schema"])}
        except (KeyError, ValueError, TypeError):
            return None
    return read


def _write_format(format: Any) -> Any:
    kind, schema = format.get("type") if isinstance(format, dict) else None, schema_of(format)
    if kind == "json_schema" and isinstance(schema, dict):
        return {"format_type": f"{_TYPE}JSON_SCHEMA", "schema": json_codec.text(schema)}
    return {"format_type": f"{_TYPE}JSON_OBJECT"} if kind == "json_object" else None


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
    "effort": Member("reasoning_effort", str, owner_only=True, read=_read_effort, write=_write_effort),
    "format": Member("response_format", dict, read=_read_format, write=_write_format),
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
