"""Helpers for dialects with one tag per parameter."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ... import json_codec
from ..dialect import WrittenCall
from ..parsers.call_parser import CallSink
from ..parsers.coercion import ToolSchemas
from ..parsers.xml_calls import Grammar, XmlCall
from ..tags import TagMatch

#: Name of the parameter that holds the argument text of a call whose arguments are not a JSON object.
RAW = "_raw"


def parser_of(grammar: Grammar) -> Callable[[CallSink, TagMatch, ToolSchemas], XmlCall]:
    """Return the factory of call parsers for a grammar."""

    def parser(sink: CallSink, hit: TagMatch, tools: ToolSchemas) -> XmlCall:
        return XmlCall(sink, grammar, hit.name, tools, hit.wrapped, hit.more == "/")

    return parser


def parameters_of(call: WrittenCall) -> dict[str, Any]:
    """Return the parameters of a call to be written, by name."""
    return {RAW: call.text} if call.arguments is None else call.arguments


def value_text(value: Any) -> str:
    """Return a value as the text of its tag: a string unchanged, any other value as JSON."""
    return value if isinstance(value, str) else json_codec.text(value)


def with_layout(text: str) -> str:
    """Add layout line breaks around a value with line breaks or outer white space, so that parsing keeps these."""
    return f"\n{text}\n" if "\n" in text or text != text.strip() else text
