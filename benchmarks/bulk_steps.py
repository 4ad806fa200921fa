"""The steps of bulk work, each measured in memory: microseconds of processor time per exchange.

A step is a function without arguments that processes every exchange of a corpus once. Its preparation, such as reading
the corpus, is not measured.
"""

from __future__ import annotations

import gc
import gzip
import os
import pickle
import time
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import msgspec
from backports import zstd

from toolparity.audit.bulk.parallel import PART_BYTES
from toolparity.audit.canonical import canonical_part
from toolparity.audit.conversations import ConversationAudit
from toolparity.audit.exchange import decode, line
from toolparity.audit.records import record_of
from toolparity.audit.summary import Audit, audit_part
from toolparity.cassettes.sources import Exchange, FilePart, PartReader, read, split_files
from toolparity.cassettes.sources.decoding import response_of
from toolparity.normalizer import json_codec
from toolparity.normalizer.wires.registry import is_wire

from . import bulk_rows

PLAIN = "plain normalization"
ROWS = "rows"
PACKERS: dict[str, Callable[[bytes], bytes]] = {
    "": lambda data: data,
    ".gz": lambda data: gzip.compress(data, 6),
    ".zst": lambda data: zstd.compress(data, 3),
}
#: The barrier at which the processes of one measurement wait for each other.
_barrier: list[Any] = []

Step = Callable[[], object]


class InMemory(msgspec.Struct):
    """A step: exchanges per second of wall time in all processes, and microseconds of processor time for each."""

    work: str
    processes: int
    rate: float
    cpu: float


def in_memory(block: Path, work: str, processes: int, seconds: float) -> InMemory:
    """Repeat a step on the exchanges of a file for some seconds, in some processes at a time."""
    context = get_context("forkserver")
    barrier = context.Barrier(processes)
    with ProcessPoolExecutor(processes, mp_context=context, initializer=_wait_at, initargs=(barrier,)) as pool:
        measured = [job.result() for job in [pool.submit(_loop, block, work, seconds) for _ in range(processes)]]
    return InMemory(
        work, processes, sum(rate for rate, _ in measured), sum(cpu for _, cpu in measured) / processes * 1e6
    )


def _wait_at(barrier: Any) -> None:
    _barrier.append(barrier)


def _loop(block: Path, work: str, seconds: float) -> tuple[float, float]:
    """Return exchanges per second, and seconds of processor time per exchange."""
    step = STEPS[work](block)
    step()  # warm up, and import what the wires need
    count, passes = block.read_bytes().count(b"\n"), 0
    gc.collect()
    gc.freeze()
    _barrier[0].wait()
    began, used = time.perf_counter(), time.process_time()
    while not passes or time.perf_counter() - began < seconds:
        step()
        passes += 1
    return passes * count / (time.perf_counter() - began), (time.process_time() - used) / (passes * count)


def _parts(block: Path) -> list[FilePart]:
    return [part for part in split_files([str(block)], PART_BYTES) if isinstance(part, FilePart)]


def _exchanges(block: Path) -> list[Exchange]:
    return [item for item in read(block) if isinstance(item, Exchange)]


def _each(function: Callable[[Exchange], object], block: Path) -> Step:
    exchanges = _exchanges(block)

    def step() -> None:
        for exchange in exchanges:
            function(exchange)

    return step


def _plain(exchange: Exchange) -> None:
    if is_wire(exchange.wire):
        response_of(exchange, exchange.wire)


def _normalized(exchange: Exchange) -> None:
    json_codec.encode(line(exchange, policy="all", limit=None)[0])


def _rows(block: Path) -> Step:
    def step() -> None:
        with open(os.devnull, "wb") as out:
            bulk_rows.copy(str(block), out)

    return step


def _reading(block: Path) -> Step:
    parts = _parts(block)

    def step() -> None:
        for part in parts:
            for _ in PartReader(part):
                pass

    return step


def _audit(block: Path) -> Step:
    exchanges = _exchanges(block)

    def step() -> None:
        audit = Audit()
        for exchange in exchanges:
            audit.count(exchange, policy="all", limit=None)

    return step


def _records(block: Path) -> Step:
    decoded = [(exchange, decode(exchange)) for exchange in _exchanges(block)]

    def step() -> None:
        for exchange, response in decoded:
            record_of(exchange, response)

    return step


def _linking(block: Path) -> Step:
    records = [record for part in _parts(block) for record in audit_part(part, None, "all", None).records]

    def step() -> None:
        conversations = ConversationAudit()
        for record in records:
            conversations.add(record)
        conversations.finish()

    return step


def _merging_audits(block: Path) -> Step:
    results = [pickle.dumps(audit_part(part, None, "all", None)) for part in _parts(block)]

    def step() -> None:
        whole = Audit()
        for result in results:
            whole.merge(pickle.loads(result).audit)

    return step


def _merging_lines(block: Path) -> Step:
    results = [pickle.dumps(canonical_part(part, None, "all", None)) for part in _parts(block)]

    def step() -> None:
        with open(os.devnull, "wb") as out:
            for result in results:
                out.writelines(pickle.loads(result).text)

    return step


def _unpacking(suffix: str, block: Path) -> Step:
    path = block.with_name(f"packed.jsonl{suffix}")
    path.write_bytes(PACKERS[suffix](block.read_bytes()))

    def step() -> None:
        for _ in split_files([str(path)], PART_BYTES, unpack=True):
            pass

    return step


#: Name of the step -> what prepares it for a file of JSON lines.
STEPS: dict[str, Callable[[Path], Step]] = {
    PLAIN: partial(_each, _plain),
    ROWS: _rows,
    "reading": _reading,
    "decoding": partial(_each, decode),
    "normalize": partial(_each, _normalized),
    "audit": _audit,
    "records": _records,
    "linking": _linking,
    "merging audits": _merging_audits,
    "merging lines": _merging_lines,
    "unpacking gz": partial(_unpacking, ".gz"),
    "unpacking zst": partial(_unpacking, ".zst"),
}
