"""Half surrogate pairs in requests (failure UNI-02), which UTF-8 cannot encode and providers refuse as escapes.

Tools and models return them: an emoji cut in two is enough. The canonical form keeps them. A request says U+FFFD for
each one, with the loss `corrupt-text`. In the JSON text of a call's arguments the writers escape them instead, which
keeps the value. Ids and names that hold one get an alias.
"""

from __future__ import annotations

import re
from typing import Any

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from .. import json_codec
from ..conversation import Result, Tool, ToolChoice
from ..errors import MalformedBody
from ..model import ToolCall
from .write_context import Carrying

#: MessagePack has the same strings as JSON, and copies them where JSON has to look for what to escape.
_encode = msgspec.msgpack.Encoder().encode
_HALF = re.compile("[\ud800-\udfff]")
#: Ids and names that get an alias where they are not plain ASCII, and arguments in the form that is never sent.
_ELSEWHERE: dict[type[Struct], frozenset[str]] = {
    ToolCall: frozenset(("id", "name", "arguments")),
    Result: frozenset(("call_id",)),
    Tool: frozenset(("name",)),
    ToolChoice: frozenset(("name",)),
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


def mend_messages(messages: list[Any], start: int, carrying: Carrying) -> None:
    """Replace, in place, the messages from ``start`` on that UTF-8 cannot encode; each is a loss."""
    if _is_sayable(messages[start:] if start else messages):
        return
    for place in range(start, len(messages)):
        mender = Mender()
        messages[place] = mender.mend(messages[place])
        if mender.replaced:
            carrying.lose("corrupt-text", f"half surrogate pairs in message {place} became U+FFFD")


def mended_members(body: dict[str, Any], messages: str, carrying: Carrying) -> dict[str, Any]:
    """The body, its members beside ``messages`` such that UTF-8 can encode them; a change is a loss."""
    beside = {name: value for name, value in body.items() if name != messages}
    if _is_sayable(beside):
        return body
    mender = Mender()
    mended: dict[str, Any] = mender.mend(beside)
    if mender.replaced:
        carrying.lose("corrupt-text", "half surrogate pairs beside the messages became U+FFFD")
    return {**mended, messages: body[messages]} if messages in body else mended


def _is_sayable(value: Any) -> bool:
    """Whether UTF-8 encodes all texts of a JSON value, as far as one fast look shows."""
    try:
        _encode(value)
    except RecursionError:
        return True  # nested deeper than any encoder goes: there is nothing to repair
    except (TypeError, ValueError, OverflowError):
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
            keys, values = [self._mend(key) for key in value], [self._member(*member) for member in value.items()]
            same = _same(keys, value) and _same(values, value.values())
            return value if same else dict(zip(keys, values, strict=True))
        if isinstance(value, Struct):
            return self._struct(value)
        return value

    def _member(self, name: Any, value: Any) -> Any:
        """A member of an object; the text under `arguments` is the JSON of a call's arguments on every wire."""
        if name == "arguments" and isinstance(value, str) and not is_whole(value):
            try:
                json_codec.decode(value)
            except ValueError:
                return self._text(value)
            return _escaped(value)
        return self._mend(value)

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
        return text if is_whole(text) else _escaped(text)


def _escaped(text: str) -> str:
    return _HALF.sub(lambda half: f"\\u{ord(half[0]):04x}", text)


def _same(items: Any, others: Any) -> bool:
    return all(one is other for one, other in zip(items, others, strict=True))
