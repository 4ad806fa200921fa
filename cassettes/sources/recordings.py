"""Recordings: JSON lines, one exchange per line, plain or compressed.

    {"id", "provider", "wire", "model", "stream", "status", "content_type", "request", "body" | "frames", …}

``body`` is JSON or text (with ``body_encoding`` "base64" if binary); ``frames`` are base64 messages (xai.grpc). A line
can also be a request with its response (`pairs`), a single response body, or a WebSocket session that
`toolparity proxy` recorded (`sessions`).
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import msgspec
from msgspec import Struct

from toolparity.normalizer import json_codec
from toolparity.normalizer.wires.limits import is_error
from toolparity.normalizer.wires.registry import specs
from toolparity.normalizer.wires.shapes import event_wire, whole_wire

from ..errors import UnreadableSource
from . import logs, recorders, request_response_rows, sessions, wrapping
from .bodies import from_base64
from .call_count import calls_in
from .entries import by, problem_of, skipped
from .http import is_stream, single_body, wire_of
from .model import WEBSOCKET, Exchange, Problem, ReadItem
from .request_response_rows import by_content

_RECORDING = ("recording",)
_KEYS = ("body", "frames", "wire", "request")
_KEY = re.compile(rb'"(body|frames|wire|request)"\s*:')


class RecordingRow(Struct):
    """A line of the format. Other members are ignored."""

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


_decode = msgspec.json.Decoder(RecordingRow).decode


def looks_like_rows(head: bytes) -> bool:
    """Return whether each line of a file is an exchange: a recording, a pair or a whole body, but not a stream event.

    One recording or pair is enough, because other lines may be damaged. Bodies count only if all lines are bodies.
    """
    texts = [text for line in head.split(b"\n") if (text := line.lstrip(b"\xef\xbb\xbf \t")).startswith(b"{")]
    items = [item for text in texts if (item := _parsed(text)) is not None]
    if not items:
        # The line is longer than the head. Quotes inside a string would be escaped.
        return any(map(_KEY.search, texts))
    if any(map(holds_entry, items)):
        return True
    return all(body_wire(item) is not None or is_error(item) for item in items)


def has_lines(head: bytes) -> bool:
    """Return whether the first line of a file is a JSON object, so that the file consists of JSON lines."""
    first, newline, _ = head.lstrip(b"\xef\xbb\xbf \r\n\t").partition(b"\n")
    return first.startswith(b"{") and (_parsed(first) is not None or not newline)


def _parsed(text: bytes) -> dict[str, Any] | None:
    try:
        item: dict[str, Any] = json_codec.decode(text)
        return item
    except (ValueError, RecursionError):
        return None


def is_row(item: dict[str, Any]) -> bool:
    """Return whether a JSON object is a recording or a pair, not a wire's answer with members of these names."""
    if body_wire(item) is not None or event_wire(item) is not None:
        return False
    return any(key in item for key in _KEYS) or recorders.claims(item) or request_response_rows.claims(item)


def body_wire(item: dict[str, Any]) -> str | None:
    """Return the wire whose whole response a JSON object is, or None."""
    return None if request_response_rows.has_both(item) else whole_wire(item)


def is_entry(item: dict[str, Any]) -> bool:
    """Return whether a JSON object is a recording, a pair, an entry of a log, or a whole body."""
    return is_row(item) or logs.format_of(item) is not None or body_wire(item) is not None


def holds_entry(item: dict[str, Any]) -> bool:
    """Return whether a JSON object is an entry, but not a whole body, or has one inside it."""
    if is_row(item) or logs.format_of(item) is not None:
        return True
    return body_wire(item) is None and bool(_wrapped(item).entries or request_response_rows.answered(item))


def _wrapped(item: dict[str, Any]) -> wrapping.Wrapped:
    """Return the entries inside an object: those with known members, or else those with known content."""
    wrapped = wrapping.entries(item, is_entry, lambda objects: is_entry(objects) or _has_content(objects))
    return wrapped if wrapped.entries else wrapping.entries(item, _has_content)


def _has_content(item: dict[str, Any]) -> bool:
    return by_content(item) is not None


def exchanges(
    path: str, number: int, line: bytes, wire: str | None = None, format: str | None = None
) -> Iterator[ReadItem]:
    """Read one line. ``wire``: the wire of a line that does not show it. ``format``: the format of logs to assume."""
    source = f"{path}#{number}"
    try:
        yield from documents(source, number, line, wire, format)
    except Exception as error:  # one line must not hide the others
        yield problem_of(error, "a recording", source, number)


