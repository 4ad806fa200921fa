"""What reading a file gives: exchanges, and places where there is no exchange to be had."""

from __future__ import annotations

from typing import Any

from msgspec import Struct


class Exchange(Struct, kw_only=True):
    """One request and its response as they stood on the wire, not decoded yet.

    ``source``: "<path>#<n>", n counted from 1 (in JSON lines, the line); ``line`` where the format has lines.
    ``wire`` is None where neither the file, the address nor the body names it; ``url`` is without its scheme and query,
    ``address`` is whole, as the file has it. ``stream`` is None where it is not known. ``request``: the parsed body,
    None where there is none or it is not JSON; ``sent``: the bytes of that body (xai.grpc: of the message).
    ``origin``: the value of the header by which emulated and replayed answers name their origin (`emulation_marker`).
    ``request_headers`` have lower-case names, and hold credentials where the source does. The response is ``body`` or,
    on xai.grpc, ``frames`` (serialized messages); where a call broke off after some, ``body`` is the status with which
    it ended. ``provenance``: what the file says of its origin.
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

    @property
    def place(self) -> str:
        """Where a person finds it: "path:line", or the source where there are no lines."""
        return self.source if self.line is None else f"{self.source.rpartition('#')[0]}:{self.line}"


class Problem(Struct, frozen=True):
    """A file, or a place in one, that cannot be read as traffic.

    ``fault``: the caller should know that something is missing. False only for a file that a walk through a directory
    met and that is simply something else.
    """

    source: str
    what: str
    hint: str = ""
    line: int | None = None
    fault: bool = True

    @property
    def place(self) -> str:
        """Where a person finds it: "path:line", or the source where there are no lines."""
        return self.source if self.line is None else f"{self.source.rpartition('#')[0] or self.source}:{self.line}"

    def __str__(self) -> str:
        return f"{self.place}: {self.what}" + (f" ({self.hint})" if self.hint else "")


class Piece(Struct):
    """A part of the input that can be read on its own, in another process too.

    Either some lines of a recordings file (``lines``: number and bytes), or a whole file, with its ``content`` where it
    cannot be opened again. ``weight``: how many bytes of the file on disk were consumed for it.
    """

    path: str
    format: str
    lines: list[tuple[int, bytes]] | None = None
    content: bytes | None = None
    walked: bool = False
    weight: int = 0


Found = Exchange | Problem
