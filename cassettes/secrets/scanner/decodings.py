"""All decodings of a recorded value: nested JSON, events, base64, gzip, protobuf, URL encoding."""

from __future__ import annotations

import base64
import binascii
import gzip
import html
import io
import json
import re
import zlib
from collections.abc import Iterator
from typing import Any, NamedTuple
from urllib.parse import unquote

from toolparity.cassettes.errors import UnreadableSource
from toolparity.cassettes.sources.bodies import unpacked, wide_encoding

from .proto import fields_of, put_together

_DEPTH = 5
#: Characters decoded from one value in total. More means that something expands without end.
BUDGET = 64 << 20

#: Members that hold a provider's encrypted or binary data. Its letters are random, so detectors would report chance
#: matches. The environment's keys are searched for here as well.
OPAQUE = {
    "signature": "Anthropic's seal on thinking, Google's on thoughts",
    "thoughtSignature": "Google's seal on thoughts",
    "thought_signature": "the same, in OpenAI-compatible answers",
    "encrypted_content": "OpenAI's, xAI's and Anthropic's sealed reasoning and search results",
    "encrypted_index": "Anthropic's sealed place in a search result",
    "encrypted_stdout": "Anthropic's sealed output of a program",
    "encrypted_reasoning": "xAI's sealed reasoning",
    "reasoning_opaque": "sealed reasoning of OpenAI-compatible gateways",
    "data": "Anthropic's redacted thinking, images, audio",
    "b64_json": "images",
    "partial_image_b64": "images",
    "obfuscation": "OpenAI's padding against traffic analysis",
    "page_token": "a provider's place in a list",
}

_BASE64 = re.compile(r"[A-Za-z0-9+/]{16,}={0,2}(?![A-Za-z0-9_-])|[A-Za-z0-9_-]{16,}={0,2}")
_SEALED = re.compile(r"[A-Za-z0-9+/_\s-]*={0,2}\s*")
#: Any number of backslashes: texts contain JSON nested several levels deep, not always complete.
_ESCAPE = re.compile(r"\\+(?:u([0-9a-fA-F]{4})|([/\"nrt]))")
_LETTERS = str.maketrans("nrt", "\n\r\t")
#: Line ends in an event stream. Others, such as U+2028, are ordinary characters there.
_LINE_END = re.compile(r"\r\n|\n|\r")
_PERCENT = re.compile(r"%[0-9a-fA-F]{2}")


_HEX = re.compile(r"(?<![0-9a-f])(?:[0-9a-f]{2}[ :]?){20,}(?![0-9a-f])", re.IGNORECASE)
#: Base64 in lines, as in e-mail and PEM.
_WRAPPED = re.compile(r"(?<![A-Za-z0-9+/])(?:[A-Za-z0-9+/]{40,200}\r?\n)+[A-Za-z0-9+/]{1,200}={0,2}")
#: Invisible characters.
_UNSEEN = re.compile("[\u00ad\u200b-\u200d\u2060\ufeff]")
#: A whole key of a known kind, or an unmistakable prefix inside: a provider's opaque data never looks like this.
_KEY = re.compile(
    r"sk-[\w-]{20,200}|xai-\w{40,100}|AIza[\w-]{35}|A(?:KI|SI)A[0-9A-Z]{16}|gh[pousr]_\w{36,80}|hf_\w{28,50}"
    r"|(?:gsk|r8|fw|npm|pcsk|e2b|ntn)_\w{20,100}|glpat-[\w-]{20,40}"
)
_KEY_INSIDE = re.compile(r"sk-(?:proj|ant|admin|svcacct|or-v1)-|github_pat_")
#: Members with content from a model or a program. A name inside is never a member of the wire.
_FREE = frozenset({"input", "args", "arguments", "parameters"})


class Reading(NamedTuple):
    """One decoded text: its location, its member name, and whether it is encrypted or binary (``opaque``).

    ``document``: JSON as a whole, which shows what is beside a value.
    """

    path: str
    name: str
    text: str
    opaque: bool = False
    document: bool = False


class TooMuch(Exception):
    """The value expands to more than `BUDGET`."""