def documents(
    source: str, line: int | None, data: bytes, wire: str | None = None, format: str | None = None
) -> Iterator[ReadItem]:
    """Read one JSON object: an entry of a log, which may hold several exchanges or none, or a single exchange.

    ``format``: the format of the log, if it is known. Raises UnreadableSource, except for entries of logs.
    """
    if format is None and (row := _recording(data)) is not None:
        made = _exchange(source, line, row, wire)
        made.steps = _RECORDING
        yield made
        return
    item = _object(data)
    if item.get("wire") == WEBSOCKET:
        yield from sessions.of_row(source, line, item)
        return
    whole = body_wire(item) is not None
    format = format or (None if whole else logs.format_of(item))
    if format is not None:
        yield from by(f"entry of {format}", logs.exchanges(format, source, line, item))
        return
    if not whole and not is_row(item):
        wrapped = _wrapped(item)
        for found in wrapped.entries:
            yield from by(found.where, documents(source, line, json_codec.encode(found.entry), wire))
        if wrapped.others:
            raise UnreadableSource(f"{wrapped.others} elements beside the entries are none")
        if wrapped.entries:
            return
        if (by_members := by_content(item)) is not None:
            yield from by(by_members.step, (request_response_rows.exchange(source, line, by_members.row, wire),))
            return
        if wrapping.is_text(item):
            yield skipped(source, "a line of text", line)
            return
    yield _document(source, line, data, item, wire)
    if not whole and (inside := _wrapped(item).entries):
        yield Problem(source, f"an entry has {len(inside)} more in other members", "write each as a separate one", line)


def _recording(data: bytes) -> RecordingRow | None:
    """Return the row of a recording, by the fast path: most lines are recordings."""
    try:
        row = _decode(data)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return None
    return row if row.body is not None or row.frames is not None else None


def _document(source: str, line: int | None, data: bytes, item: dict[str, Any], wire: str | None) -> Exchange:
    """Read a recording, a pair, or a whole body. Raises UnreadableSource."""
    if body_wire(item) is not None or (is_error(item) and not is_row(item)):
        body = single_body(source, line, data, wire)
        body.calls = calls_in(item)
        body.steps = ("body of a response",)
        return body
    if recorders.claims(item):
        return recorders.exchange(source, line, item)
    if request_response_rows.claims(item):
        return request_response_rows.exchange(source, line, item, wire)
    if not is_row(item):
        if event_wire(item):
            raise UnreadableSource("not a recording: an event of a stream", hint="expected one exchange per line")
        raise request_response_rows.why_not(item)
    made = _exchange(source, line, _row(item), wire)
    made.steps = _RECORDING
    return made


def _object(data: bytes) -> dict[str, Any]:
    try:  # unlike msgspec, json_codec accepts lone surrogates and huge numbers, which occur in real bodies
        item = json_codec.decode(data)
    except (ValueError, RecursionError) as error:
        raise UnreadableSource(f"invalid JSON: {error}", hint="expected one exchange per line") from None
    if not isinstance(item, dict):
        raise UnreadableSource(
            f"not a recording: a line must be an object, got {type(item).__name__}",
            hint="expected one exchange per line",
        )
    return item


def _row(item: dict[str, Any]) -> RecordingRow:
    if isinstance(item.get("body"), (dict, list)):
        item = {**item, "body": json_codec.text(item["body"])}
    if isinstance(item.get("id"), int):  # the number of a row in a database
        item = {**item, "id": str(item["id"])}
    try:
        return msgspec.convert(item, RecordingRow, strict=False)  # cells of CSV are texts
    except msgspec.ValidationError as error:
        raise UnreadableSource(f"not a recording: {error}") from None


def _exchange(source: str, line: int | None, row: RecordingRow, wire: str | None) -> Exchange:
    body = frames = None
    if row.frames is not None:
        frames = [from_base64(frame) for frame in row.frames]
        # the status of a failed call
        body = None if row.body is None else row.body.encode("utf-8", "surrogatepass")
    elif row.body is None:
        raise UnreadableSource("not a recording: neither body nor frames, nor request and response")
    elif row.body_encoding == "base64":
        body = from_base64(row.body)
    elif row.body_encoding:
        raise UnreadableSource(f"unknown body_encoding: {row.body_encoding!r}", hint="use base64, or omit it")
    else:
        body = row.body.encode("utf-8", "surrogatepass")
    provenance = {"fidelity": row.fidelity, "authenticity": row.authenticity, "source": row.source}
    stream = row.stream
    if stream is None and body is not None:
        stream = is_stream(body, row.content_type)
    wire = row.wire or (wire_of(body) if body else _framed_wire() if frames else None) or wire
    return Exchange(
        source=source,
        line=line,
        id=row.id,
        provider=row.provider,
        wire=wire,
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


def _framed_wire() -> str | None:
    """Return the only wire that is framed as messages, or None if there are several."""
    framed = [spec.name for spec in specs() if spec.framing == "messages"]
    return framed[0] if len(framed) == 1 else None
