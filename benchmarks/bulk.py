"""Measure bulk work: `python -m benchmarks.bulk [SOURCE] [--size 1GB] [--scratch FOLDER] [--json FILE]`.

The corpus repeats the exchanges of SOURCE, any files that `toolparity audit` reads, as JSON lines: plain, gzip and
Zstandard. `toolparity normalize` and `toolparity audit` read it with one process and with one per core, as programs.
The base is plain normalization: the bodies are in memory, and nothing but the decoder runs. The work of each command is
also measured in memory, so that the costs of reading, unpacking and merging show. The wall time of programs counts, so
the machine should be quiet; the processor time says less about load.
"""

from __future__ import annotations

import argparse
import contextlib
import gc
import gzip
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from multiprocessing import get_context
from pathlib import Path
from typing import Any, cast

import msgspec
import psutil
from backports import zstd
from tabulate import tabulate

from toolparity import Wire
from toolparity.cassettes.sources import Exchange, read
from toolparity.cassettes.sources.decoding import response_of
from toolparity.conformance.audit.exchange import line, raw_of
from toolparity.conformance.audit.summary import Audit
from toolparity.conformance.workers import cores
from toolparity.normalizer import json_codec
from toolparity.normalizer.wires.registry import is_wire

SOURCE = Path(__file__).resolve().parent.parent / "cassettes" / "recorded"
COMMANDS = ("normalize", "audit")
PACKERS: dict[str, Callable[[bytes], bytes]] = {
    "": lambda data: data,
    ".gz": lambda data: gzip.compress(data, 6),
    ".zst": lambda data: zstd.compress(data, 3),
}
PLAIN = "plain normalization"
_MEASURED_SECONDS = 4.0
_SAMPLE_SECONDS = 0.1
#: The barrier at which the processes of one measurement wait for each other.
_barrier: list[Any] = []
_UNITS = {"KB": 10**3, "MB": 10**6, "GB": 10**9}


class InMemory(msgspec.Struct):
    """Work on exchanges in memory: exchanges per second of wall time, and microseconds of processor time for each."""

    work: str
    processes: int
    rate: float
    cpu: float


class Run(msgspec.Struct):
    """One run of a command. ``rss``: the largest resident memory of all its processes in each quarter, in MB.

    ``cpu``: microseconds of processor time per exchange. ``goal``: the rate as a share of plain normalization times the
    processes; ``own``: as a share of the command's own work in memory times the processes.
    """

    command: str
    compression: str
    processes: int
    seconds: float
    megabytes: float
    rate: float
    cpu: float
    goal: float
    own: float
    rss: list[int]


class Corpus(msgspec.Struct):
    """Exchanges as JSON lines. ``packed``: the lines in each compression, by suffix."""

    block: Path
    packed: dict[str, bytes]
    size: int
    exchanges: int

    def write(self, folder: Path, times: int) -> list[Path]:
        """Write the lines so many times. They are compressed once, as gzip and Zstandard data may be concatenated."""
        paths = []
        for suffix, data in self.packed.items():
            paths.append(folder / f"corpus.jsonl{suffix}")
            with paths[-1].open("wb") as file:
                for _ in range(times):
                    file.write(data)
        return paths


def corpus(source: Path, folder: Path) -> Corpus:
    """Read the source, and write its exchanges of known wires as JSON lines."""
    rows = [json_line(item) for item in read(source) if isinstance(item, Exchange) and is_wire(item.wire)]
    data = b"".join(row + b"\n" for row in rows)
    block = folder / "block.jsonl"
    block.write_bytes(data)
    return Corpus(block, {suffix: pack(data) for suffix, pack in PACKERS.items()}, len(data), len(rows))


def json_line(exchange: Exchange) -> bytes:
    raw = {name: value for name, value in msgspec.to_builtins(raw_of(exchange)).items() if value is not None}
    known = {name: getattr(exchange, name) for name in ("id", "provider", "wire", "model", "stream")}
    return json_codec.encode(known | raw)


def _plain(exchange: Exchange) -> None:
    response_of(exchange, cast(Wire, exchange.wire))


def _normalized(exchange: Exchange) -> None:
    json_codec.encode(line(exchange, policy="all", limit=None)[0])


def _audited() -> Callable[[Exchange], Any]:
    return partial(Audit().count, policy="all", limit=None)


#: Name of the work -> what makes the function that is measured.
_WORK: dict[str, Callable[[], Callable[[Exchange], Any]]] = {
    PLAIN: lambda: _plain,
    "normalize": lambda: _normalized,
    "audit": _audited,
}