class ValueReader:
    """Decodes one value in all ways. Raises TooMuch."""

    def __init__(self) -> None:
        self._left = BUDGET

    def raw(self, data: bytes, path: str = "", name: str = "", depth: int = 0) -> Iterator[Reading]:
        """Yield all decodings of bytes."""
        self._spend(len(data))
        content = self._unpacked(data)
        if content is not None and depth < _DEPTH:
            yield from self.raw(content, f"{path}<unpacked>", name, depth + 1)
            return
        try:
            text = data.decode(wide_encoding(data) or "utf-8")
        except UnicodeDecodeError:
            text = ""
        if text:
            yield from self.text(text, path, name, depth)
        if not text or not text.isprintable():
            for field in fields_of(data):
                yield from self.text(field.text, f"{path}<protobuf {field.place}>", name, depth + 1)
            if not text:
                yield Reading(path, name, data.decode("utf-8", "replace"), opaque=True)
                yield Reading(path, name, data.decode("latin-1"), opaque=True)

    def text(
        self, text: str, path: str = "", name: str = "", depth: int = 0, opaque: bool = False
    ) -> Iterator[Reading]:
        """Yield all decodings of a text."""
        self._spend(len(text))
        value = _json(text)
        if depth >= _DEPTH:
            yield Reading(path, name, text, opaque)
            return
        if isinstance(value, dict | list | str):
            yield _document(value, path, opaque)
            yield from self.value(
                value, path, name, depth + 1, opaque, free=bool(path) and not path.endswith("<unpacked>")
            )
            return
        events = _events(text)
        if events:
            yield from self._stream(events, text, path, depth)
            return
        yield Reading(path, name, text, opaque)
        if "\\" in text and _ESCAPE.search(text):
            yield from self.text(_unescaped(text), f"{path}<unescaped>", name, depth + 1, opaque)
        if "%" in text and _PERCENT.search(text):
            yield from self.text(unquote(text), f"{path}<unquoted>", name, depth + 1, opaque)
        if len(text) >= 16:
            for run in _BASE64.findall(text):
                data = _from_base64(run)
                if data is None:
                    continue
                if opaque:
                    yield Reading(f"{path}<base64>", "", data.decode("utf-8", "replace"), opaque=True)
                else:
                    yield from self.raw(data, f"{path}<base64>", "", depth + 1)
        if not opaque:
            yield from self._respelled(text, path, name, depth)

    def _respelled(self, text: str, path: str, name: str, depth: int) -> Iterator[Reading]:
        """Yield decoded hex digits, base64 lines and HTML entities, and the text without invisible characters."""
        for run in _HEX.findall(text):
            digits = re.sub("[ :]", "", run)
            plain = bytes.fromhex(digits[: len(digits) // 2 * 2]).decode("latin-1")
            if plain.isascii() and plain.isprintable():
                yield from self.text(plain, f"{path}<hex>", "", depth + 1)
        for run in _WRAPPED.findall(text):
            data = _from_base64("".join(run.split()))
            if data is not None:
                yield from self.raw(data, f"{path}<base64>", "", depth + 1)
        if "&#" in text:
            yield from self.text(html.unescape(text), f"{path}<HTML>", name, depth + 1)
        if _UNSEEN.search(text):
            yield from self.text(_UNSEEN.sub("", text), f"{path}<unseen letters>", name, depth + 1)

    def value(
        self, value: Any, path: str, name: str, depth: int, opaque: bool = False, free: bool = False
    ) -> Iterator[Reading]:
        """Yield all decodings of parsed JSON. ``free``: a model or caller chose the names; none marks opaque data."""
        if isinstance(value, str):
            yield from self.text(value, path, name, depth, opaque)
        elif isinstance(value, dict):
            if isinstance(value.get("messages"), list):
                yield from self._messages(value["messages"], path, depth)
            for key, member in value.items():
                where = f"{path}.{key}" if path else key
                if len(key) >= 16:
                    yield Reading(f"{path}<name>", "", key)
                sealed = opaque or (not free and _is_sealed(key, member))
                yield from self.value(
                    member, where, key, depth, sealed, free or (key in _FREE and isinstance(member, dict))
                )
        elif isinstance(value, list):
            if not path and len(value) > 1 and all(isinstance(item, dict) for item in value):
                yield from self._put_together(value, path, depth)  # a stream in the form of one array
            for index, item in enumerate(value):
                yield from self.value(item, f"{path}[{index}]", name, depth, opaque, free)

    def _stream(self, events: list[Any], text: str, path: str, depth: int) -> Iterator[Reading]:
        for number, event in enumerate(events):
            yield _document(event, path)
            yield from self.value(event, f"{path}event {number}: ", "", depth + 1)
        rest = "\n".join(line for line in _LINE_END.split(text) if _json(line.partition(":")[2]) is None)
        yield Reading(f"{path}<between events>", "", rest)
        yield from self._put_together(events, path, depth)

    def _messages(self, messages: list[Any], path: str, depth: int) -> Iterator[Reading]:
        """Yield the messages of a gRPC stream, readable and serialized, as events."""
        if len(messages) < 2:
            return
        yield from self._put_together([m.get("message") for m in messages if isinstance(m, dict)], path, depth)
        fields = [fields_of(_from_base64(m["serialized"]) or b"") for m in messages if _is_recorded(m)]
        for place, text in put_together(fields):
            yield from self.text(text, f"{path}<protobuf {place} put together>", "", depth + 1)

    def _put_together(self, events: list[Any], path: str, depth: int) -> Iterator[Reading]:
        pieces: dict[tuple[str, str], list[str]] = {}
        mingled: dict[str, list[str]] = {}
        for event in events:
            for place, numbers, text in _leaves(event, "", ""):
                pieces.setdefault((place, numbers), []).append(text)
                mingled.setdefault(place, []).append(text)
        for (place, numbers), texts in pieces.items():
            name = place.rpartition(".")[2]
            if len(set(texts)) > 1:  # a value that every event repeats is not a text in pieces
                text = "".join(texts)
                where = f"{path}{place} {numbers}put together"
                yield from self.text(text, where, name, depth + 1, _is_sealed(name, text))
        for place, texts in mingled.items():  # texts that alternate, concatenated: only a known key is meaningful here
            yield Reading(f"{path}{place} put together", "", "".join(texts), opaque=True)

    def _unpacked(self, data: bytes) -> bytes | None:
        try:
            if data[:2] == b"\x1f\x8b":
                return _limited(gzip.GzipFile(fileobj=io.BytesIO(data)).read(self._left + 1), self._left)
            if data.startswith(b"\x28\xb5\x2f\xfd"):
                return _limited(unpacked(data, "zstd"), self._left)
            if data[:1] == b"\x78" and len(data) > 8 and int.from_bytes(data[:2], "big") % 31 == 0:
                return _limited(zlib.decompressobj().decompress(data, self._left + 1), self._left)
        except (OSError, EOFError, zlib.error, UnreadableSource):
            return None
        return None

    def _spend(self, size: int) -> None:
        self._left -= size
        if self._left < 0:
            raise TooMuch


def _limited(data: bytes, limit: int) -> bytes:
    if len(data) > limit:
        raise TooMuch
    return data


def _json(text: str) -> Any:
    """Return the parsed text; None if it is not JSON that can contain text."""
    start = text.lstrip()[:1]
    if not start or start not in '{["':
        return None
    try:
        return json.loads(text, object_pairs_hook=_all_members)
    except (ValueError, RecursionError):
        return None


def _all_members(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """Return an object with both values of a duplicate name."""
    members = dict(pairs)
    if len(members) < len(pairs):
        for name, value in pairs:
            if members[name] is not value:
                members[f"{name} (before)"] = value
    return members


def _events(text: str) -> list[Any]:
    """Return the JSON value of each event or line, if there are at least two."""
    if "\n" not in text and "\r" not in text:
        return []
    events = []
    for line in _LINE_END.split(text):
        name, colon, payload = line.partition(":")
        parsed = _json(payload) if colon and name == "data" else _json(line)
        if isinstance(parsed, dict | list):
            events.append(parsed)
    return events if len(events) > 1 else []


def _leaves(value: Any, place: str, numbers: str) -> Iterator[tuple[str, str, str]]:
    """Yield (names on the path, numbers beside them, text) for each string."""
    if isinstance(value, str):
        yield place, numbers, value
    elif isinstance(value, dict):
        for key, number in value.items():
            if isinstance(number, int) and key.endswith("index"):
                numbers += f"{key} {number} "
        for key, member in value.items():
            yield from _leaves(member, f"{place}.{key}" if place else key, numbers)
    elif isinstance(value, list):
        for item in value:
            yield from _leaves(item, place, numbers)


def _is_sealed(name: str, value: Any) -> bool:
    """Return whether a member is a provider's opaque data: an `OPAQUE` name, base64, and not a known key."""
    if name not in OPAQUE or not isinstance(value, str) or _SEALED.fullmatch(value) is None:
        return False
    return not _KEY.fullmatch(value) and not _KEY_INSIDE.search(value)


def _document(value: Any, path: str, opaque: bool = False) -> Reading:
    return Reading(path, "", json.dumps(value, ensure_ascii=False), opaque, document=True)


def _is_recorded(message: Any) -> bool:
    return isinstance(message, dict) and isinstance(message.get("serialized"), str)


def _unescaped(text: str) -> str:
    def char(found: re.Match[str]) -> str:
        return chr(int(found[1], 16)) if found[1] else found[2].translate(_LETTERS)

    units = _ESCAPE.sub(char, text).encode("utf-16", "surrogatepass")
    return units.decode("utf-16", "replace")  # combine surrogate halves into characters


def _from_base64(run: str) -> bytes | None:
    letters = run.rstrip("=")
    if len(letters) % 4 == 1:
        return None
    standard = letters.replace("-", "+").replace("_", "/")
    try:
        return base64.b64decode(standard + "=" * (-len(standard) % 4))
    except (binascii.Error, ValueError):
        return None
