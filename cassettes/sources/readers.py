"""Readers: what yields the exchanges of a file of each format, and of a line of rows."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import suppress
from typing import Any

from msgspec.structs import replace

from toolparity.normalizer import json_codec
from toolparity.normalizer.body_splitter import responses
from toolparity.normalizer.detect import body_wires
from toolparity.normalizer.wires.shapes import event_wire

from ..errors import UnreadableSource
from . import (
    databases,
    http,
    lines,
    logs,
    member_lists,
    mitmproxy,
    raw_http,
    recorders,
    recordings,
    request_response_rows,
    sessions,
    tables,
    text_logs,
    traffic_marks,
    vcrpy,
    wrapping,
    xai_proto,
)
from .call_count import calls_in
from .entries import by, problem_of
from .files import STDIN, Opened, is_readable, opened, walk
from .formats import SUFFIXES
from .json_text import object_of
from .model import Exchange, FilePart, Problem, ReadItem

#: The top-level member that holds the interactions -> the function that reads one.
_Reads = Callable[[str, int | None, dict[str, Any]], Exchange]

MEMBERS: dict[str, _Reads] = {
    "interactions": vcrpy.exchange,
    "http_interactions": recorders.exchange,
    "log.entries": recorders.exchange,
    "Entries": recorders.exchange,
    "mappings": recorders.exchange,
    "requests": recorders.exchange,
}

_KEYS = tuple(MEMBERS)


def line_items(part: FilePart, number: int, line: bytes, wire: str | None) -> Iterator[ReadItem]:
    """Yield what one line holds."""
    if part.columns:
        return row_items(part, number, number, object_of(line), wire)
    return recordings.exchanges(part.path, number, line, wire, part.log)


def row_items(
    part: FilePart, number: int, line: int | None, row: dict[str, Any] | None, wire: str | None
) -> Iterator[ReadItem]:
    """Yield what the columns of a row hold. ``row`` is None if the line is not a JSON object."""
    source = f"{part.path}#{number}"
    try:
        if row is None:
            raise UnreadableSource("a row must be a JSON object")
        data = tables.entry(row, part.columns)
        if data is None and traffic_marks.in_entry(str(row)):
            raise UnreadableSource("the named columns are empty, but another one shows traffic", hint="name it as well")
        items = iter(()) if data is None else _part(source, data, wire, is_row=not part.columns)
        for item in by(f"cells of {', '.join(part.columns)}", items) if part.columns else items:
            if isinstance(item, Exchange):
                item.line = line
                yield item
            else:
                yield replace(item, line=line)
    except Exception as error:  # one row must not hide the others
        yield problem_of(error, "an entry", source, line)


def file_items(part: FilePart, file: Opened, wire: str | None) -> Iterator[ReadItem]:
    """Yield what a file holds. Raises UnreadableSource if it holds no traffic."""
    if part.columns:
        raise UnreadableSource("the file has no columns", hint="--column is for tables and JSON lines")
    if part.format == "log":
        return _sequence(file, part)
    return _READERS[part.format](file, wire)


def _yaml(file: Opened, wire: str | None) -> Iterator[ReadItem]:
    items = member_lists.yaml_items(file.stream, _KEYS)
    yield from _interactions(file.path, items, hint="expected a cassette of vcrpy or VCR")


def _interactions(path: str, items: Iterator[tuple[str, int | None, Any]], hint: str = "") -> Iterator[ReadItem]:
    """Yield each interaction, and the responses of the session whose messages are among them."""
    number = 0
    messages: list[sessions.Message] = []
    for key, line, item in items:
        if sessions.is_message(item):
            messages.append((item["direction"], item["data"]))
            continue
        number += 1
        yield _interaction(path, number, line, key, item)
    if messages:
        yield from sessions.exchanges(path, None, messages, first=number + 1)
    elif not number:
        raise UnreadableSource("no traffic: no interactions in the file", hint=hint)


def _json(file: Opened, wire: str | None) -> Iterator[ReadItem]:
    data = file.read_all()
    items = member_lists.json_items(data, _KEYS)
    if items is None:
        yield from _documents(file.path, data, wire)
        return
    yield from _interactions(file.path, ((key, None, item) for key, item in items))


def _body(file: Opened, wire: str | None) -> Iterator[ReadItem]:
    yield from _documents(file.path, file.read_all(), wire)


def _documents(path: str, data: bytes, wire: str | None) -> Iterator[ReadItem]:
    """Yield each exchange of a file of bodies, streams and rows, in any framing.

    Raises UnreadableSource if there is none. An unreadable part beside readable ones becomes a Problem.
    """
    problems: list[Problem] = []
    read = False
    parts = _parts(data, wire)
    if len(parts) > 1 and data.lstrip()[:1] == b"[" and not data.rstrip().endswith(b"]"):
        problems.append(Problem(path, "the list in the file has no end", "pass the whole file"))
    for number, part in enumerate(parts, 1):
        source = f"{path}#{number}"
        items: list[ReadItem] = []
        try:
            for item in _part(source, part, wire):
                items.append(item)
        except Exception as error:  # one entry must not hide the others
            items.append(problem_of(error, "an entry", source, None))
        if items and all(isinstance(item, Problem) and not item.skipped for item in items):
            problems += (item for item in items if isinstance(item, Problem))
            continue
        yield from problems
        yield from items
        problems, read = [], True
    if not read:
        raise UnreadableSource(problems[0].what, hint=problems[0].hint)
    yield from problems


def _parts(data: bytes, wire: str | None) -> list[bytes]:
    """Return the bytes of each entry: of each response, or of each element of a list that an export wraps."""
    parts = responses(data, wire)
    if len(parts) == 1 and (elements := _listed(parts[0])):
        return [json_codec.encode(element) for element in elements]
    item = object_of(parts[0]) if len(parts) == 1 else None
    if item is None or recordings.is_entry(item):
        return parts
    lists = [item[name] for name in wrapping.MEMBERS if isinstance(item.get(name), list)]
    lists = [elements for elements in lists if any(isinstance(element, dict) for element in elements)]
    with_entries = [elements for elements in lists if any(map(_is_entry, elements))]
    return [json_codec.encode(element) for elements in with_entries or lists[:1] for element in elements] or parts


def _part(source: str, data: bytes, wire: str | None, *, is_row: bool = False) -> Iterator[ReadItem]:
    """Read one entry: a row (a recording, or a request with its response), an entry of a log, or a body.

    ``is_row``: it is known to be none of a body.
    """
    item = object_of(data)
    if item is not None and (is_row or recordings.holds_entry(item)):
        return recordings.documents(source, None, data, wire)
    try:
        exchange = http.single_body(source, None, data, wire)
    except UnreadableSource:
        if item is None or body_wires(item):
            raise
        raise request_response_rows.why_not(item) from None
    exchange.calls = None if item is None else calls_in(item)
    exchange.steps = ("body of a response",)
    return iter((exchange,))


def _is_entry(element: Any) -> bool:
    return isinstance(element, dict) and (recordings.is_entry(element) or recordings.holds_entry(element))


def _listed(data: bytes) -> list[Any]:
    """Return the elements of a list if one of them is or wraps a row or an entry of a log; an empty list otherwise.

    Lists of bodies and of the events of streams are not divided here.
    """
    try:
        value = json_codec.decode(data) if data.lstrip()[:1] == b"[" else None
    except (ValueError, RecursionError):
        return []
    elements: list[Any] = value if isinstance(value, list) else []
    return elements if any(isinstance(one, dict) and _is_of_log(one) for one in elements) else []


def _is_of_log(element: dict[str, Any]) -> bool:
    if recordings.is_row(element) or logs.format_of(element) is not None:
        return True
    is_body = recordings.body_wire(element) is not None or event_wire(element) is not None
    return not is_body and bool(wrapping.entries(element, recordings.is_entry).entries)


def _sequence(file: Opened, part: FilePart) -> Iterator[ReadItem]:
    """Read a log whose entries depend on each other: JSON lines, or JSON documents in any layout."""
    format = part.log
    assert format is not None
    reader = logs.reader(format, file.path)
    for number, (line, data) in enumerate(_entries(file), 1):
        source = f"{file.path}#{number if line is None else line}"
        item = object_of(data)
        if item is None:
            yield Problem(source, "not an entry of the log: invalid JSON", line=line)
        else:
            yield from by(f"entry of {format}", reader.add(source, line, item))
    yield from by(f"entry of {format}", reader.finish(_others(part)))


def _others(part: FilePart) -> Iterator[dict[str, Any]]:
    """Yield the entries of the other files of the input that have the format of a part."""
    for path in part.beside:
        if path == STDIN or databases.is_url(path):
            continue
        with suppress(UnreadableSource):  # reading that file reports the error
            for found, _ in walk(path, tuple(SUFFIXES)):
                if found != part.path and is_readable(found):
                    with suppress(UnreadableSource), opened(found) as file:
                        if logs.sequence_of(file.head) == part.log:
                            yield from filter(None, (object_of(data) for _, data in _entries(file)))


def _entries(file: Opened) -> Iterator[tuple[int | None, bytes]]:
    if not recordings.has_lines(file.head):
        yield from ((None, part) for part in responses(file.read_all()))
        return
    yield from lines.whole(file)


def _interaction(path: str, number: int, line: int | None, key: str, item: Any) -> ReadItem:
    source = f"{path}#{number}"
    try:
        if isinstance(item, UnreadableSource):
            line = int(item.where) if item.where.isdigit() else line
            raise item
        if not isinstance(item, dict):
            raise UnreadableSource(f"an interaction must be a mapping, got {type(item).__name__}")
        reads = xai_proto.exchange if xai_proto.claims(item) else MEMBERS.get(key, recorders.exchange)
        made = reads(source, line, item)
        made.steps = (f"element of {key}",)
        return made
    except Exception as error:  # one interaction must not hide the others
        return problem_of(error, "an interaction", source, line)


_READERS: dict[str, Callable[[Opened, str | None], Iterator[ReadItem]]] = {
    "yaml": _yaml,
    "json": _json,
    "body": _body,
    "text": text_logs.exchanges,
    "mitmproxy": lambda file, wire: by("flow", mitmproxy.exchanges(file)),
    "raw-http": lambda file, wire: by("pair of messages", raw_http.exchanges(file)),
}
