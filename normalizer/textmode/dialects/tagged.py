"""Helpers for dialects with one tag per parameter."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ... import json_codec
from ..dialect import WrittenCall
from ..parsers.call_parser import Site
from ..parsers.coercion import Tools
from ..parsers.xml_calls import Grammar, Parameters
from ..tags import Hit

#: Name of the parameter that holds the argument text of a call whose arguments are not a JSON object.
RAW = "_raw"


def body_of(grammar: Grammar) -> Callable[[Site, Hit, Tools], Parameters]:
    """Return the factory of call parsers for a grammar."""

    def body(site: Site, hit: Hit, tools: Tools) -> Parameters:
        return Parameters(site, grammar, hit.name, tools, hit.wrapped, hit.more == "/")

    return body


def given(call: WrittenCall) -> dict[str, Any]:
    """Return the parameters of a call to be written, by name."""
    return {RAW: call.text} if call.arguments is None else call.arguments


def spelled(value: Any) -> str:
    """Return a value as the text of its tag: a string unchanged, any other value as JSON."""
    return value if isinstance(value, str) else json_codec.text(value)


def laid_out(text: str) -> str:
    """Add layout line breaks around a value with line breaks or outer white space, so that parsing keeps these."""
    return f"\n{text}\n" if "\n" in text or text != text.strip() else text
