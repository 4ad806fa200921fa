"""Measure the least cost of reading responses in Python: `python -m benchmarks.minimum RECORDINGS [--json FILE]`.

For the bodies and the streams whose pieces are known, as multiples of `msgspec.json.decode` of the same payloads, with
jobs that take turns: decoding the body or the events into structs; of a stream, the same with one method call and one
search for line ends a piece; the same with the creation of the canonical events and of the response from parts that are
known before, and with the parsing of the arguments of a body's calls; and the normalizer. The jobs before it contain no
decision of it: no routing, no state and no check.
"""

from __future__ import annotations

import argparse
import gc
import sys
import time
from collections.abc import Iterator
from functools import partial
from importlib import import_module
from pathlib import Path
from statistics import median
from typing import Any

import msgspec
from msgspec.structs import astuple
from tabulate import tabulate

from toolparity import Response, StreamDecoder, ToolCall, Wire, normalize
from toolparity.normalizer.events import BlockDelta
from toolparity.normalizer.wires.schema import UNFIT

from .measure import Job
from .readers import msgspec_each, ours_streamed
from .recorded import Exchange, exchanges, fastest

#: The module and name of each wire's decoder of regular events.
_DECODERS = {
    "openai.chat": ("openai_chat.schema", "decode_piece"),
    "openai.responses": ("openai_responses.stream_events", "decode_event"),
    "anthropic.messages": ("anthropic_messages.schema", "decode_event"),
    "cohere.chat": ("cohere_chat.schema", "decode_event"),
    "google.interactions": ("google_interactions.schema", "decode_piece"),
    "ollama.chat": ("ollama_chat.schema", "decode_piece"),
}
#: The module and name of each wire's decoder of regular bodies: the wires that are measured.
_BODIES: dict[Wire, tuple[str, str]] = {
    "openai.chat": ("openai_chat.decode_fast", "_read"),
    "openai.responses": ("openai_responses.decode", "_reader"),
    "anthropic.messages": ("anthropic_messages.decode", "_reader"),
}
#: A class and the arguments that create an object of it.
_Made = tuple[Any, tuple[Any, ...]]


class Minimum(msgspec.Struct):
    """Figures of one wire and kind ("bodies", "streams"). What is None exists for streams only.

    ``typed``, ``framed``, ``created``, ``normalizer``: the jobs as multiples of the base, medians of the responses.
    ``deltas``: the percentage of the normalizer's time that goes into pieces of deltas alone, and ``beginnings`` into
    the construction of the decoder and its first piece. ``ends``: into its last piece and ``finish``.
    """

    wire: str
    kind: str
    count: int
    typed: float
    framed: float | None
    created: float
    normalizer: float
    beginnings: float | None = None
    deltas: float | None = None
    ends: float | None = None


class _Pieces:
    """Loops over the pieces of a stream."""

    def __init__(self, wire: Wire, exchange: Exchange) -> None:
        module, name = _DECODERS[wire]
        self._decode = getattr(import_module(f"toolparity.normalizer.wires.{module}"), name)
        self._rows: list[tuple[bytes, list[tuple[Any, bytes]], list[_Made]]] = []
        decoder = StreamDecoder(wire)
        left, fed = exchange.payloads, b""
        for piece in exchange.pieces:
            made = [(type(event), astuple(event)) for event in decoder.feed(piece)]
            fed += piece
            events = []
            while left and (at := fed.find(left[0])) >= 0:  # the payload ends in this piece
                fed = fed[at + len(left[0]) :]
                data = left.pop(0)
                events.append((self._decoder_of(data), data))
            self._rows.append((piece, events, made))
        self._response = list(_parts(decoder.finish()))

    def _decoder_of(self, data: bytes) -> Any:
        try:
            self._decode(data)
        except (msgspec.DecodeError, UnicodeDecodeError):
            return msgspec.json.decode
        return self._decode

    def typed(self) -> None:
        """Decode the events."""
        for _, events, _ in self._rows:
            for decode, data in events:
                decode(data)

    def framed(self) -> None:
        """Decode the events, with one call and one search for line ends a piece."""
        for piece, events, _ in self._rows:
            self._feed(piece, events, ())

    def created(self) -> None:
        """Create the canonical events and the response as well."""
        for piece, events, made in self._rows:
            self._feed(piece, events, made)
        for cls, arguments in self._response:
            cls(*arguments)

    def _feed(self, piece: bytes, events: list[tuple[Any, bytes]], made: Any) -> list[Any]:
        piece.split(b"\n")
        for decode, data in events:
            decode(data)
        return [cls(*arguments) for cls, arguments in made]


