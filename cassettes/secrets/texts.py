"""Scrubbing of one text or byte string: all its layers, the pieces of its streams, and encoded data inside."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager

from toolparity.turns.secrets import patterns
from toolparity.turns.secrets.forms import Match
from toolparity.turns.secrets.names import is_random

from ..sources.bodies import wide_encoding
from . import compression, protowire
from .allowed import AllowList
from .grpc_bodies import carried
from .json_strings import streamed_texts
from .known import KnownSecrets
from .layers import PlainText, SearchableText, from_utf8, joined, layers, spliced, unescaped, unquoted
from .protowire import StringField

_DEPTH = 3  # levels of nested base64


class TextScrubber:
    """Replaces known values and matches of secret patterns. ``counts``: number of replacements per kind."""

    def __init__(self, known: KnownSecrets, allow: AllowList) -> None:
        self.known = known
        self.allow = allow
        self.counts: Counter[str] = Counter()
        self.learns = False
        self._clean: set[str] = set()  # base64 runs without secrets, because layers and pieces repeat the same runs

    @contextmanager
    def learning(self) -> Iterator[None]:
        """Search all later texts for the named secrets of those that are scrubbed meanwhile."""
        self.learns = True
        try:
            yield
        finally:
            self.learns = False

    def text(self, text: str, depth: int = 0) -> str:
        """Return ``text`` without secrets. It keeps its length, unless compressed data inside cannot."""
        if depth == 0:
            self._clean.clear()  # more values may be known by now
        source = PlainText(text)
        # Scrub a stream's joined pieces first: a single piece can look complete, and replacing it would hide the rest.
        for spans in streamed_texts(text):
            self._layers(joined(source, spans), depth)
        source.text = carried(text, source.text)
        self._layers(source, depth)
        return source.text

    def body(self, data: bytes, depth: int = 0) -> bytes:
        """Return a body without secrets. Unchanged parts stay identical, byte for byte."""
        if compression.is_packed(data):
            return compression.repacked(data, lambda content: self.body(content, depth + 1)) if depth < _DEPTH else data
        if _is_binary(data):
            wide = wide_encoding(data)
            if wide is not None:
                return self.text(data.decode(wide), depth).encode(wide)
            unpacked = (
                compression.repacked(data, lambda content: self.body(content, depth + 1)) if depth < _DEPTH else data
            )
            return self.binary(data, depth) if unpacked is data else unpacked
        text = self.text(data.decode("utf-8", "surrogateescape"), depth)
        return text.encode("utf-8", "surrogateescape")

    def binary(self, data: bytes, depth: int) -> bytes:
        """Scrub bytes of unknown kind without changing their length.

        Strong forms are replaced anywhere, all forms in protobuf strings.
        """
        source = PlainText(data.decode("latin-1"))
        for field in protowire.strings(data) or ():
            self._field(source, [field], depth)
        self._search(source, depth, strong_only=True)
        wide = from_utf8(source)
        if wide is not None:
            self._search(wide, depth, strong_only=True)
        return source.text.encode("latin-1")

    def messages(self, serialized: list[bytes]) -> list[bytes]:
        """Scrub the serialized messages of one gRPC stream. A text that spans several messages is scrubbed as one."""
        source = PlainText(b"".join(serialized).decode("latin-1"))
        found: list[list[StringField]] = []
        offset = 0
        for data in serialized:
            fields = protowire.strings(data) or []
            found.append([f._replace(start=f.start + offset, end=f.end + offset) for f in fields])
            offset += len(data)
        for pieces in protowire.streamed(found):
            self._field(source, [field for _, field in pieces], 0)
        data = source.text.encode("latin-1")
        out = []
        for message in serialized:
            out.append(data[: len(message)])
            data = data[len(message) :]
        return out

    def _field(self, source: PlainText, fields: list[StringField], depth: int) -> None:
        view = spliced(source, [(field.start, field.end) for field in fields])
        self._layers(from_utf8(view) or view, depth)

    def _layers(self, text: SearchableText, depth: int) -> None:
        for layer in layers(text, (unescaped, unquoted)):
            self._search(layer, depth)

    def _search(self, text: SearchableText, depth: int, *, strong_only: bool = False) -> None:
        for found in self.known.find(text.text):
            if not self.allow.allows(found.secret, by_pattern=False):
                self._write(text, found)
        for form in patterns.patterns_in(text.text, strong_only=strong_only):
            for found in patterns.matches(form, text.text):
                if not self.allow.allows(found.secret):
                    self._write(text, found)
        if depth < _DEPTH:
            self._packed(text, depth)

    def _packed(self, text: SearchableText, depth: int) -> None:
        runs = [*compression.BASE64_RUN.finditer(text.text)]
        # Within them, as a search in the whole text takes as long again.
        digits = [each for run in runs for each in compression.HEX_RUN.finditer(text.text, *run.span())]
        for run in digits:
            plain = bytes.fromhex(run.group()).decode("ascii")
            clean = self.text(plain, depth + 1)
            if clean != plain and len(clean) == len(plain):
                text.write(run.start(), clean.encode().hex())
        for run in compression.BASE64_RUN.finditer(text.text) if digits else runs:
            if run.group() in self._clean:
                continue
            data = compression.from_base64(run.group())
            before = self.counts.copy()
            changed = None if data is None else self._inside(data, depth + 1)
            if data is None or changed is None or changed == data:
                self._clean.add(run.group())
                continue
            if len(changed) != len(data):  # not written, so do not count it
                self.counts = before
                continue
            text.write(run.start(), compression.to_base64(changed, run.group()))

    def _inside(self, data: bytes, depth: int) -> bytes:
        unpacked = compression.repacked(data, lambda content: self.body(content, depth)) if depth < _DEPTH else data
        if unpacked is not data:
            return unpacked
        changed = self.binary(data, depth)
        return changed if _is_binary(changed) else self.body(changed, depth)

    def _write(self, text: SearchableText, found: Match) -> None:
        if found.length != len(found.secret):  # JSON escapes a part of it
            text = joined(text, [(found.start, found.start + found.length)])
            text.write(0, found.stand_in)
        else:
            text.write(found.start, found.stand_in)
        self.counts[found.kind] += 1
        if self.learns and found.kind == "named secret" and is_random(found.secret):
            self.known.add([found.secret], found.kind)


def _is_binary(data: bytes) -> bool:
    """Return whether bytes are not text: control characters that text does not use, or mostly invalid UTF-8."""
    if _CONTROL.search(data):
        return True
    try:
        data.decode()
    except UnicodeDecodeError:  # text in an encoding of one byte a letter, such as latin-1, is mostly ASCII
        return len(_NOT_ASCII.sub(b"", data)) < 0.9 * len(data)
    return False


_CONTROL = re.compile(rb"[\x00-\x06\x0e-\x12\x14\x16\x17]")
_NOT_ASCII = re.compile(rb"[\x80-\xff]+")
