"""The results of reading a file: exchanges, and problems where no exchange can be read."""

from __future__ import annotations

from typing import Any

from msgspec import Struct

from toolparity.normalizer.findings import Finding

#: The wire of a recorded WebSocket session whose format is not known. Its messages are not read.
WEBSOCKET = "websocket"


class Exchange(Struct, kw_only=True):
    """One request and its response as on the wire, not decoded yet.

    ``source``: "<path>#<n>", where n counts from 1 (in JSON lines: the line number). ``line``: only for formats with
    lines. ``wire``: None if neither the file, the address nor the body shows it. ``url``: without scheme and query;
    ``address``: complete, as in the file. ``stream``: None if unknown. ``request``: the parsed request body, None if
    absent or not JSON; ``sent``: its bytes (xai.grpc: those of the message). ``origin``: the header with which emulated
    and replayed responses declare their origin (`emulation_marker`). ``request_headers`` have lower-case names and may
    hold credentials.

    The response is ``body`` or, on xai.grpc, ``frames`` (serialized messages). If a call failed after some frames,
    ``body`` is its final status. ``provenance``: what the file says about its origin. ``calls``: how many calls its
    response has at least, by an independent count; None if they were not counted. ``steps``: how the exchange was found
    in the file, from outside to inside. ``notes``: findings about it that the rest of its session shows.
    """

    source: str
    line: int | None = None
    id: str | None = None
    provider: str | None = None
    wire: str | None = None
    stream: bool | None = None
    status: int | None = None
    content_type: str | None = None
    model: str | None = None
    url: str | None = None
    address: str | None = None
    method: str | None = None
    request: Any = None
    sent: bytes | None = None
    request_headers: dict[str, str] | None = None
    origin: str | None = None
    body: bytes | None = None
    frames: list[bytes] | None = None
    chunk_lengths: list[int] | None = None
    provenance: dict[str, Any] | None = None
    calls: int | None = None
    steps: tuple[str, ...] = ()
    notes: tuple[Finding, ...] = ()

    @property
    def location(self) -> str:
        """The location for messages: "path:line", or the source if there are no lines."""
        return self.source if self.line is None else f"{self.source.rpartition('#')[0]}:{self.line}"


class Problem(Struct, frozen=True):
    """A file, or a location in one, that cannot be read as traffic.

    ``fault``: the caller should know that something is missing. False only for a file found while walking a directory
    that does not look like traffic, and for an entry without traffic, such as a line of text (``skipped``), which
    `PartReader` yields only on demand, with its beginning as ``excerpt``. ``folder``: a directory without any file
    that may be traffic.
    """

    source: str
    what: str
    hint: str = ""
    line: int | None = None
    fault: bool = True
    skipped: bool = False
    excerpt: str = ""
    folder: bool = False

    @property
    def location(self) -> str:
        """The location for messages: "path:line", or the source if there are no lines."""
        return self.source if self.line is None else f"{self.source.rpartition('#')[0] or self.source}:{self.line}"

    @property
    def kind(self) -> tuple[str, bool]:
        """What similar problems have in common: the text before the first colon, because the rest differs."""
        return self.what.partition(":")[0], self.fault

    def __str__(self) -> str:
        return f"{self.location}: {self.what}" + (f" ({self.hint})" if self.hint else "")


class FilePart(Struct, frozen=True):
    """A part of the input that can be read independently, also in another process.

    ``format``: the reader. The part is the whole file if ``end`` is None. Otherwise it is the lines that begin in the
    bytes from ``start`` up to ``end`` of a file of plain JSON lines, or these row groups of a Parquet file. ``content``
    is set if the file cannot be opened again or is unpacked elsewhere: the content of the file, or some of its lines.

    ``before``: the number of lines or rows before the part; None if it is unknown, and then the part numbers its
    places from 1 (`Numbering` adds the rest). ``size``: the size of the file on disk in bytes, 0 if unknown.
    ``is_last``: nothing of the file follows.
    ``weight``: bytes on disk that the part accounts for. ``walked``: the file was found in a directory. ``log``: the
    format of the log whose entries the file holds, if the caller named it or the file shows it. ``columns``: the
    columns of its rows that hold an entry. ``rule``: how its format was recognized. ``beside``: the input, whose other
    files can complete the entries.
    """

    path: str
    format: str
    start: int = 0
    end: int | None = None
    content: bytes | None = None
    before: int | None = 0
    size: int = 0
    is_last: bool = True
    weight: int = 0
    walked: bool = False
    log: str | None = None
    columns: tuple[str, ...] = ()
    rule: str = ""
    beside: tuple[str, ...] = ()


ReadItem = Exchange | Problem
