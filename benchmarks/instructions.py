"""Guard against slower decoding and writing, for CI: `python -m benchmarks.instructions [--update]`.

It counts instructions with valgrind: those of the normalizer and of `msgspec.json.decode` for the same bodies and
streams, and those of `write_request` for a conversation with calls and tool results, and of `msgspec.json.encode` for
the JSON of the written request. It compares the ratios with `benchmarks/results/instructions.json`. Counts hardly
depend on the machine's load, but they depend on the build of Python and on msgspec. The exit code is 1 if a ratio is
more than 10 % above the stored one. Without valgrind, or with another build than the stored one, nothing is compared,
and the output says so.
"""

from __future__ import annotations

import argparse
import gc
import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from importlib.util import find_spec
from pathlib import Path

import msgspec

from toolparity import Wire, write_request

from . import readers, traffic, writing
from .measure import Job

STORED = Path(__file__).with_name("results") / "instructions.json"
TOLERANCE = 1.10
#: How often each job runs. One run of the base takes few instructions, and the first ones depend on the free memory.
_RUNS = {"body": 2000, "stream": 60, "request": 60}
_BASE_RUNS = {"body": 2000, "stream": 60, "request": 400}
#: The size of the pieces of a stream, in bytes.
_PIECE = 512


def jobs(wire: Wire) -> dict[str, Job]:
    """Return what is counted: ours and the base, for a request and, on a JSON wire, for a body and a stream."""
    write = partial(write_request, writing.conversation(wire), wire=wire, provider=writing.PROVIDERS[wire])
    request: dict[str, Job] = {
        "request": write,
        "request base": partial(msgspec.json.encode, writing.as_json(write().body)),
    }
    if wire not in traffic.JSON_WIRES:
        return request
    body, stream = (make() for make in traffic.JSON_WIRES[wire])
    return {
        "body": partial(readers.ours(wire), body),
        "body base": partial(msgspec.json.decode, body),
        "stream": partial(readers.ours_streamed(wire), traffic.pieces(stream, _PIECE)),
        "stream base": partial(readers.msgspec_each, traffic.payloads(stream)),
        **request,
    }


def run(wire: Wire, name: str, times: int) -> None:
    """Run a job of a wire ``times`` times. Every job runs twice first, so that imports do not count."""
    named = jobs(wire)
    for job in (*named.values(), *named.values()):
        job()
    gc.collect()
    gc.freeze()  # the collector skips what was loaded before
    for _ in range(times):
        named[name]()


def counted(wire: Wire, name: str, times: int) -> int:
    """Return the instructions of a process that calls `run`."""
    code = f"from benchmarks.instructions import run; run({wire!r}, {name!r}, {times})"
    command = ["valgrind", "--tool=callgrind", "--callgrind-out-file=/dev/null", sys.executable, "-c", code]
    environment = {**os.environ, "PYTHONHASHSEED": "0"}
    ran = subprocess.run(command, capture_output=True, text=True, check=True, env=environment)
    found = re.search(r"Collected : (\d+)", ran.stderr)
    if found is None:
        raise RuntimeError(f"valgrind printed no count: {ran.stderr[-500:]}")
    return int(found[1])


def ratios(wires: Sequence[Wire]) -> dict[str, float]:
    """Return the instructions of the normalizer as multiples of the base, by wire and job."""
    runs = {**_RUNS, **{f"{name} base": times for name, times in _BASE_RUNS.items()}}
    processes = [
        (wire, job, times)
        for wire in wires
        for job, times in (("request", 0), *((job, runs[job]) for job in jobs(wire)))
    ]
    with ThreadPoolExecutor(os.cpu_count()) as pool:  # each thread waits for a process
        counts = dict(zip(processes, pool.map(lambda process: counted(*process), processes), strict=True))
    measured = {}
    for wire in wires:
        idle = counts[wire, "request", 0]
        for name in [name for name in _RUNS if (wire, name, runs[name]) in counts]:
            ours, base = ((counts[wire, job, runs[job]] - idle) / runs[job] for job in (name, f"{name} base"))
            measured[f"{wire} {name}"] = round(ours / base, 3)
    return measured


def slowed(measured: dict[str, float], stored: dict[str, float]) -> list[str]:
    """Return what is more than `TOLERANCE` slower than its stored ratio, or has none."""
    return [name for name, ratio in measured.items() if ratio > stored.get(name, 0) * TOLERANCE]


def build() -> str:
    """Return what the counts depend on: the build of Python and the version of msgspec."""
    return f"Python {sys.version}, msgspec {msgspec.__version__}"


def main() -> int:
    """Compare the counts with the stored ones."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.instructions", description=__doc__)
    parser.add_argument("--update", action="store_true", help="store the ratios of this run")
    parser.add_argument("--results", type=Path, default=STORED, metavar="FILE", help="the file with the stored ratios")
    parser.add_argument("--wire", action="append", choices=writing.PROVIDERS, help="only this wire; repeatable")
    given = parser.parse_args()
    update, path = given.update, given.results
    if shutil.which("valgrind") is None:
        print("valgrind is not installed: nothing is compared")
        return 0
    stored = json.loads(path.read_text()) if path.exists() else {}
    if not update and stored["build"] != build():
        print(f"the stored counts are of {stored['build']}, this is {build()}: nothing is compared")
        return 0
    wires = [wire for wire in given.wire or writing.PROVIDERS if wire != "xai.grpc" or find_spec("xai_sdk")]
    measured = ratios(wires)
    if update:
        same = stored.get("build") == build()
        stored = {"build": build(), "ratios": (stored["ratios"] if same else {}) | measured}
        path.write_text(json.dumps(stored, indent=1) + "\n")
    stored = stored["ratios"]
    slower = slowed(measured, stored)
    for name, ratio in measured.items():
        print(f"{name:28} {ratio:.2f}, stored {stored.get(name, 0):.2f}{' SLOWER' if name in slower else ''}")
    return 1 if slower else 0


if __name__ == "__main__":
    sys.exit(main())
