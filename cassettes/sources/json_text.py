"""JSON inside text, as logs keep values of which they need not know the form."""

from __future__ import annotations

import json
import re
from typing import Any, NamedTuple

from toolparity.normalizer import json_codec

#: A name before a value: ``response=``, ``"response":``.
_NAME = re.compile(r"""([A-Za-z_][\w.]{0,60})["']?\s{0,3}[=:]\s{0,3}\Z""")
#: How many braces of a text may begin no JSON, such as those of a pattern.
_MOST_BRACES = 16
_decode = json.JSONDecoder(strict=False).raw_decode


class TextWithObjects(NamedTuple):
    """The JSON objects in a text by the name before each, or else by its number; and the text around them."""

    objects: dict[str, dict[str, Any]]
    rest: str


def parsed(value: Any) -> Any:
    """Return the value of JSON text that is an object or a list; any other value unchanged."""
    if isinstance(value, str) and value.lstrip()[:1] in ("{", "["):
        try:
            return json_codec.decode(value)
        except (ValueError, RecursionError):
            return value
    return value


def object_of(data: bytes) -> dict[str, Any] | None:
    """Return the JSON object that bytes are, or None."""
    try:
        value = json_codec.decode(data)
    except (ValueError, RecursionError):
        return None
    return value if isinstance(value, dict) else None


def objects_in(text: str) -> TextWithObjects:
    """Find JSON objects in a line of a log, also those that are quoted: ``INFO request={…} response="{\\"…"``."""
    objects: dict[str, dict[str, Any]] = {}
    rest, end, braces = "", 0, 0
    at = text.find("{")
    while at >= 0 and braces < _MOST_BRACES:
        start = at - 1 if at > end and text[at - 1] == '"' and text.startswith("\\", at + 1) else at
        try:
            value, after = _decode(text, start)
        except (ValueError, RecursionError):
            braces += 1
            at = text.find("{", at + 1)
            continue
        value = parsed(value)
        if isinstance(value, dict) and value:
            rest += text[end:start]
            named = _NAME.search(text, max(end, start - 70), start)
            name = named[1] if named is not None and named[1] not in objects else str(len(objects) + 1)
            objects[name] = value
            end = after
        at = text.find("{", after)
    return TextWithObjects(objects, rest + text[end:])
