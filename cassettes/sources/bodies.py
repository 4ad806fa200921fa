"""Decoding of recorded bodies into bytes: the notations of various cassettes, and content encodings."""

from __future__ import annotations

import base64
import binascii
import importlib
import re
import zlib
from collections.abc import Callable
from typing import Any

from toolparity.normalizer import json_codec
from toolparity.normalizer.wires.shapes import event_wire

from ..errors import UnreadableSource
from .decompression import ZSTD
from .files import MAX_RECORD_BYTES

#: A chunk of a compressed body, as nock writes it.
_HEX = re.compile(r"(?:[0-9a-f]{2})+")


def body_of(half: dict[str, Any]) -> bytes | None:
    """Return the bytes of a request's or response's body, from whichever member the recorder uses, or None.

    `_BESIDE` has the notations of members that are not ``body`` or ``content``; these go to `spelled`.
    Raises UnreadableSource if the notation of the body is unknown or damaged.
    """
    for name, read in _BESIDE.items():
        if half.get(name) is not None:
            return read(half[name])
    return spelled(half.get("body", half.get("content")))


def spelled(body: Any) -> bytes | None:
    """Return the bytes of a body in a cassette's notation: text, binary, or a mapping that holds either.

    Raises UnreadableSource for invalid base64 or an unknown notation.
    """
    if body is None:
        return None
    if isinstance(body, bytes):
        return body
    if isinstance(body, str):
        # A serializer may force gzip data through latin-1. Its first two bytes mark it; UTF-8 text never begins so.
        return body.encode("latin-1") if _is_smuggled(body) else body.encode("utf-8", "surrogatepass")
    if isinstance(body, dict):
        return _mapped(body)
    if isinstance(body, list) and body and all(isinstance(item, dict) for item in body):
        return _json(body)  # parsed JSON, such as a batch
    raise UnreadableSource(f"a body must be text, bytes or a mapping, got {type(body).__name__}")


def plain(body: Any) -> bytes | None:
    """Return the bytes of a body that is kept as its value: JSON, a text, or a list of the parts of either.

    Parts are events of a stream, as objects or texts, lines (Azure's test proxy), or hexadecimal chunks (nock).
    """
    if isinstance(body, (str, bytes)) or (isinstance(body, dict) and body.keys() <= {*_STRINGS}):
        return spelled(body)
    if isinstance(body, list):
        if all(isinstance(part, str) for part in body):
            if body and all(map(_HEX.fullmatch, body)):
                return bytes.fromhex("".join(body))
            return spelled("".join(part if part.endswith(("\n", "\r")) else f"{part}\n\n" for part in body))
        if all(isinstance(part, dict) and event_wire(part) for part in body):
            return b"".join(b"data: " + json_codec.encode(part) + b"\n\n" for part in body)
    return None if body is None else _json(body)


def _mapped(body: dict[str, Any]) -> bytes | None:
    if body.get("base64_string") is not None:
        return from_base64(body["base64_string"])
    if "string" in body:
        return spelled(body["string"])
    if {"type", "content"} <= body.keys():
        return _typed(body["type"], body["content"])
    if not body.keys().isdisjoint(("text", "mimeType", "size")):
        return _of_har(body.get("text"), body.get("encoding"))
    if body.keys() - {"encoding", "base64_string"}:
        members = ", ".join(sorted(map(str, body)))
        hint = "expected string, base64_string, or type and content"
        raise UnreadableSource(f"unknown notation of a body: a mapping of {members}", hint=hint)
    return None


def _of_har(text: Any, encoding: Any) -> bytes | None:
    """Read the content of a response in HAR. Polly.js writes the base64 of each chunk, as a list in the text."""
    if encoding != "base64" or text is None:
        return spelled(text)
    chunks = json_codec.decode(text) if isinstance(text, str) and text.startswith("[") else [text]
    return b"".join(map(from_base64, chunks))


def _typed(kind: Any, content: Any) -> bytes | None:
    """Read ``{type: json, content: {…}}``. JSON that is already text stays unchanged."""
    if content is None or isinstance(content, bytes):
        return content
    read = _CONTENTS.get(kind if isinstance(kind, str) else "")
    if read is None:
        raise UnreadableSource(f"unknown type of a body: {kind!r}", hint=f"expected one of {', '.join(_CONTENTS)}")
    return read(content)


def _json(value: Any) -> bytes | None:
    """Encode a parsed value as JSON. Raises UnreadableSource if it is not a JSON value, such as a YAML alias loop."""
    if isinstance(value, str):
        return spelled(value)
    try:
        return json_codec.encode(value)
    except (ValueError, TypeError, RecursionError) as error:
        raise UnreadableSource(f"the parsed body is not JSON: {error or 'nested too deep'}") from None


def _is_smuggled(body: str) -> bool:
    return body.startswith("\x1f\x8b") and all(ord(char) < 256 for char in body)


