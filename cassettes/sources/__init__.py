"""Readers that turn files into exchanges: recordings, cassettes of several recorders, HAR files, single bodies.

    for found in read("tests/cassettes"):
        if isinstance(found, Problem): ...       # one line: path, location, what, hint
        else: ...                                # an Exchange

A file's content never makes `read` raise: it yields a `Problem` instead. Where the format allows it, one record is in
memory at a time: JSON lines and YAML are read as streams; JSON and HAR files are held as bytes, their members parsed
one by one.

To add a format, write a module with ``exchange(source, line, item) -> Exchange`` and list it in a table here.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterable, Iterator
from typing import Any

from toolparity.normalizer import json_codec
from toolparity.normalizer.body_splitter import responses

from ..errors import UnreadableSource
from . import har, http, member_lists, recordings, vcrpy, xai_proto
from .files import STDIN, Opened, opened, plain_name, size_of, walk
from .model import Exchange, FilePart, Problem, ReadItem

#: File suffix -> reader. A walk through a directory takes only files with these suffixes.
SUFFIXES: dict[str, str] = {
    ".jsonl": "lines",
    ".ndjson": "lines",
    ".yaml": "yaml",
    ".yml": "yaml",
    ".json": "json",
    ".har": "json",
    ".sse": "body",
    ".txt": "body",
}

#: The top-level member that holds the interactions -> the function that reads one.
_Reads = Callable[[str, int | None, dict[str, Any]], Exchange]
MEMBERS: dict[str, _Reads] = {
    "interactions": vcrpy.exchange,
    "http_interactions": http.interaction,
    "log.entries": har.exchange,
}
_KEYS = tuple(MEMBERS)
#: Text found only in traffic: the top of a cassette, HAR file or recording, members of an answer, stream events.
_TRAFFIC = re.compile(
    rb"""^"?(?:http_)?interactions"?\s*:|^\s*\{\s*"(?:http_)?interactions"\s*:|"log"\s*:\s*\{.*"entries"\s*:"""
    rb"""|"(?:choices|tool_calls|tool_use|finish_reason|stop_reason|function_call|frames)"\s*:|"error"\s*:\s*\{[^{}]*"message"\s*:"""
    rb"""|"object"\s*:\s*"(?:chat\.completion|response")|"type"\s*:\s*"(?:message_start|response\.)"""
    rb"""|^\s*\{.*"(?:request|body)"\s*:.*"(?:response|wire|status)"\s*:|^data:\s*[{\[]""",
    re.MULTILINE | re.DOTALL,
)
#: Byte order marks of UTF-16, which PowerShell's ``>`` writes.
_UTF_16 = (b"\xff\xfe", b"\xfe\xff")
#: First members of a cassette, in the recorder's order or sorted.
_YAML = (b"interactions:", b"http_interactions:", b"metadata:", b"recorded_with:", b"version:", b"---")
_LEADING_COMMENTS = re.compile(rb"\A(?:\s*#[^\n]*\n)*\s*")


def read(path: str | os.PathLike[str], wire: str | None = None) -> Iterator[ReadItem]:
    """Yield every exchange of a file, or of all files below a directory, and a Problem for each unreadable location.

    ``wire``: the wire to assume where the content does not show it.
    """
    for piece in split_files([os.fspath(path)], 0):
        if isinstance(piece, Problem):
            yield piece
        else:
            yield from read_part(piece, wire)


def split_files(paths: Iterable[str], batch_bytes: int) -> Iterator[FilePart | Problem]:
    """Split the input, in order, into pieces that can be read independently.

    Lines are collected into pieces of about ``batch_bytes`` bytes.
    """
    suffixes = tuple(SUFFIXES)
    for path in paths:
        empty = True
        for path_found, walked in walk(path, suffixes):
            empty = False
            try:
                yield from _split(path_found, walked, batch_bytes)
            except UnreadableSource as error:
                yield Problem(path_found, error.what, error.hint, fault=not walked or _shows_traffic(path_found))
        if empty:
            yield Problem(path, "the directory contains no file with a suffix of traffic", hint=" ".join(SUFFIXES))


def read_part(piece: FilePart, wire: str | None = None) -> Iterator[ReadItem]:
    """Yield the exchanges and problems of a piece."""
    if piece.lines is not None:
        for number, line in piece.lines:
            yield recordings.exchange(piece.path, number, line, wire)
        return
    try:
        with opened(piece.path, piece.content) as file:
            for item in _READERS[piece.format](file, wire):
                if wire is not None and isinstance(item, Exchange) and item.wire is None:
                    item.wire = wire
                yield item
    except UnreadableSource as error:
        at_line = int(error.where) if error.where.isdigit() else None
        yield Problem(piece.path, error.what, error.hint, at_line, not piece.walked or _shows_traffic(piece.path))


def disk_size(paths: Iterable[str]) -> int:
    """Return the bytes on disk of everything that `split_files` would read."""
    return sum(size_of(path, tuple(SUFFIXES)) for path in paths)


def _split(path: str, walked: bool, batch_bytes: int) -> Iterator[FilePart | Problem]:
    with opened(path) as file:
        reader = _format(file)
        if reader == "lines":
            yield from _batches(file, batch_bytes)
            return
        # A pipe can be opened only once, so the piece carries its content.
        on_disk = path != STDIN and os.path.isfile(path)
        content = None if on_disk else file.read_all()
        yield FilePart(path, reader, None, content, walked, os.path.getsize(path) if on_disk else 0)


def _shows_traffic(path: str) -> bool:
    """Return whether a file without exchanges should have had some: its beginning looks like traffic or is unreadable.

    A walk through a directory skips any other file without a fault.
    """
    try:
        with opened(path) as file:
            # UTF-16 cannot be read, but it counts as traffic.
            return _TRAFFIC.search(file.head.replace(b"\0", b"")) is not None
    except UnreadableSource:
        return True


def _batches(file: Opened, batch_bytes: int) -> Iterator[FilePart | Problem]:
    gathered: list[tuple[int, bytes]] = []
    size = before = 0
    for line in recordings.lines(file):
        if isinstance(line, Problem):
            yield line
            continue
        gathered.append(line)
        size += len(line[1])
        if size >= batch_bytes:
            now = file.consumed()
            yield FilePart(file.path, "lines", gathered, weight=now - before)
            gathered, size, before = [], 0, now
    if gathered:
        yield FilePart(file.path, "lines", gathered, weight=file.consumed() - before)


def _format(file: Opened) -> str:
    """Return the reader for a file, by its name, or by its beginning if the name does not decide."""
    head = file.head
    if not head.strip():
        raise UnreadableSource("the file contains only white space" if head else "the file is empty")
    if head.startswith(_UTF_16):
        raise UnreadableSource("the file is UTF-16", hint="write it as UTF-8")
    name = plain_name(file.path)
    reader = next((how for suffix, how in SUFFIXES.items() if name.endswith(suffix)), None)
    start = head.lstrip(b"\xef\xbb\xbf \r\n\t")[:1]
    if reader == "lines" or (reader is None and start == b"{"):
        if recordings.looks_like_rows(head):
            return "lines"
        return "body" if reader == "lines" else "json"
    if reader is not None:
        return reader
    if _LEADING_COMMENTS.sub(b"", head).startswith(_YAML):
        return "yaml"
    return "body"


def _yaml(file: Opened, wire: str | None) -> Iterator[ReadItem]:
    number = 0
    for key, line, item in member_lists.yaml_items(file.stream, _KEYS):
        number += 1
        yield _interaction(file.path, number, line, key, item)
    if not number:
        raise UnreadableSource("no traffic: no interactions in the file", hint="expected a cassette of vcrpy or VCR")


def _json(file: Opened, wire: str | None) -> Iterator[ReadItem]:
    data = file.read_all()
    items = member_lists.json_items(data, _KEYS)
    if items is None:
        yield from _documents(file.path, data, wire)
        return
    number = 0
    for key, item in items:
        number += 1
        yield _interaction(file.path, number, None, key, item)
    if not number:
        raise UnreadableSource("no traffic: no interactions in the file")


def _body(file: Opened, wire: str | None) -> Iterator[ReadItem]:
    yield from _documents(file.path, file.read_all(), wire)


def _documents(path: str, data: bytes, wire: str | None) -> Iterator[ReadItem]:
    """Yield each exchange of a file of bodies, streams and rows, in any framing.

    Raises UnreadableSource if there is none. An unreadable part beside readable ones becomes a Problem.
    """
    problems: list[Problem] = []
    read = False
    for number, part in enumerate(responses(data), 1):
        source = f"{path}#{number}"
        try:
            exchange = _part(source, part, wire)
        except UnreadableSource as error:
            problems.append(Problem(source, error.what, error.hint))
            continue
        yield from problems
        yield exchange
        problems, read = [], True
    if not read:
        raise UnreadableSource(problems[0].what, hint=problems[0].hint)
    yield from problems


def _part(source: str, data: bytes, wire: str | None) -> Exchange:
    """Read one response: a row (a recording, or a request with its response), or a body."""
    try:
        item = json_codec.decode(data)
    except (ValueError, RecursionError):
        item = None
    if isinstance(item, dict) and recordings.is_row(item):
        return recordings.document(source, None, data, wire)
    return http.single_body(source, None, data, wire)


def _interaction(path: str, number: int, line: int | None, key: str, item: Any) -> ReadItem:
    source = f"{path}#{number}"
    try:
        if isinstance(item, UnreadableSource):
            line = int(item.where) if item.where.isdigit() else line
            raise item
        if not isinstance(item, dict):
            raise UnreadableSource(f"an interaction must be a mapping, got {type(item).__name__}")
        reads = xai_proto.exchange if xai_proto.claims(item) else MEMBERS[key]
        return reads(source, line, item)
    except UnreadableSource as error:
        return Problem(source, error.what, error.hint, line)


_READERS: dict[str, Callable[[Opened, str | None], Iterator[ReadItem]]] = {"yaml": _yaml, "json": _json, "body": _body}

__all__ = ["SUFFIXES", "Exchange", "ReadItem", "FilePart", "Problem", "disk_size", "split_files", "read", "read_part"]
