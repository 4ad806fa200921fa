"""Logs of lines of text with JSON objects in them, as containers, syslog and loggers of programs write them.

    2026-11-27T10:00:00.123456789Z stdout F {"request": …}             a container of Kubernetes (CRI)
    {"log": "{\\"request\\": …}\\n", "stream": "stdout", "time": …}       a container of Docker (json-file)
    [pod/api-1/api] {"request": …}                                     kubectl logs --prefix
    Nov 27 10:00:00 host api[7]: {"request": …}                        syslog, journald
    2026-11-27 10:00:00,123 INFO [main] Client - request={…} response={…}

Container runtimes cut lines of more than 16 KB, and the lines of several streams may interleave. CRI marks each piece
but the last with P; Fluent Bit keeps that mark as ``_p`` or ``logtag``. Docker's pieces have no line end:
https://github.com/kubernetes/design-proposals-archive/blob/main/node/kubelet-cri-logging.md
"""

from __future__ import annotations

import re
from collections import OrderedDict
from collections.abc import Iterator
from typing import Any, NamedTuple

from toolparity.normalizer import json_codec

from . import files, lines, recordings, traffic_marks
from .entries import by, skipped, with_excerpt
from .json_text import object_of, objects_in
from .model import Problem, ReadItem

_CRI = re.compile(rb"\d{4}-\d\d-\d\dT\S+ (stdout|stderr) ([PF])(?::\S*)? ?(.*)", re.DOTALL)
_CONTAINER = re.compile(rb'\{\s*"log"\s*:\s*"')
#: The beginning of a line of an event stream, which is not text before JSON.
_FIELD = re.compile(rb"(?:data|event|id|retry)?:")
#: The members of a line of Docker. Other collectors remove the end of a line.
_DOCKER = {"log", "stream", "time", "attrs"}
#: Members that show which container wrote a line, beside its stream.
_WRITER = ("stream", "kubernetes", "container_id", "container_name")
#: How many streams may have lines whose last piece has not arrived.
_MOST_STREAMS = 1_000


class _Line(NamedTuple):
    """A line of a program. ``number``: the number of its first piece in the file. ``text``: None if it is too long."""

    number: int
    text: bytes | None
    step: str
    is_whole: bool = True


class _Piece(NamedTuple):
    stream: bytes
    text: bytes
    is_last: bool
    step: str


def rule_of(head: bytes) -> str | None:
    """Return what shows that a file is such a log, by its first bytes, or None."""
    texts = [text for line in head.split(b"\n") if (text := line.strip(b"\xef\xbb\xbf \t\r"))]
    if not texts or _FIELD.match(texts[0]) or b"\0" in head:  # a stream of events, or no text
        return None
    if _CRI.match(texts[0]):
        return "its first line has the prefix of a container runtime (CRI)"
    if texts[0].startswith(b"{"):
        item = object_of(texts[0])
        if _is_container_line(item) or (item is None and len(texts) == 1 and _CONTAINER.match(texts[0])):
            return "its first line is one of a container, with log and stream"
        return None
    for text in texts:
        if (
            not (text.startswith(b"[{") or _FIELD.match(text))
            and b"{" in text
            and _has_entry(text, is_cut=text is texts[-1])
        ):
            return "a line has text and a JSON object with traffic"
    return None


def exchanges(file: files.Opened, wire: str | None) -> Iterator[ReadItem]:
    """Yield what the lines hold. Lines without traffic are skipped: other lines of the program."""
    for line in _joined(file):
        source = f"{file.path}#{line.number}"
        if line.text is None:
            yield lines.too_long(file.path, line.number)
        elif not line.is_whole and b"{" in line.text:
            problem = Problem(source, "a line without its end", "pass the file with the rest of the line", line.number)
            yield with_excerpt(line.text, problem)
        else:
            items = _of_line(file.path, line.number, line.text, wire)
            yield from by(line.step, items) if line.step else items