def in_memory(block: Path, work: str, processes: int) -> InMemory:
    """Repeat work on the exchanges of a file in some processes at a time."""
    context = get_context("forkserver")
    barrier = context.Barrier(processes)
    with ProcessPoolExecutor(processes, mp_context=context, initializer=_wait_at, initargs=(barrier,)) as pool:
        measured = [job.result() for job in [pool.submit(_loop, block, work) for _ in range(processes)]]
    return InMemory(
        work, processes, sum(rate for rate, _ in measured), sum(cpu for _, cpu in measured) / processes * 1e6
    )


def _wait_at(barrier: Any) -> None:
    _barrier.append(barrier)


def _loop(block: Path, work: str) -> tuple[float, float]:
    """Return exchanges per second, and seconds of processor time per exchange."""
    function = _WORK[work]()
    exchanges = [item for item in read(block) if isinstance(item, Exchange)]
    for exchange in exchanges:  # warm up, and import what the wires need
        function(exchange)
    gc.collect()
    gc.freeze()
    _barrier[0].wait()
    began, used, done = time.perf_counter(), time.process_time(), 0
    while time.perf_counter() - began < _MEASURED_SECONDS:
        for exchange in exchanges:
            function(exchange)
        done += len(exchanges)
    return done / (time.perf_counter() - began), (time.process_time() - used) / done


def run(command: str, path: Path, processes: int, megabytes: float, exchanges: int, base: dict[str, InMemory]) -> Run:
    """Run a command on the corpus and measure it until it ends."""
    options = ["--jobs", str(processes), *(["--json"] if command == "audit" else [])]
    began = time.perf_counter()
    program = subprocess.Popen(
        [sys.executable, "-m", "toolparity", command, str(path), *options],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    memory, used = sampled(program)
    seconds = time.perf_counter() - began
    if program.returncode not in (0, 4):
        raise SystemExit(f"{command} {path} ended with {program.returncode}")
    rate = exchanges / seconds
    quarter = max(1, -(-len(memory) // 4))
    return Run(
        command=command,
        compression=path.suffix.removeprefix(".").replace("jsonl", "none"),
        processes=processes,
        seconds=seconds,
        megabytes=megabytes / seconds,
        rate=rate,
        cpu=used / exchanges * 1e6,
        goal=rate / (base[PLAIN].rate * processes),
        own=rate / (base[command].rate * processes),
        rss=[max(memory[start : start + quarter]) >> 20 for start in range(0, len(memory), quarter)],
    )


def sampled(program: subprocess.Popen[bytes]) -> tuple[list[int], float]:
    """Wait for a program. Return samples of the memory of all its processes, and their seconds of processor time."""
    memory: list[int] = []
    used: dict[int, float] = {}
    parent = psutil.Process(program.pid)
    while program.poll() is None:
        total = 0
        try:
            for process in (parent, *parent.children(recursive=True)):
                with contextlib.suppress(psutil.Error), process.oneshot():
                    total += process.memory_info().rss
                    times = process.cpu_times()
                    used[process.pid] = times.user + times.system
        except psutil.Error:
            break
        memory.append(total)
        time.sleep(_SAMPLE_SECONDS)
    program.wait()
    return memory, sum(used.values())


def measured(source: Path, folder: Path, size: int) -> tuple[list[InMemory], list[Run]]:
    """Measure the base and all runs. One process gets as large a share of the corpus as each of several."""
    every = cores()
    made = corpus(source, folder)
    rows = [in_memory(made.block, work, 1) for work in _WORK]
    base = {row.work: row for row in rows}
    rows.append(in_memory(made.block, PLAIN, every))
    runs = []
    for processes in sorted({1, every}):
        times = max(1, size * processes // every // made.size)
        paths = made.write(folder, times)
        amount = times * made.size / 1e6, times * made.exchanges
        runs += [run(command, path, processes, *amount, base) for command in COMMANDS for path in paths]
    return rows, runs


def main() -> int:
    """Run the benchmark and print two tables."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.bulk", description=__doc__)
    parser.add_argument("source", type=Path, nargs="?", default=SOURCE)
    parser.add_argument("--size", type=size_in_bytes, default=size_in_bytes("1GB"), help="the size of the plain corpus")
    parser.add_argument("--scratch", type=Path, help="the folder in which the corpus is made, and deleted again")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the figures")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory(dir=given.scratch) as folder:
        rows, runs = measured(given.source, Path(folder), given.size)
    if given.json:
        data = json_codec.encode({"in_memory": rows, "runs": runs})
        given.json.write_bytes(msgspec.json.format(data, indent=1) + b"\n")
    print(tabulate([msgspec.structs.astuple(row) for row in rows], InMemory.__struct_fields__, floatfmt=",.0f"))
    print(tabulate([msgspec.structs.astuple(row) for row in runs], Run.__struct_fields__, floatfmt=",.2f"))
    return 0


def size_in_bytes(text: str) -> int:
    unit = text[-2:].upper()
    return int(float(text[:-2]) * _UNITS[unit])


if __name__ == "__main__":
    sys.exit(main())