def from_base64(text: Any) -> bytes:
    """Decode base64, ignoring white space. Raises UnreadableSource for any other invalid character."""
    try:
        packed = text if isinstance(text, bytes) else text.encode("ascii")
        return base64.b64decode(packed.translate(None, b" \r\n\t"), validate=True)
    except (binascii.Error, ValueError, AttributeError) as error:
        raise UnreadableSource(f"the body is not base64: {error}") from None


def unpacked(body: bytes, encoding: str | None) -> bytes:
    """Undo the content encoding. Bodies that are already plain stay: many recorders unpack them but keep the header.

    Raises UnreadableSource if the data is damaged, or if no installed module can unpack it.
    """
    for name in reversed([part.strip().lower() for part in (encoding or "").split(",")]):
        unpack = _UNPACK.get(name)
        if unpack is not None and body:
            body = unpack(body)
    return body


def wide_encoding(data: bytes) -> str | None:
    """Return the encoding of a text in UTF-16 or UTF-32, by its mark or its zero bytes; None for other data."""
    encoding = next((encoding for mark, encoding in _MARKS if data.startswith(mark)), "")
    if not encoding:
        even, odd = data[:400:2].count(0), data[1:400:2].count(0)
        if max(even, odd) * 5 < min(len(data), 400) or min(even, odd) * 5 > max(even, odd):
            return None
        encoding = "utf-16-le" if odd > even else "utf-16-be"
    try:
        text = data.decode(encoding)
    except UnicodeDecodeError:
        return None
    return encoding if "\0" not in text else None


_MARKS = (
    (b"\xff\xfe\0\0", "utf-32-le"),
    (b"\0\0\xfe\xff", "utf-32-be"),
    (b"\xff\xfe", "utf-16-le"),
    (b"\xfe\xff", "utf-16-be"),
)


def _is_text(body: bytes) -> bool:
    try:
        body[:4096].decode()
    except UnicodeDecodeError as error:
        return error.end >= min(len(body), 4096)  # the sample may end inside a character
    return b"\x00" not in body[:4096]


def _inflate(body: bytes, wbits: int, name: str) -> bytes:
    machine = zlib.decompressobj(wbits)
    try:
        data = machine.decompress(body, MAX_RECORD_BYTES)
    except zlib.error as error:
        raise UnreadableSource(f"the body is damaged {name} data: {error}") from None
    if machine.unconsumed_tail:
        raise UnreadableSource(f"the body unpacks to more than {MAX_RECORD_BYTES >> 20} MB")
    if not machine.eof:
        raise UnreadableSource(f"the body is truncated {name} data")
    return data


def _gzip(body: bytes) -> bytes:
    return _inflate(body, 31, "gzip") if body.startswith(b"\x1f\x8b") else body


def _deflate(body: bytes) -> bytes:
    if _is_text(body):
        return body
    try:
        return _inflate(body, 15, "deflate")
    except UnreadableSource:
        return _inflate(body, -15, "deflate")  # some servers send raw deflate, without the zlib header


def _brotli(body: bytes) -> bytes:
    if _is_text(body):
        return body
    return _with_module(("brotli", "brotlicffi"), "brotli", body)


def _zstd(body: bytes) -> bytes:
    if not body.startswith(b"\x28\xb5\x2f\xfd"):
        return body
    return _with_module(ZSTD, "zstd", body)


def _with_module(modules: tuple[str, ...], name: str, body: bytes) -> bytes:
    for module in modules:
        try:
            decompress: Callable[[bytes], bytes] = importlib.import_module(module).decompress
        except ImportError:
            continue
        try:
            return decompress(body)
        except Exception as error:  # each module has its own error class
            raise UnreadableSource(f"the body is damaged {name} data: {error}") from None
    raise UnreadableSource(
        f"the body is compressed with {name}", hint=f"install {modules[-1]}, or record without accept-encoding: {name}"
    )


_CONTENTS: dict[str, Callable[[Any], bytes | None]] = {
    "json": _json,
    "text": spelled,
    "string": spelled,
    "base64": from_base64,
    "binary": from_base64,
}
#: The members of a mapping that holds a text, in the notations of VCR.
_STRINGS = ("encoding", "string", "base64_string")
#: Members beside ``body`` in which pydantic-ai and req_cassette, WireMock, and HAR keep bodies.
_BESIDE: dict[str, Callable[[Any], bytes | None]] = {
    "parsed_body": _json,
    "body_json": _json,
    "body_blob": from_base64,
    "jsonBody": _json,
    "base64Body": from_base64,
    "bodyAsBase64": from_base64,
    "postData": lambda posted: spelled(posted.get("text")) if isinstance(posted, dict) else None,
}
_UNPACK: dict[str, Callable[[bytes], bytes]] = {
    "gzip": _gzip,
    "x-gzip": _gzip,
    "deflate": _deflate,
    "br": _brotli,
    "zstd": _zstd,
}
