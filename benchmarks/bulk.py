"""Measure bulk work: `python -m benchmarks.bulk [SOURCE] [--size 2GB] [--scratch FOLDER] [--json FILE]`.

The corpus repeats the exchanges of SOURCE, any files that `toolparity audit` reads, as JSON lines: plain, gzip and
Zstandard. `toolparity normalize` and `toolparity audit` read it with one process and with one per core, as programs.
The base is plain normalization: the bodies are in memory, and nothing but the decoder runs. The work of each command is
also measured in memory, step by step (`bulk_steps`), and `bulk_rows` shows the least that a program does with the
rows. The wall time of programs counts, so the machine should be quiet; the processor time says less about load.
"""

from __future__ import annotations

import argparse
import contextlib
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import msgspec
import psutil
from tabulate import tabulate

from toolparity.audit.exchange import raw_of
from toolparity.cassettes.sources import Exchange, read
from toolparity.cassettes.workers import cores
from toolparity.normalizer import json_codec
from toolparity.normalizer.wires.registry import is_wire

from .bulk_steps import PACKERS, PLAIN, ROWS, STEPS, InMemory, in_memory

ROOT = Path(__file__).resolve().parent.parent
SOURCE = ROOT / "cassettes" / "recorded"
COMMANDS = ("normalize", "audit")
_SAMPLE_SECONDS = 0.1
#: The number of points of a series of memory.
_POINTS = 40
_UNITS = {"KB": 10**3, "MB": 10**6, "GB": 10**9}


class Run(msgspec.Struct):
    """One run of a command. ``rss``: the resident memory of all its processes together, in MB: the largest sample in
    each of at most 40 equal periods.

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


def run(command: str, path: Path, processes: int, megabytes: float, exchanges: int, base: dict[str, InMemory]) -> Run:
    """Run a command on the corpus and measure it until it ends."""
    began = time.perf_counter()
    program = subprocess.Popen(
        [sys.executable, "-m", *_arguments(command, path, processes)],
        cwd=ROOT,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    memory, used = sampled(program)
    seconds = time.perf_counter() - began
    if program.returncode not in (0, 4):
        raise SystemExit(f"{command} {path} ended with {program.returncode}")
    rate = exchanges / seconds
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
        rss=series(memory, _POINTS),
    )


def _arguments(command: str, path: Path, processes: int) -> list[str]:
    if command == ROWS:
        return ["benchmarks.bulk_rows", str(path)]
    return ["toolparity", command, str(path), "--jobs", str(processes), *(["--json"] if command == "audit" else [])]


def series(memory: list[int], points: int) -> list[int]:
    """Return the largest sample in each of at most so many equal periods, in MB. Samples are in bytes."""
    length = max(1, -(-len(memory) // points))
    return [max(memory[start : start + length]) >> 20 for start in range(0, len(memory), length)]


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


def measured(source: Path, folder: Path, size: int, seconds: float) -> tuple[list[InMemory], list[Run]]:
    """Measure all steps and all runs. One process gets as large a share of the corpus as each of several.

    ``seconds``: how long each step is measured. Progress is printed to the standard error.
    """
    every = cores()
    made = corpus(source, folder)
    rows = []
    for work, processes in [*((work, 1) for work in STEPS), (PLAIN, every)]:
        rows.append(in_memory(made.block, work, processes, seconds))
        _progress(f"in memory: {work}, {processes} processes: {rows[-1].cpu:,.1f} microseconds")
    base = {row.work: row for row in rows if row.processes == 1}
    runs = []
    for processes in sorted({1, every}):
        times = max(1, size * processes // every // made.size)
        paths = made.write(folder, times)
        amount = times * made.size / 1e6, times * made.exchanges
        for command in (*([ROWS] if processes == 1 else []), *COMMANDS):
            for path in paths:
                runs.append(run(command, path, processes, *amount, base))
                done = runs[-1]
                _progress(
                    f"{command}, {done.compression}, {processes} processes: {amount[0]:,.0f} MB in "
                    f"{done.seconds:,.1f} s, {done.megabytes:,.0f} MB/s, {done.rate:,.0f} exchanges/s"
                )
    return rows, runs


def _progress(text: str) -> None:
    print(time.strftime("%H:%M:%S"), text, file=sys.stderr, flush=True)


def main() -> int:
    """Run the benchmark and print two tables."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.bulk", description=__doc__)
    parser.add_argument("source", type=Path, nargs="?", default=SOURCE)
    parser.add_argument("--size", type=size_in_bytes, default=size_in_bytes("2GB"), help="the size of the plain corpus")
    parser.add_argument("--seconds", type=float, default=3.0, help="how long each step is measured in memory")
    parser.add_argument("--scratch", type=Path, help="the folder in which the corpus is made, and deleted again")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the figures")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory(dir=given.scratch) as folder:
        rows, runs = measured(given.source, Path(folder).resolve(), given.size, given.seconds)
    if given.json:
        data = json_codec.encode({"in_memory": rows, "runs": runs})
        given.json.write_bytes(msgspec.json.format(data, indent=1) + b"\n")
    print(tabulate([msgspec.structs.astuple(row) for row in rows], InMemory.__struct_fields__, floatfmt=",.1f"))
    columns = Run.__struct_fields__[:-1]
    print(tabulate([[getattr(row, name) for name in columns] for row in runs], columns, floatfmt=",.2f"))
    return 0


def size_in_bytes(text: str) -> int:
    unit = text[-2:].upper()
    return int(float(text[:-2]) * _UNITS[unit])


if __name__ == "__main__":
    sys.exit(main())
