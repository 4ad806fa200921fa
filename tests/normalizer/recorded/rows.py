"""Recorded exchanges, row by row, and the two ways to decode one.

Only what the tests need: the tool's own reader of recordings has its own tests.
"""

from __future__ import annotations

import base64
import gzip
import json
from collections.abc import Iterable, Iterator
from functools import cache
from pathlib import Path
from typing import Any

import msgspec

from toolparity import Response, StreamDecoder, normalize
from toolparity.normalizer.events import Event


class Row(msgspec.Struct):
    """One exchange, as the recordings' format has it."""

    id: str
    wire: str
    stream: bool
    model: str | None = None
    provider: str | None = None
    status: int | None = None
    content_type: str | None = None
    request: Any = None
    body: str | None = None
    body_encoding: str | None = None
    frames: list[str] | None = None
    chunk_lengths: list[int] | None = None
    source: dict[str, Any] = {}

    @property
    def failed(self) -> bool:
        return (self.status or 200) >= 400

    @property
    def data(self) -> bytes:
        """The bytes of the body (of all messages one after the other, where the body is messages)."""
        if self.frames is not None:
            return b"".join(self.messages)
        assert self.body is not None
        return base64.b64decode(self.body) if self.body_encoding else self.body.encode("utf-8", "surrogatepass")

    @property
    def messages(self) -> list[bytes]:
        return [base64.b64decode(frame) for frame in self.frames or ()]

    @property
    def arrived(self) -> list[bytes] | None:
        """The body in the pieces in which it came from the network; None where that was not recorded."""
        if not self.chunk_lengths:
            return None
        data, pieces, start = self.data, [], 0
        for length in self.chunk_lengths:
            pieces.append(data[start : start + length])
            start += length
        return [*pieces, data[start:]]


def files(recordings: Path, wire: str) -> list[Path]:
    """The files of a wire: in the folder of recordings, and in the sets that were added beside it."""
    return sorted(recordings.parent.glob(f"{recordings.name}*/{wire}.jsonl.gz"))


def lines(recordings: Path, wire: str) -> Iterator[bytes]:
    for path in files(recordings, wire):
        with gzip.open(path) as file:
            yield from file


#: Beginnings of the ids of recordings that are filed under another wire: Ollama's answers at its endpoint for
#: Chat Completions.
MISFILED = {"ollama.chat": "prism.other.ollama_chat.structured-with-multiple-tools-structured-mode-"}


@cache
def _all_rows(recordings: Path, wire: str) -> tuple[Row, ...]:
    return tuple(msgspec.convert(json.loads(line), Row) for line in lines(recordings, wire))


def rows(recordings: Path, wire: str) -> tuple[Row, ...]:
    """Every exchange of a wire; none if the set has no file of it."""
    if not (recordings / f"{wire}.jsonl.gz").exists():
        return ()
    if wire not in MISFILED:
        return _all_rows(recordings, wire)
    return tuple(row for row in _all_rows(recordings, wire) if not row.id.startswith(MISFILED[wire]))


def misfiled(recordings: Path, wire: str) -> list[Row]:
    """The exchanges in the file of a wire that are of another one."""
    return [row for row in _all_rows(recordings, wire) if row not in rows(recordings, wire)]


#: Recorded exchanges with status 200 whose request a rule refuses, by a part of their ids, and why.
EXCUSED = {
    "otel-js.openai.responses.mock-responses-openai-responses-records-function-call": "written by hand",
    "llama-stack-old.other.ollama_chat.responses-f1592dee71e5": "the image was replaced by its digest",
}


def accepted(recordings: Path, wire: str) -> list[Row]:
    """The exchanges whose request the provider accepted as it was recorded."""
    return [row for row in rows(recordings, wire) if not row.failed and row.request and not excused(row.id)]


def excused(id: str) -> bool:
    return any(part in id for part in EXCUSED)


def streams(recordings: Path, wire: str) -> list[Row]:
    return [row for row in rows(recordings, wire) if row.stream]


def decode(row: Row, *, request: Any = None) -> Response:
    """The response of an exchange, its body fed whole."""
    if row.stream:
        return feed(row, row.messages if row.frames is not None else [row.data], request=request)[0]
    return normalize(row.data, row.wire, provider=row.provider, status=row.status, request=request)


def feed(row: Row, pieces: Iterable[bytes], *, request: Any = None) -> tuple[Response, list[Event]]:
    """The response of a streamed exchange fed in these pieces, and all events on the way."""
    decoder = StreamDecoder(row.wire, provider=row.provider, status=row.status, request=request)
    events: list[Event] = []
    for piece in pieces:
        events += decoder.feed(piece)
    return decoder.finish(), events
