"""Recognition of chunks that differ from the chunk before only in the text that they append.

Most chunks of a stream repeat all bytes of their predecessor except one text and, on some servers, padding. Comparing
bytes takes a third of the time of parsing such a chunk. A `DeltaTemplate` is exact: it is learned from a chunk that was
parsed, it accepts a chunk only if the rest of its bytes is equal, and msgspec parses the text itself. It is valid until
another chunk is parsed, because parsing the same members again changes nothing then.
"""

from __future__ import annotations

import msgspec
from msgspec import Struct

from ..schema import UNFIT
from .routing import StreamedCall

_text = msgspec.json.Decoder(str).decode
_BACKSLASH = 92
_PADDING = (b'"obfuscation":"', b'"p":"')


class DeltaTemplate(Struct, eq=False):
    """The bytes of a chunk around its text, and the block that the text continues.

    ``parts``: the fragments of the block. ``call``: the call that they belong to, if they are arguments. ``tail``: the
    bytes after the text or, if the chunk is ``padded``, those between the text and the padding. ``copies``: the
    fragments of a second member with the same text, and ``between``: the bytes between the two. ``start``: the position
    of the text. ``size``: the length of ``tail``.
    """

    parts: list[str]
    choice: int
    key: int
    call: StreamedCall | None
    head: bytes
    tail: bytes
    padded: bool = False
    between: bytes = b""
    copies: list[str] | None = None
    start: int = 0
    size: int = 0

    def __post_init__(self) -> None:
        self.start, self.size = len(self.head), len(self.tail)

    def text(self, payload: bytes) -> str | None:
        """Return the text of a chunk that has this form, None for any other chunk."""
        # Slices take a fraction of the time of `startswith` and `find`.
        start, tail = self.start, self.tail
        if payload[:start] != self.head:
            return None
        if self.padded:
            token, _, padding = payload[start:].rpartition(tail)
            if padding != b'"}' and (padding[-2:] != b'"}' or not padding[:-2].isalnum()):
                return None
        elif payload[-self.size :] == tail:
            token = payload[start : -self.size]
            if self.copies is not None:
                token, between, copy = token.partition(self.between)
                if not between or copy != token:
                    return None
        else:
            return None
        try:
            text: str = _text(token)
        except UNFIT:
            return None
        if self.call is not None:
            if text[:1] == "{":
                return None  # it may replace the arguments so far
            self.call.length += len(text)
        elif self.copies is not None:
            self.copies.append(text)
        return text


def learned(
    payload: bytes, member: bytes, parts: list[str], choice: int, key: int, call: StreamedCall | None
) -> DeltaTemplate | None:
    """Return the template of a parsed chunk that only appended the text of ``member``; None if the text is ambiguous.

    ``member``: the name of the member in quotes. Without escape sequences in the chunk, its only occurrence is the
    member that was parsed.
    """
    start = payload.find(member) + len(member) + 1
    if _BACKSLASH in payload or payload.count(member) != 1 or payload[start - 1 : start + 1] != b':"':
        return None
    end = payload.find(b'"', start + 1) + 1
    if payload.endswith(b'"}'):  # the last member is a text, and no member of another one
        for name in _PADDING:
            at = payload.rfind(name, end)
            if at >= 0 and (payload[at + len(name) : -2] or b"0").isalnum():
                return DeltaTemplate(parts, choice, key, call, payload[:start], payload[end : at + len(name)], True)
    return DeltaTemplate(parts, choice, key, call, payload[:start], payload[end:])


def learned_with_copy(
    payload: bytes, member: bytes, parts: list[str], choice: int, key: int, copy: bytes, copies: list[str]
) -> DeltaTemplate | None:
    """Return the template of a parsed chunk that contains its text in two members; None if a text is ambiguous.

    ``member``, ``copy``: the names of the members in quotes. ``copies``: the fragments of the second one.
    """
    template = learned(payload, member, parts, choice, key, None)
    if template is None or template.padded or payload.count(copy) != 1:
        return None
    token = payload[template.start : -template.size]
    between, name, rest = template.tail.partition(copy + b":" + token)
    if not name:
        return None
    between += copy + b":"
    return DeltaTemplate(parts, choice, key, None, template.head, rest, False, between, copies)
