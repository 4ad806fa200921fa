"""Half surrogate pairs (failure UNI-02): protobuf's strings are UTF-8, which cannot say them.

Inside the JSON of arguments they are escaped, which means the same; anywhere else U+FFFD stands for each of them.
"""

from __future__ import annotations

import re
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from ..conversation import Result, Tool
from ..errors import MalformedBody
from ..model import ToolCall

_HALF = re.compile("[\ud800-\udfff]")
#: Ids and names that get an alias where they are not plain ASCII, and arguments in the form that is never sent.
_ELSEWHERE: dict[type[Struct], frozenset[str]] = {
    ToolCall: frozenset(("id", "name", "arguments")),
    Result: frozenset(("call_id",)),
    Tool: frozenset(("name",)),
}


def is_whole(text: str) -> bool:
    """Whether UTF-8 can say the text."""
    if text.isascii():
        return True
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


class Mender:
    """Makes values whole. ``replaced``: whether anything had to be said in another way so far."""

    def __init__(self) -> None:
        self.replaced = False

    def mend(self, value: Any) -> Any:
        """The same with whole texts; the very same object where they were. Raises MalformedBody."""
        try:
            return self._mend(value)
        except RecursionError:
            raise MalformedBody("a value of the request is nested too deep", body=value) from None

    def _mend(self, value: Any) -> Any:
        if isinstance(value, str):
            return self._text(value)
        if isinstance(value, list):
            items = [self._mend(item) for item in value]
            return value if _same(items, value) else items
        if isinstance(value, dict):
            keys, values = [self._mend(key) for key in value], [self._mend(item) for item in value.values()]
            same = _same(keys, value) and _same(values, value.values())
            return value if same else dict(zip(keys, values, strict=True))
        if isinstance(value, Struct):
            return self._struct(value)
        return value

    def _text(self, text: str) -> str:
        if is_whole(text):
            return text
        self.replaced = True
        return _HALF.sub("\ufffd", text)

    def _struct(self, value: Struct) -> Struct:
        changed: dict[str, Any] = {}
        known = _ELSEWHERE.get(type(value), frozenset())
        for name in value.__struct_fields__:
            if name in known:
                continue
            before = getattr(value, name)
            told = isinstance(value, ToolCall) and name == "arguments_text"
            after = self._arguments(value) if told else self._mend(before)  # type: ignore[arg-type]
            if after is not before:
                changed[name] = after
        return replace(value, **changed) if changed else value

    def _arguments(self, call: ToolCall) -> str:
        text = call.arguments_text
        if call.arguments is None:
            return self._text(text)
        return text if is_whole(text) else _HALF.sub(lambda half: f"\\u{ord(half[0]):04x}", text)


def _same(items: Any, others: Any) -> bool:
    return all(one is other for one, other in zip(items, others, strict=True))