def _of_line(path: str, number: int, text: bytes, wire: str | None) -> Iterator[ReadItem]:
    source = f"{path}#{number}"
    text = text.strip()
    if b"{" not in text and not traffic_marks.in_entry(text):
        if text:
            yield with_excerpt(text, skipped(source, "a line of text", number))
        return
    is_object = text.startswith(b"{") and object_of(text) is not None
    # The text of a line means the same as in an object of a collector.
    data = text if is_object else json_codec.encode({"line": text.decode("utf-8", "replace")})
    for item in recordings.exchanges(path, number, data, wire):
        if not isinstance(item, Problem) or item.skipped or traffic_marks.in_entry(text):
            yield with_excerpt(text, item)
        else:
            yield with_excerpt(text, skipped(source, "an object without traffic", number))


def _joined(file: files.Opened) -> Iterator[_Line]:
    """Yield the lines of the programs, each with all of its pieces."""
    pending = _Pending()
    for number, line in lines.numbered(file.stream):
        if line is None:
            yield _Line(number, None, "")
            continue
        piece = _piece(line)
        if piece.is_last and piece.stream not in pending.lines:
            yield _Line(number, piece.text, piece.step)
        elif pending.add(number, piece):
            yield pending.take(piece.stream, is_whole=piece.is_last)
    while pending.lines:
        yield pending.take(next(iter(pending.lines)), is_whole=False)


class _Pending:
    """Lines whose last piece has not arrived. Together they have at most MAX_RECORD_BYTES.

    ``lines``: stream -> the number of the first piece, the pieces (None: they were too long), and the step.
    """

    def __init__(self) -> None:
        self.lines: OrderedDict[bytes, tuple[int, list[bytes] | None, str]] = OrderedDict()
        self._bytes = 0

    def add(self, number: int, piece: _Piece) -> bool:
        """Add a piece. Return whether the line of its stream must be taken."""
        first, pieces, _ = self.lines.get(piece.stream, (number, [], ""))
        if pieces is not None:
            pieces.append(piece.text)
            self._bytes += len(piece.text)
            if self._bytes > files.MAX_RECORD_BYTES:
                self._bytes -= sum(map(len, pieces))
                pieces = None
        self.lines[piece.stream] = (first, pieces, piece.step)
        return piece.is_last or len(self.lines) > _MOST_STREAMS

    def take(self, stream: bytes, *, is_whole: bool) -> _Line:
        first, pieces, step = self.lines.pop(stream)
        if pieces is None:
            return _Line(first, None, step)
        self._bytes -= sum(map(len, pieces))
        return _Line(first, b"".join(pieces), f"{step}, pieces joined", is_whole)


def _piece(line: bytes) -> _Piece:
    """Return a line of the file as a piece of a line of a program."""
    found = _CRI.match(line)
    if found is not None:
        return _Piece(found[1], found[3].rstrip(b"\r\n"), found[2] == b"F", "line of a container")
    item = object_of(line) if line.lstrip().startswith(b"{") and b'"stream"' in line else None
    if item is None or not _is_container_line(item):
        return _Piece(b"", line, True, "")
    text = item["log"].encode("utf-8", "surrogatepass")
    mark = item.get("_p", item.get("logtag"))
    is_last = mark != "P" and not (item.keys() <= _DOCKER and not text.endswith(b"\n") and object_of(text) is None)
    stream = json_codec.encode([item.get(name) for name in _WRITER])
    return _Piece(stream, text, is_last, "log of a container")


def _is_container_line(item: dict[str, Any] | None) -> bool:
    return item is not None and isinstance(item.get("log"), str) and item.get("stream") in ("stdout", "stderr")


def _has_entry(text: bytes, *, is_cut: bool) -> bool:
    """Return whether a line has text before an object with traffic. ``is_cut``: its end may be missing."""
    if not traffic_marks.in_entry(text):
        return False
    objects, _ = objects_in(text.decode("utf-8", "replace"))
    return is_cut or any(map(recordings.holds_entry, ({"line": text.decode("utf-8", "replace")}, *objects.values())))
