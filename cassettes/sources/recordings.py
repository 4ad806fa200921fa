"""Recordings: JSON lines, one exchange a line, plain or gzip.

    {"id", "provider", "wire", "model", "stream", "status", "content_type", "request", "body" | "frames", …}

``body`` is text (``body_encoding``: "base64" where it is binary); ``frames`` are base64 messages (xai.grpc).
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import msgspec
from msgspec import Struct

from normalizer import jsontext
from normalizer.errors import UnreadableSource

from . import files
from .bodies import from_base64
from .http import is_stream, wire_of
from .model import Exchange, Found, Problem

_KEY = re.compile(rb'"(body|frames|wire|request)"\s*:')


class Row(Struct):
    """A line as the format has it; other members are left alone."""

    id: str | None = None
    provider: str | None = None
    wire: str | None = None
    model: str | None = None
    stream: bool | None = None
    status: int | None = None
    content_type: str | None = None
    request: Any = None
    body: str | None = None
    body_encoding: str | None = None
    frames: list[str] | None = None
    chunk_lengths: list[int] | None = None
    fidelity: str | None = None
    authenticity: str | None = None
    source: Any = None


_decode = msgspec.json.Decoder(Row).decode


def looks_like_rows(head: bytes) -> bool:
    """Whether a file of JSON lines holds recordings (and not, say, the events of one stream)."""
    # Any line tells: the first can be the damaged one. Inside a text the quotes would be escaped.
    return any(line.lstrip(b"\xef\xbb\xbf \t").startswith(b"{") and _KEY.search(line) for line in head.split(b"\n"))


def lines(file: files.Opened) -> Iterator[tuple[int, bytes] | Problem]:
    """Each line that is not blank, with its number. One line is held at a time."""
    number = 0
    readline = file.stream.readline
    while line := readline(files.MAX_RECORD_BYTES + 1):
        number += 1
        if len(line) > files.MAX_RECORD_BYTES:
            while not line.endswith(b"\n") and (line := readline(files.HEAD_BYTES)):
                pass
            yield Problem(f"{file.path}#{number}", f"a line longer than {files.MAX_RECORD_BYTES >> 20} MB", line=number)
        elif not line.isspace():
            yield number, line.removeprefix(b"\xef\xbb\xbf") if number == 1 else line


def exchange(path: str, number: int, line: bytes) -> Found:
    """Read one line."""
    source = f"{path}#{number}"
    try:
        return _exchange(source, number, _row(line))
    except UnreadableSource as error:
        return Problem(source, error.what, error.hint, number)


def _row(line: bytes) -> Row:
    try:
        return _decode(line)
    except msgspec.ValidationError as error:
        raise UnreadableSource(f"no recording: {error}") from None
    except (msgspec.DecodeError, RecursionError):
        pass
    try:  # half surrogate pairs and huge numbers, which msgspec refuses and real bodies hold
        return msgspec.convert(jsontext.decode(line), Row)
    except (ValueError, RecursionError) as error:
        raise UnreadableSource(f"no JSON: {error}", hint="one exchange a line is expected") from None


def _exchange(source: str, number: int, row: Row) -> Exchange:
    body = frames = None
    if row.frames is not None:
        frames = [from_base64(frame) for frame in row.frames]
        body = None if row.body is None else row.body.encode()  # the status of a call that broke off
    elif row.body is None:
        raise UnreadableSource("no recording: neither body nor frames")
    elif row.body_encoding == "base64":
        body = from_base64(row.body)
    elif row.body_encoding:
        raise UnreadableSource(f"a body_encoding {row.body_encoding!r}", hint="base64 or none")
    else:
        body = row.body.encode("utf-8", "surrogatepass")
    provenance = {"fidelity": row.fidelity, "authenticity": row.authenticity, "source": row.source}
    stream = row.stream
    if stream is None and body is not None:
        stream = is_stream(body, row.content_type)
    return Exchange(
        source=source,
        line=number,
        id=row.id,
        provider=row.provider,
        wire=row.wire or (wire_of(body) if body else "xai.grpc" if frames else None),
        stream=stream,
        status=row.status,
        content_type=row.content_type,
        model=row.model,
        request=row.request,
        body=body,
        frames=frames,
        chunk_lengths=row.chunk_lengths,
        provenance={key: value for key, value in provenance.items() if value is not None} or None,
    )
