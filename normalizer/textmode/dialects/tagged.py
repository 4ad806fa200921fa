"""What the dialects share that write each parameter as a tag of its own."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ... import json_codec
from ..bodies import Site
from ..dialect import WrittenCall
from ..parameters import Grammar, Parameters
from ..tags import Hit
from ..values import Tools

#: Under this name a call goes back whose arguments are no JSON object.
RAW = "_raw"


def body_of(grammar: Grammar) -> Callable[[Site, Hit, Tools], Parameters]:
    """The reader of a call's inside."""

    def body(site: Site, hit: Hit, tools: Tools) -> Parameters:
        return Parameters(site, grammar, hit.name, tools, hit.wrapped, hit.more == "/")

    return body


def given(call: WrittenCall) -> dict[str, Any]:
    """The parameters of a call to be written."""
    return {RAW: call.text} if call.arguments is None else call.arguments


def spelled(value: Any) -> str:
    """A value as the text of its tag: words as they are, all else as JSON."""
    return value if isinstance(value, str) else json_codec.text(value)


def laid_out(text: str) -> str:
    """A value of several lines stands on lines of its own, so that nothing of it is taken for layout."""
    return f"\n{text}\n" if "\n" in text or text != text.strip() else text
