"""The traffic that is mutated: recorded exchanges, or the shipped cassettes where there are no recordings.

An exchange is taken apart into what a mutation changes: the payloads of its events, its body, or its messages. Put
together again, it is the same answer.
"""

from __future__ import annotations

import base64
import copy
import json
import os
from collections.abc import Callable, Iterable, Iterator
from functools import cache
from itertools import pairwise
from pathlib import Path
from random import Random
from typing import Any, NamedTuple
from zlib import crc32

import msgspec

from tests.normalizer.recorded.rows import Row, rows
from tests.support import eventstream
from tests.support.thoroughness import is_thorough
from tests.support.wires import EVENT_STREAM_WIRES, LINE_WIRES
from toolparity import Response, StreamDecoder, ToolCall, ToolparityError, normalize
from toolparity.cassettes.sources import Exchange
from toolparity.cassettes.sources import read as read_files
from toolparity.normalizer.readers import SseReader

#: Members whose values are the model's, and not the wire's: a member more is another value there.
FOREIGN = frozenset(("arguments", "input", "action", "actions", "operation", "parameters", "metadata"))


def copied(value: Any) -> Any:
    """A deep copy."""
    return copy.deepcopy(value)


def objects(
    value: Any, *, own: bool = False, path: tuple[Any, ...] = ()
) -> Iterator[tuple[tuple[Any, ...], dict[str, Any]]]:
    """Every object with its path. ``own``: only those that the wire defines."""
    if isinstance(value, dict):
        yield path, value
        for key, inner in list(value.items()):
            # What goes back as it came, on Google's wires, keeps a member more: a part, and the summary of a thought.
            is_returned = key == "parts" or (key == "summary" and "steps" in path)
            if not (own and (key in FOREIGN or is_returned)):
                yield from objects(inner, own=own, path=(*path, key))
    elif isinstance(value, list):
        for number, inner in enumerate(value):
            yield from objects(inner, own=own, path=(*path, number))


def pieces(text: str, chance: Random) -> list[str]:
    """The text in two to four pieces, none empty; fewer where it is short."""
    places = sorted({chance.randint(1, max(1, len(text) - 1)) for _ in range(chance.randint(1, 3))})
    edges = [0, *(place for place in places if place < len(text)), len(text)]
    return [text[a:b] for a, b in pairwise(edges)]


ROOT = Path(__file__).resolve().parents[3]
RECORDINGS = ROOT.parent / "shared" / "recordings"
#: Whether all recordings are mutated, and not a sample of them.
EVERY = bool(os.environ.get("TOOLPARITY_EVERY_RECORDING"))
#: How many exchanges of a wire are taken, streamed and plain each: without client calls, with one, with several.
TAKEN = (4, 10, 10) if is_thorough() else (2, 4, 4)
LONGEST = 10**7 if EVERY else 12_000
#: Wires with fewer recordings than this also take the shipped cassettes. So does xai.grpc, with few recorded streams.
FEW = 100
#: The name of every member that a mutation adds.
ADDED = "x_neutral"
DONE = "[DONE]"
#: The member of a payload of an AWS event stream that holds the type of the event, which is in the headers.
EVENT_TYPE = ":event-type"


class Traffic(NamedTuple):
    """One exchange. ``parts``: the payloads of a stream's events, the messages of xai.grpc, or the one body."""

    id: str
    wire: str
    stream: bool
    provider: str | None
    status: int | None
    parts: list[Any]
    named: bool = False


Spell = Callable[[Any], str]


def plainly(value: Any) -> str:
    """JSON with its characters as they are; escaped where UTF-8 cannot hold one of them."""
    text = json.dumps(value, ensure_ascii=False)
    try:
        text.encode()
    except UnicodeEncodeError:
        return json.dumps(value)
    return text


def sent(traffic: Traffic, spell: Spell = plainly) -> bytes:
    """The bytes of a stream or a body."""
    if not traffic.stream:
        return spell(traffic.parts[0]).encode("utf-8", "surrogatepass")
    if traffic.wire in LINE_WIRES:
        return b"".join(spell(payload).encode("utf-8", "surrogatepass") + b"\n" for payload in traffic.parts)
    if traffic.wire in EVENT_STREAM_WIRES:
        return b"".join(_message(payload, spell) for payload in traffic.parts)
    out = []
    for payload in traffic.parts:
        text = payload if payload == DONE else spell(payload)
        name = f"event: {_name(payload)}\n" if traffic.named and isinstance(payload, dict) else ""
        data = "\n".join(f"data: {line}" for line in text.split("\n"))
        out.append(f"{name}{data}\n\n".encode("utf-8", "surrogatepass"))
    return b"".join(out)


def _name(payload: dict[str, Any]) -> Any:
    return payload.get("type", payload.get("event_type", ""))


def _message(payload: dict[str, Any], spell: Spell) -> bytes:
    kind = str(payload[EVENT_TYPE]).encode("utf-8", "replace").decode()
    data = spell({name: value for name, value in payload.items() if name != EVENT_TYPE})
    data_type = "application/json"
    return eventstream.message(
        data.encode("utf-8", "surrogatepass"), event_type=kind, content_type=data_type, message_type="event"
    )


