"""Recognition of chunks that differ from the chunk before only in the text that they append.

Most chunks of a stream repeat all bytes of their predecessor except one text and, on some servers, padding. Comparing
bytes takes a third of the time of parsing such a chunk. A `DeltaTemplate` is exact: it is learned from a chunk that was
parsed, it accepts a chunk only if the rest of its bytes is equal, and msgspec parses the text itself. It is valid until
another chunk is parsed, because parsing the same members again changes nothing then.
"""

from __future__ import annotations

from typing import Any

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from .schema import UNFIT

#: After this many templates that no chunk fits, chunks are not compared with the one before them.
ATTEMPTS = 4
_text = msgspec.json.Decoder(str).decode
_BACKSLASH, _QUOTE = b'\\"'
_PADDING = (b'"obfuscation":"', b'"p":"')
_LETTERS = b"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
#: What surrounds the payload of a server-sent event that is complete.
_DATA, _END = b"data: ", b"\n\n"


class DeltaTemplate(Struct, eq=False):
    """The bytes of a chunk around its text, and the block that the text continues.

    ``parts``: the fragments of the block. ``call``: the call that they belong to, if they are arguments; it has a
    ``length``. ``head``, ``tail``: the bytes before the text and at the end. ``inner``: the bytes between the text and
    padding, and ``filler``: the bytes that the padding can consist of. ``copies``: the fragments of a second member
    with the same text, and ``between``: the bytes between the two. ``start``, ``end``: the place of the text, the end
    negative.
    """

    parts: list[str]
    choice: int
    key: int
    call: Any
    head: bytes
    tail: bytes
    inner: bytes = b""
    filler: bytes = b""
    between: bytes = b""
    copies: list[str] | None = None
    start: int = 0
    end: int = 0

    def __post_init__(self) -> None:
        self.start, self.end = len(self.head), -len(self.tail)

    def text(self, payload: bytes) -> str | None:
        """Return the text of a chunk that has this form, None for any other chunk."""
        # Slices take a fraction of the time of `startswith` and `find`.
        start, end = self.start, self.end
        if payload[:start] != self.head or payload[end:] != self.tail:
            return None
        token = payload[start:end]
        if self.inner:
            token, found, padding = token.rpartition(self.inner)
            if not found or padding.strip(self.filler):
                return None
        elif self.copies is not None:
            token, found, copy = token.partition(self.between)
            if not found or copy != token:
                return None
        try:
            text: str = _text(token)
        except UNFIT:
            return None
        if token[0] != _QUOTE or token[-1] != _QUOTE:
            return None  # the white space around the text could end the event
        if self.call is not None:
            if text[:1] == "{":
                return None  # it may replace the arguments so far
            self.call.length += len(text)
        elif self.copies is not None:
            self.copies.append(text)
        return text

    def framed(self, chunk: bytes, payload: bytes) -> DeltaTemplate | None:
        """Return the template of a whole chunk, with its framing; None if it is not one whole server-sent event."""
        start = len(chunk) - len(payload) - len(_END)
        if chunk[start - len(_DATA) :] != _DATA + payload + _END:
            return None
        return replace(self, head=chunk[:start] + self.head, tail=self.tail + _END)


def learned(
    payload: bytes,
    text: str,
    parts: list[str],
    choice: int,
    key: int,
    call: Any = None,
    copies: list[str] | None = None,
) -> DeltaTemplate | None:
    """Return the template of a parsed chunk that only appended ``text``; None if the text is ambiguous.

    Without escape sequences in the chunk, the only occurrence of the text in quotes is the member that was parsed.
    ``copies``: the fragments of a member `text` that contains the text, too.
    """
    around = payload.split(b'"%b"' % text.encode())
    if _BACKSLASH in payload or len(around) != (2 if copies is None else 3):
        return None
    head, tail = around[0], around[-1]
    if copies is not None:
        between = around[1]
        if between[-7:] != b'"text":' or payload.count(b'"text"') != 1:
            return None
        return DeltaTemplate(parts, choice, key, call, head, tail, between=between, copies=copies)
    if tail[-2:] == b'"}':  # the last member is a text, and no member of another one
        for name in _PADDING:
            end = tail.rfind(name) + len(name)
            if end >= len(name) and not tail[end:-2].strip(_LETTERS):
                return DeltaTemplate(parts, choice, key, call, head, b'"}', tail[:end], _LETTERS)
    if tail[-2:-1] == b" " and (inner := tail[:-1].rstrip(b" ")):
        return DeltaTemplate(parts, choice, key, call, head, tail[-1:], inner, b" ")
    return DeltaTemplate(parts, choice, key, call, head, tail)
