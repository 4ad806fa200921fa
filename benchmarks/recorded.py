"""Measure recorded traffic: `python -m benchmarks.recorded RECORDINGS [--wire WIRE] [--json FILE]`.

For every recorded body and stream: the time of the normalizer as a multiple of `msgspec.json.decode` of the same
payloads, on `xai.grpc` of what the official SDK needs for the members of the response. The two alternate, and the
fastest run of each counts. Streams are fed in the pieces in which they came from the network or, where that is not
known, in one event a piece.
"""

from __future__ import annotations

import argparse
import base64
import gc
import gzip
import sys
import time
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from statistics import median
from typing import Any

import msgspec
from tabulate import tabulate

from toolparity import Wire, normalize

from .measure import Job
from .readers import msgspec_each, ours_streamed, xai_members, xai_streamed
from .traffic import events, payloads
from .writing import PROVIDERS

WIRES: tuple[Wire, ...] = tuple(PROVIDERS)
#: Shorter streams are errors.
_FEWEST_EVENTS = 3


class Exchange(msgspec.Struct):
    """A row of the recordings."""

    wire: Wire
    stream: bool
    provider: str | None = None
    status: int | None = None
    request: Any = None
    body: str | None = None
    body_encoding: str | None = None
    chunk_lengths: list[int] | None = None
    frames: list[str] | None = None

    @property
    def data(self) -> bytes:
        """The bytes of the body, or of all messages of a stream."""
        if self.frames is not None:
            return b"".join(map(base64.b64decode, self.frames))
        text = self.body or ""
        return base64.b64decode(text) if self.body_encoding else text.encode("utf-8", "surrogatepass")

    @property
    def pieces(self) -> list[bytes]:
        """A body whole, and a stream in its recorded pieces or in one event a piece."""
        if self.frames is not None:
            return [*map(base64.b64decode, self.frames)]
        data = self.data
        if not self.stream:
            return [data]
        if not self.chunk_lengths:
            return events(data)
        pieces, start = [], 0
        for length in self.chunk_lengths:
            pieces.append(data[start : start + length])
            start += length
        return [*pieces, data[start:]] if start < len(data) else pieces

    @property
    def payloads(self) -> list[bytes]:
        """The JSON of a body, or of each event of a stream."""
        return [line for line in payloads(self.data) if line] if self.stream else [self.data]


class Ratios(msgspec.Struct):
    """Multiples of the base for one wire and kind. ``sum``: of all times together."""

    wire: str
    kind: str
    count: int
    median: float
    high: float
    sum: float


def exchanges(folder: Path, wire: Wire) -> Iterator[Exchange]:
    """Yield the answers of a wire that are JSON, or messages of gRPC: bodies, and streams of events."""
    with gzip.open(folder / f"{wire}.jsonl.gz") as file:
        for line in file:
            exchange = msgspec.json.decode(line, type=Exchange)
            if exchange.frames:
                yield exchange
                continue
            failed = exchange.status is not None and exchange.status >= 400
            if failed or exchange.body is None or (exchange.body_encoding and wire != "bedrock.converse"):
                continue  # an encoded stream of another wire has base64 in its events
            is_answer = len(exchange.payloads) >= _FEWEST_EVENTS if exchange.stream else exchange.body[:1] == "{"
            if is_answer and not (wire == "ollama.chat" and _is_of_chat(exchange)):
                yield exchange


def _is_of_chat(exchange: Exchange) -> bool:
    """Return whether a body is one of Ollama's endpoint for Chat Completions, two of which are filed under its API."""
    return not exchange.stream and b'"object":"chat.completion"' in exchange.data


def fastest(jobs: list[Job], turns: int) -> list[int]:
    """Return the fewest nanoseconds of each job. The jobs take turns, so that load affects all of them."""
    clock = time.perf_counter_ns
    best = [sys.maxsize] * len(jobs)
    for _ in range(turns):
        for number, job in enumerate(jobs):
            start = clock()
            job()
            best[number] = min(best[number], clock() - start)
    return best


def _base(exchange: Exchange) -> Job:
    """Return what the normalizer is compared with."""
    if exchange.frames is None:
        return partial(msgspec_each, exchange.payloads)
    return partial(xai_streamed, exchange.pieces) if exchange.stream else partial(xai_members, exchange.data)


def ratios(folder: Path, wire: Wire, turns: int) -> Iterator[Ratios]:
    """Measure the recordings of a wire."""
    times: dict[str, list[tuple[int, int]]] = {"bodies": [], "streams": [], "streams in recorded pieces": []}
    print(f"{wire} …", file=sys.stderr)
    read: Callable[..., Any] = ours_streamed(wire)
    for exchange in exchanges(folder, wire):
        ours = partial(normalize, exchange.data, wire, provider=exchange.provider)
        if exchange.stream:
            ours = partial(read, exchange.pieces)
        base, own = fastest([_base(exchange), ours], turns)
        times["streams" if exchange.stream else "bodies"].append((base, own))
        if exchange.chunk_lengths:
            times["streams in recorded pieces"].append((base, own))
    for kind, measured in times.items():
        if not measured:
            continue
        multiples = sorted(own / base for base, own in measured)
        total = sum(own for _, own in measured) / sum(base for base, _ in measured)
        high = multiples[len(multiples) * 9 // 10]
        yield Ratios(wire, kind, len(measured), median(multiples), high, total)


def main() -> int:
    """Run the benchmark and print a table."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.recorded", description=__doc__)
    parser.add_argument("recordings", type=Path)
    parser.add_argument("--wire", action="append", choices=WIRES)
    parser.add_argument("--turns", type=int, default=9)
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the figures")
    given = parser.parse_args()
    gc.freeze()
    rows = [row for wire in given.wire or WIRES for row in ratios(given.recordings, wire, given.turns)]
    if given.json:
        given.json.write_bytes(msgspec.json.format(msgspec.json.encode(rows), indent=1) + b"\n")
    headers = ["wire", "what", "count", "median", "90 %", "sum"]
    print(tabulate([msgspec.structs.astuple(row) for row in rows], headers, floatfmt=".2f"))
    return 0


if __name__ == "__main__":
    sys.exit(main())
