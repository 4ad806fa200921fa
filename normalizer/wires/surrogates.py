"""Replacement of lone surrogates in requests (UNI-02). UTF-8 cannot encode them, and providers refuse their escapes.

Tools and models return them, for example when they cut an emoji in two. The canonical form keeps them. The writers
replace each one with U+FFFD and report the loss `corrupt-text`. In the JSON text of a call's arguments they write an
escape instead, which keeps the value. Ids and names that contain one get an alias.
"""

from __future__ import annotations

import re
from typing import Any

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from .. import json_codec
from ..conversation import ToolChoice, ToolDefinition, ToolResult
from ..errors import MalformedBody
from ..model import ToolCall
from .write_context import WriteContext

#: MessagePack checks strings like JSON does, and is faster because it copies them without escaping.
_encode = msgspec.msgpack.Encoder().encode
_LONE = re.compile("[\ud800-\udfff]")
#: Fields that `SurrogateReplacer` skips: ids and names get an alias elsewhere, and parsed arguments are never sent.
_ELSEWHERE: dict[type[Struct], frozenset[str]] = {
    ToolCall: frozenset(("id", "name", "arguments")),
    ToolResult: frozenset(("call_id",)),
    ToolDefinition: frozenset(("name",)),
    ToolChoice: frozenset(("name",)),
}


def is_encodable(text: str) -> bool:
    """Report whether UTF-8 can encode the text."""
    if text.isascii():
        return True
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def replace_in_messages(messages: list[Any], start: int, stop: int, context: WriteContext) -> None:
    """Fix the messages from ``start`` up to ``stop`` that UTF-8 cannot encode, in place; report a loss for each."""
    if are_encodable(messages[start:stop]):
        return
    for index in range(start, stop):
        replacer = SurrogateReplacer()
        messages[index] = replacer.clean(messages[index])
        if replacer.replaced:
            context.lose("corrupt-text", f"lone surrogates in message {index} became U+FFFD")


def replace_in_members(body: dict[str, Any], messages: str, context: WriteContext) -> dict[str, Any]:
    """Return the body with all members but ``messages`` encodable as UTF-8, and report a loss if any changed."""
    others = {name: value for name, value in body.items() if name != messages}
    if are_encodable(others):
        return body
    replacer = SurrogateReplacer()
    cleaned: dict[str, Any] = replacer.clean(others)
    if replacer.replaced:
        context.lose("corrupt-text", "lone surrogates outside of the messages became U+FFFD")
    return {**cleaned, messages: body[messages]} if messages in body else cleaned


def are_encodable(value: Any) -> bool:
    """Report whether UTF-8 can encode all texts of a JSON value. This check is fast; False may be a false alarm."""
    try:
        _encode(value)
    except RecursionError:
        return True  # nested too deep for any encoder, so replacing texts does not help
    except (TypeError, ValueError, OverflowError):
        return False
    return True


class SurrogateReplacer:
    """Replaces lone surrogates in values. ``replaced``: whether it has replaced any with U+FFFD so far."""

    def __init__(self) -> None:
        self.replaced = False

    def clean(self, value: Any) -> Any:
        """Return the value without lone surrogates, or the same object if it has none.

        Raises MalformedBody if the value is nested too deep.
        """
        try:
            _encode(value)
            return value  # nearly always, and much faster
        except (RecursionError, TypeError, ValueError, OverflowError):
            pass
        try:
            return self._clean(value)
        except RecursionError:
            raise MalformedBody("a value of the request is nested too deep", body=value) from None

    def _clean(self, value: Any) -> Any:
        if isinstance(value, str):
            return self._text(value)
        if isinstance(value, list):
            items = [self._clean(item) for item in value]
            return value if _same(items, value) else items
        if isinstance(value, dict):
            keys, values = [self._clean(key) for key in value], [self._member(*member) for member in value.items()]
            same = _same(keys, value) and _same(values, value.values())
            return value if same else dict(zip(keys, values, strict=True))
        if isinstance(value, Struct):
            return self._struct(value)
        return value

    def _member(self, name: Any, value: Any) -> Any:
        """Fix a member of an object. On every wire, `arguments` contains the JSON text of a call's arguments."""
        if name == "arguments" and isinstance(value, str) and not is_encodable(value):
            try:
                json_codec.decode(value)
            except ValueError:
                return self._text(value)
            return _escaped(value)
        return self._clean(value)

    def _text(self, text: str) -> str:
        if is_encodable(text):
            return text
        self.replaced = True
        return _LONE.sub("\ufffd", text)

    def _struct(self, value: Struct) -> Struct:
        changed: dict[str, Any] = {}
        known = _ELSEWHERE.get(type(value), frozenset())
        for name in value.__struct_fields__:
            if name in known:
                continue
            before = getattr(value, name)
            is_arguments = isinstance(value, ToolCall) and name == "arguments_text"
            after = self._arguments(value) if is_arguments else self._clean(before)  # type: ignore[arg-type]
            if after is not before:
                changed[name] = after
        return replace(value, **changed) if changed else value

    def _arguments(self, call: ToolCall) -> str:
        text = call.arguments_text
        if call.arguments is None:
            return self._text(text)
        return text if is_encodable(text) else _escaped(text)


def _escaped(text: str) -> str:
    return _LONE.sub(lambda surrogate: f"\\u{ord(surrogate[0]):04x}", text)


def _same(items: Any, originals: Any) -> bool:
    return all(item is original for item, original in zip(items, originals, strict=True))
