"""A damaged stream is read alike in any pieces, as a body, and from a file, or all refuse it (law `any-split`).

The damage is that of proxies, broken connections and logs: events that are lost, repeated, swapped, cut off, or of
another stream, and errors, terminators and text between them. Each case is drawn from its number, so that a failure
repeats.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any, cast

from msgspec.structs import replace

from tests.normalizer.recorded.rows import Row, feed, streams
from tests.normalizer.recorded.test_any_split import cut
from tests.support.thoroughness import is_thorough
from tests.support.wires import BYTE_WIRES
from toolparity import Response, normalize
from toolparity.cassettes.sources import Problem, read
from toolparity.cassettes.sources.decoding import response_of
from toolparity.normalizer.detect import json_object
from toolparity.normalizer.errors import SeveralBodies, ToolparityError
from toolparity.normalizer.model import Wire
from toolparity.normalizer.readers import RAW, EventStreamReader, JsonLinesReader, sniff

CASES = 7000 if is_thorough() else 150
MOST_BYTES = 20_000
ERROR = b'{"error":{"message":"Down.","code":503}}'
#: What can be between the events of a stream in text.
BETWEEN = (b"data: [DONE]", b"data: " + ERROR, ERROR, b"<html>Bad gateway</html>", b"data: {", b"{", b": ping")
Outcome = Response | str


def events_of(data: bytes) -> tuple[list[bytes], bytes]:
    """The events of a stream, and what separates them."""
    if data[:1] == b"\0":
        events = []
        while data:
            size = int.from_bytes(data[:4], "big")
            events.append(data[:size])
            data = data[size:]
        return events, b""
    if data.lstrip()[:1] == b"[":
        reader = sniff(data, len(data) + 1)
        assert reader is not None
        return [event for _, event in reader.feed(data) + reader.close()], b",\n"
    separator = next((each for each in (b"\n\n", b"\r\n\r\n") if each in data), b"\n")
    return data.split(separator), separator


def damaged(row: Row, others: dict[str, list[Row]], chance: random.Random) -> bytes:
    """The stream of a recording with one to four damages."""
    events, separator = events_of(row.data)
    for _ in range(chance.randint(1, 4)):
        if len(events) < 2:
            break
        at, other = chance.randrange(len(events)), chance.randrange(len(events))
        kind = chance.randrange(8)
        if kind == 0:
            del events[at]
        elif kind == 1:
            events.insert(at, events[at])
        elif kind == 2:
            events[at], events[other] = events[other], events[at]
        elif kind == 3:
            events[at] = events[at][: chance.randint(0, len(events[at]))]
        elif kind == 4:
            del events[at + 1 :]
        elif kind == 5:
            events[at] = events[at].replace(b'"index": 0', b'"index": 1').replace(b'"index":0', b'"index":1')
        elif kind == 6:
            wire = row.wire if chance.random() < 0.8 else chance.choice(list(others))
            more, between = events_of(chance.choice(others[wire]).data)
            if bool(between) == bool(separator):
                events[at:at] = more[chance.randrange(len(more)) :][: chance.choice((2, 2, len(more)))]
        elif separator:
            events.insert(at, chance.choice(BETWEEN))
    data = separator.join(events)
    return b"[" + data + b"]" if separator == b",\n" else data


def is_body(data: bytes) -> bool:
    """Whether nothing shows a stream: one JSON document, whole or cut off, with any text beside it, or only text.

    A line that is an event shows one, even if a brace before it is not closed.
    """
    reader = sniff(data, len(data) + 1)
    if reader is None or json_object(data) is not None:
        return True
    if isinstance(reader, EventStreamReader):
        return False
    events = [event for name, event in reader.feed(data) + reader.close() if name is not RAW]
    if len(events) != 1 or type(reader) is not JsonLinesReader:
        return not events
    if json_object(events[0]) is not None:
        return True
    for line in data.split(b"\n")[1:]:
        if line.startswith((b"data:", b"event:", b"id:", b":")) or (line[:1] == b"{" and json_object(line) is not None):
            return False
    return True


def outcome(read_all: Callable[[Row, Any], Response], row: Row, data: Any) -> Outcome:
    """The response, or the name of the error."""
    try:
        response = read_all(row, data)
    except ToolparityError as error:
        return type(error).__name__
    return response.with_findings([f for f in response.findings if f.code != "stream-body"])


def filed(path: Path, row: Row, data: bytes) -> Response:
    """The response of a file that contains this data."""
    path.write_bytes(data)
    found = list(read(path, row.wire))
    if len(found) > 1:
        raise SeveralBodies(f"{len(found)} entries")
    (only,) = found
    if isinstance(only, Problem):
        raise ToolparityError(only.what)
    return response_of(only, cast(Wire, row.wire), row.provider)


def misses(wire: str, others: dict[str, list[Row]], path: Path) -> Iterator[str]:
    """The cases of a wire in which another way than a whole stream gives another outcome."""
    tried = 0
    for number in range(CASES):
        chance = random.Random(f"{wire} {number}")
        row = chance.choice(others[wire])
        data = damaged(row, others, chance)
        if is_body(data):
            continue
        tried += 1
        pieces = cut(data, (chance.randint(0, len(data)) for _ in range(chance.choice((1, 8, 40)))))
        whole = outcome(lambda row, data: feed(row, [data])[0], row, data)
        ways = {
            "in pieces": outcome(lambda row, pieces: feed(row, pieces)[0], row, pieces),
            "as a body": outcome(lambda row, data: normalize(data, row.wire, provider=row.provider), row, data),
        }
        # An entry of a file that has only errors or text is a separate problem.
        if isinstance(whole, str) or whole.choices or whole.error is None:
            ways["from a file"] = outcome(partial(filed, path), row, data)
        for how, other in ways.items():
            if whole != other or (isinstance(whole, Response) and whole.findings != other.findings):  # type: ignore[union-attr]
                yield f"{wire} {number} ({row.id}) {how}"
    assert tried > CASES * 0.8


def test_a_damaged_stream_is_read_alike_in_pieces_as_a_body_and_from_a_file(recordings: Path, tmp_path: Path) -> None:
    others = {
        wire: [
            replace(row, status=None)  # a file of one body has no status
            for folder in ("recordings", "recordings3")
            for row in streams(recordings.parent / folder, wire)
            if row.body and not row.failed and len(row.body) <= MOST_BYTES
        ]
        for wire in BYTE_WIRES
    }
    assert not [miss for wire in BYTE_WIRES for miss in misses(wire, others, tmp_path / "stream.txt")]
