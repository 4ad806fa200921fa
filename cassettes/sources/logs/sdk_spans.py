"""Spans as SDKs send them to their own servers, with the input and the output of a step under two members.

    {"span_id", "span_attributes": {"type": "llm"}, "input": […], "output": […]}                           Braintrust
    {"span_id", "meta": {"span": {"kind": "llm"}, "input": {"messages"}, "output": {"messages"}}}          Datadog
    {"object": "trace.span", "span_data": {"type": "generation", "input": […], "output": […]}}             Agents SDK
    {"trace_id", "project_name", "type": "llm", "input": {"messages"}, "output": {"choices"}}              Opik

Only steps of a model hold an exchange.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

from ...errors import UnreadableSource
from ..entries import mapping, word
from ..json_text import parsed
from ..model import Exchange
from . import conversion


class _Notation(NamedTuple):
    """The members of a span, the one that holds input and output (or none), and the path of its kind in a span."""

    members: tuple[str, ...]
    holder: str | None
    kind: tuple[str, ...]


_NOTATIONS = (
    _Notation(("span_id", "span_attributes"), None, ("span_attributes", "type")),
    _Notation(("span_id", "meta", "start_ns"), "meta", ("meta", "span", "kind")),
    _Notation(("object", "span_data"), "span_data", ("span_data", "type")),
    _Notation(("trace_id", "project_name", "type", "start_time"), None, ("type",)),
)
_MODEL = frozenset(("llm", "generation", "response"))
#: The object that the Agents SDK sends before the spans of a trace.
_TRACE = "trace"


def claims(item: dict[str, Any]) -> bool:
    """Return whether a JSON object is a span of one of these SDKs."""
    return _notation(item) is not None or (item.get("object") == _TRACE and "workflow_name" in item)


def exchanges(source: str, line: int | None, item: dict[str, Any]) -> Iterator[Exchange]:
    """Yield the exchange of a step of a model.

    Raises UnreadableSource if the object is not a span, and if a step of a model has no output.
    """
    notation = _notation(item)
    if notation is None:
        if claims(item):
            return
        raise UnreadableSource("not a span: it lacks the members of every SDK")
    kind = _at(item, notation.kind)
    if kind is None or word(kind, "the kind of a span") not in _MODEL:
        return
    held = item if notation.holder is None else mapping(item[notation.holder], notation.holder)
    response = parsed(held.get("output"))
    failed = item.get("error") or item.get("error_info") or item.get("status") == "error"
    if response in (None, "", [], {}):
        if failed:
            return
        raise UnreadableSource("a span of a model without its messages", hint="let the SDK record inputs and outputs")
    more = held.get("metadata")
    metadata = more if isinstance(more, dict) else {}
    yield conversion.exchange(
        source,
        line,
        format="sdk-spans",
        request=held.get("input"),
        response=response,
        model=held.get("model") or held.get("model_name") or metadata.get("model"),
        provider=held.get("model_provider") or metadata.get("provider"),
        finish=metadata.get("finish_reason"),
    )


def _notation(item: dict[str, Any]) -> _Notation | None:
    return next((one for one in _NOTATIONS if all(name in item for name in one.members)), None)


def _at(item: dict[str, Any], path: tuple[str, ...]) -> Any:
    for name in path[:-1]:
        item = mapping(item.get(name), name)
    return item.get(path[-1])