def received(traffic: Traffic, pieces: Iterable[Any]) -> Response:
    """The response of an exchange in these pieces."""
    head: dict[str, Any] = {"provider": traffic.provider, "status": traffic.status}
    if not traffic.stream:
        (body,) = pieces
        return normalize(body, traffic.wire, **head)
    decoder = StreamDecoder(traffic.wire, **head)
    for piece in pieces:
        decoder.feed(piece)
    return decoder.finish()


def read(traffic: Traffic) -> Response:
    """The response of an exchange as it is."""
    return received(traffic, traffic.parts if traffic.wire == "xai.grpc" else [sent(traffic)])


def meaning(response: Response) -> Any:
    """The canonical form without what a neutral mutation may change: members that it adds, empty ones, and spelling.

    Arguments are compared by value.
    """
    plain = _plain(msgspec.to_builtins(response))
    plain.get("error", {}).pop("raw", None)  # of an error inside an event: the whole event
    for choice, entry_of_choice in zip(response.choices, plain.get("choices", ()), strict=True):
        for block, entry in zip(choice.blocks, entry_of_choice.get("blocks", ()), strict=True):
            if "arguments_text" in entry and (not isinstance(block, ToolCall) or block.arguments is not None):
                entry["arguments_text"] = _value(entry["arguments_text"])
    return plain


def _plain(value: Any) -> Any:
    if isinstance(value, dict):
        members = {key: _plain(inner) for key, inner in value.items() if key != ADDED}
        return {key: inner for key, inner in members.items() if inner not in (None, {}, [])}
    return list(map(_plain, value)) if isinstance(value, list) else value


def _value(text: str) -> Any:
    try:
        return _plain(json.loads(text))
    except ValueError:
        return text


def taken_apart(row: Row) -> Traffic | None:
    """An exchange as traffic; None for what is put together from nothing that a mutation could change."""
    head = (row.id, row.wire, row.stream, row.provider, row.status)
    if row.frames is not None:
        return Traffic(*head, row.messages)
    if row.failed:
        return None
    data = row.data
    if row.stream and row.wire in EVENT_STREAM_WIRES:
        events = [(headers.get(EVENT_TYPE), _parsed(payload)) for headers, payload in eventstream.messages(data)]
        is_sound = all(kind and isinstance(payload, dict) for kind, payload in events)
        return Traffic(*head, [{EVENT_TYPE: kind, **payload} for kind, payload in events]) if is_sound else None
    if row.body_encoding:
        return None
    if not row.stream:
        body = _parsed(data)
        return Traffic(*head, [body]) if isinstance(body, dict) else None
    if row.wire in LINE_WIRES:
        lines = [_parsed(line) for line in data.splitlines() if line]
        return Traffic(*head, lines) if all(isinstance(line, dict) for line in lines) else None
    if data.lstrip()[:1] in (b"{", b"["):
        return None
    reader = SseReader(1 << 30)
    items = [*reader.feed(data), *reader.close()]
    parts = [DONE if payload == DONE.encode() else _parsed(payload) for _, payload in items]
    if reader.problems or not all(isinstance(part, dict) or part == DONE for part in parts):
        return None
    named = all(p == DONE or name == _name(p) for (name, _), p in zip(items, parts, strict=True))
    return Traffic(*head, parts, named)


def _parsed(data: bytes) -> Any:
    try:
        return json.loads(data)
    except ValueError:
        return None


def _shipped(wire: str) -> Iterable[Row]:
    """The exchanges of the shipped cassettes; a cassette is in the folder of its wire."""
    for path in sorted((ROOT / "cassettes" / "recorded").glob(f"*/{wire}/*.yaml")):
        for found in read_files(path):
            if isinstance(found, Exchange) and found.wire == wire:
                yield _row(found, path)


def _row(found: Exchange, path: Path) -> Row:
    frames = None if found.frames is None else [base64.b64encode(frame).decode() for frame in found.frames]
    is_binary = bool(found.stream) and found.wire in EVENT_STREAM_WIRES
    body = None
    if found.body is not None:
        body = base64.b64encode(found.body).decode() if is_binary else found.body.decode("utf-8", "replace")
    return Row(
        found.source.replace(str(path), path.relative_to(ROOT).as_posix()),
        found.wire or "",
        bool(found.stream),
        provider=found.provider,
        status=found.status,
        body=body,
        body_encoding="base64" if is_binary else None,
        frames=frames,
    )


@cache
def sample(wire: str) -> tuple[Traffic, ...]:
    """The exchanges of a wire that are mutated, the same in each run: streams and bodies, most with client calls."""
    found = rows(RECORDINGS, wire) if RECORDINGS.is_dir() else ()
    if len(found) < FEW or wire == "xai.grpc":
        found = (*found, *_shipped(wire))
    ordered = sorted(found, key=lambda row: crc32(row.id.encode()))
    chosen: list[Traffic] = []
    counts: dict[tuple[bool, int], int] = {}
    for traffic in filter(None, (taken_apart(row) for row in ordered if len(row.data) <= LONGEST)):
        try:
            calls = min(2, len(read(traffic).calls))
        except ToolparityError:
            continue
        place = (traffic.stream, calls)
        counts[place] = counts.get(place, 0) + 1
        if EVERY or counts[place] <= TAKEN[calls]:
            chosen.append(traffic)
    return tuple(chosen)
