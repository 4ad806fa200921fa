"""The spelling of member names: the API accepts both `camelCase` and `snake_case`, and this package uses the first."""

from __future__ import annotations

import re
from typing import Any

from ... import json_codec
from ...errors import MalformedBody
from ..traverse import member

#: Members that show a response in `snake_case`, as the dictionaries of the Python SDK are (``model_dump``).
_SHOWN = re.compile(
    rb'"(?:finish_reason|function_call|thought_signature|executable_code|usage_metadata|model_version|prompt_feedback)"'
)
#: Members whose values are not messages of the API: arguments, results, schemas and maps of the caller's own names.
_VERBATIM = frozenset(
    (
        "args",
        "labels",
        "parameters",
        "parametersJsonSchema",
        "partMetadata",
        "response",
        "responseJsonSchema",
        "responseSchema",
    )
)
#: Members that the SDK adds to a response.
_ADDED = ("sdkHttpResponse", "parsed", "automaticFunctionCallingHistory")
_STANDARD = str.maketrans("-_", "+/")
_SNAKE = r"_+([a-zA-Z0-9])"


def camel_case(value: Any) -> Any:
    """Return a JSON value of the API with all member names in `camelCase`; the same object if it has no others.

    Raises MalformedBody if it is nested too deeply.
    """
    try:
        return _camel_members(value)
    except RecursionError:
        raise MalformedBody("the request is nested too deeply", body=value) from None


def camel_bytes(data: bytes) -> bytes:
    """Return the bytes of a response with all member names in `camelCase`; the same object if it has no others."""
    if _SHOWN.search(data) is None:
        return data
    try:
        value = json_codec.decode(data)
        spelled = camel_case(value)
    except (ValueError, RecursionError, MalformedBody):
        return data  # the reader of the schema reports what is wrong
    if spelled is value:
        return data
    for name in _ADDED:
        spelled.pop(name, None)
    use_standard_base64(spelled)
    return json_codec.bytes_of(spelled)


def use_standard_base64(body: Any) -> None:
    """Write signatures and data of a response as the service does; the SDK has the alphabet for addresses."""
    for candidate in listed(member(body, "candidates")):
        for part in listed(member(member(candidate, "content"), "parts")):
            for holder, name in ((part, "thoughtSignature"), (member(part, "inlineData"), "data")):
                if isinstance(text := member(holder, name), str):
                    holder[name] = text.translate(_STANDARD)


def _camel_members(value: Any) -> Any:
    if isinstance(value, dict):
        changed = False
        members: dict[str, Any] = {}
        for name, member in value.items():
            camel = _camel(name)
            written = member if camel in _VERBATIM else _camel_members(member)
            changed = changed or camel is not name or written is not member
            members[camel] = written
        return members if changed else value
    if isinstance(value, list):
        items = [_camel_members(item) for item in value]
        return items if any(a is not b for a, b in zip(items, value, strict=True)) else value
    return value


def _camel(name: Any) -> Any:
    if not isinstance(name, str) or "_" not in name or name.startswith("_"):
        return name
    return re.sub(_SNAKE, lambda match: match[1].upper(), name)


def listed(value: Any) -> list[Any]:
    """Return the items of a repeated member. The API accepts a single item without its list, too."""
    return value if isinstance(value, list) else [] if value is None else [value]