class _Whole:
    """Steps of reading a body."""

    def __init__(self, wire: Wire, exchange: Exchange) -> None:
        module, name = _BODIES[wire]
        reader = getattr(import_module(f"toolparity.normalizer.wires.{module}"), name)
        self._decode = getattr(reader, "strict", reader)
        self._data = exchange.data
        response = normalize(self._data, wire, provider=exchange.provider)
        blocks = [block for choice in response.choices for block in choice.blocks]
        calls = [block for block in blocks if isinstance(block, ToolCall) and block.arguments is not None]
        self._arguments = [call.arguments_text for call in calls]
        self._response = list(_parts(response))
        self._decode(self._data)

    def typed(self) -> None:
        """Decode the body."""
        self._decode(self._data)

    def created(self) -> None:
        """Parse the arguments and create the response as well."""
        self._decode(self._data)
        for text in self._arguments:
            msgspec.json.decode(text)
        for cls, arguments in self._response:
            cls(*arguments)


def _parts(response: Response) -> Iterator[_Made]:
    """Yield the objects of a response."""
    values: list[Any] = [response]
    for choice in response.choices:
        values += [choice, choice.stop, *choice.blocks]
    if response.usage is not None:
        values.append(response.usage)
    for value in values:
        yield type(value), astuple(value)


def _steps(wire: Wire, pieces: list[bytes], turns: int) -> tuple[list[int], list[bool]]:
    """Return the fewest nanoseconds of each step: construction, pieces, ``finish``; and which pieces are deltas."""
    clock = time.perf_counter_ns
    best = [sys.maxsize] * (len(pieces) + 2)
    are_deltas: list[bool] = []
    for _ in range(turns):
        times = [clock()]
        decoder = StreamDecoder(wire)
        times.append(clock())
        events = []
        for piece in pieces:
            events.append(decoder.feed(piece))
            times.append(clock())
        decoder.finish()
        times.append(clock())
        best = [min(old, end - start) for old, start, end in zip(best, times, times[1:], strict=False)]
        are_deltas = [bool(made) and all(type(event) is BlockDelta for event in made) for made in events]
    return best, are_deltas


def _split(wire: Wire, pieces: list[bytes], turns: int) -> tuple[int, int, int, int]:
    """Return the nanoseconds of all steps, of the beginning, of pieces of deltas in between, and of the end."""
    steps, are_deltas = _steps(wire, pieces, turns)
    between = zip(steps[2:-2], are_deltas[1:-1], strict=True)
    return sum(steps), sum(steps[:2]), sum(step for step, is_delta in between if is_delta), sum(steps[-2:])


def minima(folder: Path, wire: Wire, turns: int) -> list[Minimum]:
    """Measure the bodies of a wire that its regular decoder takes, and the streams whose pieces are known."""
    print(f"{wire} …", file=sys.stderr)
    whole, streamed, splits = [], [], []
    for exchange in exchanges(folder, wire):
        base: Job = partial(msgspec_each, exchange.payloads)
        if not exchange.stream:
            try:
                body = _Whole(wire, exchange)
            except UNFIT:
                continue
            read: Job = partial(normalize, exchange.data, wire, provider=exchange.provider)
            whole.append(_multiples([base, body.typed, body.created, read], turns))
        elif exchange.chunk_lengths:
            loops = _Pieces(wire, exchange)
            read = partial(ours_streamed(wire), exchange.pieces)
            streamed.append(_multiples([base, loops.typed, loops.framed, loops.created, read], turns))
            if len(exchange.pieces) > 1:
                splits.append(_split(wire, exchange.pieces, turns))
    rows = []
    if whole:
        typed, created, normalizer = _medians(whole)
        rows.append(Minimum(wire, "bodies", len(whole), typed, None, created, normalizer))
    if streamed:
        shares = (round(100 * median(split[part] / split[0] for split in splits), 1) for part in (1, 2, 3))
        rows.append(Minimum(wire, "streams", len(streamed), *_medians(streamed), *shares))
    return rows


def _multiples(jobs: list[Job], turns: int) -> list[float]:
    """Return the times of the jobs as multiples of that of the first."""
    base, *times = fastest(jobs, turns)
    return [taken / base for taken in times]


def _medians(rows: list[list[float]]) -> list[float]:
    return [round(median(column), 2) for column in zip(*rows, strict=True)]


def main() -> int:
    """Run the benchmark and print a table."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.minimum", description=__doc__)
    parser.add_argument("recordings", type=Path)
    parser.add_argument("--turns", type=int, default=9)
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the figures")
    given = parser.parse_args()
    gc.freeze()
    rows = [row for wire in _BODIES for row in minima(given.recordings, wire, given.turns)]
    if given.json:
        given.json.write_bytes(msgspec.json.format(msgspec.json.encode(rows), indent=1) + b"\n")
    headers = ["wire", "what", "count", "typed", "and framing", "and objects", "normalizer", "begin", "deltas", "end"]
    print(tabulate([astuple(row) for row in rows], headers, floatfmt=".2f"))
    return 0


if __name__ == "__main__":
    sys.exit(main())
