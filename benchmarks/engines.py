"""Measure audits on several engines: `python -m benchmarks.engines [SOURCE] [--size 2GB] [--engine NAME …]`.

The corpus repeats the exchanges of SOURCE as plain JSON lines, each time with other ids, so that conversations are as
many as in real logs. Every engine audits it as a program: processes of this machine, Dask workers, and shares that are
merged. The reports must be equal, byte for byte. The wall time of programs counts, so the machine should be quiet; the
processor time says less about load. With `--corpus FILE`, several runs can divide the engines of one corpus; their
reports are equal if the digests are.
"""

from __future__ import annotations

import argparse
import hashlib
import re
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import msgspec
from tabulate import tabulate

from toolparity.cassettes.sources import Exchange, read
from toolparity.cassettes.workers import cores
from toolparity.normalizer import json_codec
from toolparity.normalizer.wires.registry import is_wire

from .bulk import SOURCE, json_line, sampled, series, size_in_bytes

#: The beginning of an id of a call, a response or an item, but not of a member such as ``call_id``.
_ID = re.compile(rb"(?<![a-z_])(call_|toolu_|srvtoolu_|fc_|resp_|msg_|chatcmpl-)(?!id[\\\"])")


class EngineRun(msgspec.Struct):
    """One audit of the corpus. ``cpu``: seconds of processor time of all processes. ``rss``: their largest resident
    memory in each quarter of the run, in MB. ``times``: the rate as a multiple of that of one process.
    """

    engine: str
    seconds: float
    cpu: float
    megabytes: float
    rate: float
    times: float
    rss: list[int]


def corpus(source: Path, path: Path, size: int) -> tuple[int, int]:
    """Write the corpus. Return its bytes and its exchanges."""
    exchanges = [item for item in read(source) if isinstance(item, Exchange) and is_wire(item.wire)]
    block = b"".join(json_line(exchange) + b"\n" for exchange in exchanges)
    times = max(1, size // len(block))
    with path.open("wb") as file:
        for number in range(times):
            file.write(_ID.sub(rb"\g<1>%d_" % number, block))
    return path.stat().st_size, times * len(exchanges)


def _audit(*args: str | Path) -> list[str]:
    return [sys.executable, "-m", "toolparity", "audit", *map(str, args)]


def commands(path: Path, folder: Path) -> dict[str, list[list[str]]]:
    """Return the commands of each engine, of which the last one prints the report."""
    every = cores()
    parts = [folder / f"{number}.part" for number in range(1, every + 1)]
    shares = [
        _audit("part", "--share", f"{number}/{every}", "--jobs", 1, path, "-o", part)
        for number, part in enumerate(parts, 1)
    ]
    engines = {"1 process": [_audit(path, "--json", "--jobs", 1)]}
    engines[f"{every} processes"] = [_audit(path, "--json", "--jobs", every)]
    for workers in (1, 2):
        engines[f"Dask, {workers} worker{'s'[: workers - 1]}"] = [
            _audit(path, "--json", "--engine", "dask", "--jobs", workers)
        ]
    engines[f"{every} shares, one after another"] = shares
    engines["merge of the shares"] = [_audit("merge", "--json", *parts)]
    return engines


def run(engine: str, programs: list[list[str]], length: int, exchanges: int) -> tuple[EngineRun, bytes]:
    """Run the commands of an engine one after another. Return the measurement, and the output of the last command."""
    memory: list[int] = []
    used, output = 0.0, b""
    began = time.perf_counter()
    for program in programs:
        with tempfile.TemporaryFile() as file:
            process = subprocess.Popen(program, stdout=file, stderr=subprocess.DEVNULL)
            samples, cpu = sampled(process)
            file.seek(0)
            output = file.read()
        if process.returncode not in (0, 4):
            raise SystemExit(f"{' '.join(program)} ended with {process.returncode}")
        memory += samples
        used += cpu
    seconds = time.perf_counter() - began
    rss = series(memory, 4)
    return EngineRun(engine, seconds, used, length / 1e6 / seconds, exchanges / seconds, 0.0, rss), output


def existing(path: Path) -> tuple[int, int]:
    """Return the bytes and the exchanges of a corpus that an earlier run made."""
    with path.open("rb") as file:
        return path.stat().st_size, sum(1 for _ in file)


def measured(
    source: Path, folder: Path, size: int, kept: Path | None, chosen: list[str]
) -> tuple[dict[str, Any], list[EngineRun]]:
    """Measure the engines whose names contain one of ``chosen``. Raises SystemExit if two reports differ.

    ``kept``: where the corpus is, or will be.
    """
    path = kept or folder / "corpus.jsonl"
    length, exchanges = existing(path) if path.exists() else corpus(source, path, size)
    runs, reports = [], set()
    for engine, programs in commands(path, folder).items():
        if chosen and not any(name in engine for name in chosen):
            continue
        row, report = run(engine, programs, length, exchanges)
        row.times = row.rate / (runs[0].rate if runs else row.rate)
        runs.append(row)
        if report:
            reports.add(report)
        print(engine, f"{row.seconds:,.0f} s", file=sys.stderr)
    if len(reports) != 1:
        raise SystemExit("the reports differ")
    parts = sum(part.stat().st_size for part in folder.glob("*.part"))
    digest = hashlib.sha256(reports.pop()).hexdigest()[:16]
    return {"bytes": length, "exchanges": exchanges, "part_files": parts, "cores": cores(), "report": digest}, runs


def main() -> int:
    """Run the benchmark and print its table."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.engines", description=__doc__)
    parser.add_argument("source", type=Path, nargs="?", default=SOURCE)
    parser.add_argument("--size", type=size_in_bytes, default=size_in_bytes("2GB"), help="the size of the corpus")
    parser.add_argument("--scratch", type=Path, help="the folder in which the corpus is made, and deleted again")
    parser.add_argument("--corpus", type=Path, help="the corpus; it is made if it does not exist, and not deleted")
    parser.add_argument("--engine", action="append", default=[], help="a part of a name, such as 'share' and 'Dask, 1'")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the figures")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory(dir=given.scratch) as folder:
        about, runs = measured(given.source, Path(folder), given.size, given.corpus, given.engine)
    if given.json:
        data = json_codec.encode({**about, "runs": runs})
        given.json.write_bytes(msgspec.json.format(data, indent=1) + b"\n")
    print(
        ", ".join(f"{name} {value:,}" if isinstance(value, int) else f"{name} {value}" for name, value in about.items())
    )
    print(tabulate([msgspec.structs.astuple(row) for row in runs], EngineRun.__struct_fields__, floatfmt=",.2f"))
    return 0


if __name__ == "__main__":
    sys.exit(main())
