"""Guard against slower decoding, for CI: `python -m benchmarks.instructions [--update]`.

It counts the instructions of the normalizer and of `msgspec.json.decode` for the same bodies and streams with valgrind,
and compares their ratio with `benchmarks/results/instructions.json`. Counts hardly depend on the machine's load, but
they depend on the build of Python and on msgspec. The exit code is 1 if a ratio is more than 10 % above the stored one.
Without valgrind, or with another build than the stored one, nothing is compared, and the output says so.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import shutil
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path

import msgspec

from . import readers, traffic
from .measure import Job

STORED = Path(__file__).with_name("results") / "instructions.json"
TOLERANCE = 1.10
_RUNS = {"body": 200, "stream": 10}
#: The size of the pieces of a stream, in bytes.
_PIECE = 512


def jobs(wire: str) -> dict[str, Job]:
    """Return what is counted: ours and the base, for a body and a stream."""
    body, stream = (make() for make in traffic.JSON_WIRES[wire])
    return {
        "body": partial(readers.ours(wire), body),
        "body base": partial(msgspec.json.decode, body),
        "stream": partial(readers.ours_streamed(wire), traffic.pieces(stream, _PIECE)),
        "stream base": partial(readers.msgspec_each, traffic.payloads(stream)),
    }


def run(wire: str, name: str, times: int) -> None:
    """Run a job of a wire ``times`` times. Every job runs twice first, so that imports do not count."""
    named = jobs(wire)
    for job in (*named.values(), *named.values()):
        job()
    for _ in range(times):
        named[name]()


def counted(wire: str, name: str, times: int) -> int:
    """Return the instructions of a process that calls `run`."""
    code = f"from benchmarks.instructions import run; run({wire!r}, {name!r}, {times})"
    command = ["valgrind", "--tool=callgrind", "--callgrind-out-file=/dev/null", sys.executable, "-c", code]
    environment = {**os.environ, "PYTHONHASHSEED": "0"}
    ran = subprocess.run(command, capture_output=True, text=True, check=True, env=environment)
    found = re.search(r"Collected : (\d+)", ran.stderr)
    if found is None:
        raise RuntimeError(f"valgrind printed no count: {ran.stderr[-500:]}")
    return int(found[1])


def ratios() -> dict[str, float]:
    """Return the instructions of the normalizer as multiples of the base, by wire and job."""
    processes = [
        (wire, job, times)
        for wire in traffic.JSON_WIRES
        for job, times in (("body", 0), *((job, _RUNS[job.split()[0]]) for job in jobs(wire)))
    ]
    with ThreadPoolExecutor(os.cpu_count()) as pool:  # each thread waits for a process
        counts = dict(zip(processes, pool.map(lambda process: counted(*process), processes), strict=True))
    measured = {}
    for wire in traffic.JSON_WIRES:
        idle = counts[wire, "body", 0]
        for name, times in _RUNS.items():
            ours, base = (counts[wire, job, times] - idle for job in (name, f"{name} base"))
            measured[f"{wire} {name}"] = round(ours / base, 3)
    return measured


def build() -> str:
    """Return what the counts depend on: the build of Python and the version of msgspec."""
    return f"Python {sys.version}, msgspec {msgspec.__version__}"


def main() -> int:
    """Compare the counts with the stored ones."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.instructions", description=__doc__)
    parser.add_argument("--update", action="store_true", help="store the ratios of this run")
    update = parser.parse_args().update
    if shutil.which("valgrind") is None:
        print("valgrind is not installed: nothing is compared")
        return 0
    stored = json.loads(STORED.read_text())
    if not update and stored["build"] != build():
        print(f"the stored counts are of {stored['build']}, this is {build()}: nothing is compared")
        return 0
    measured = ratios()
    if update:
        stored = {"build": build(), "ratios": measured}
        STORED.write_text(json.dumps(stored, indent=1) + "\n")
    stored = stored["ratios"]
    slower = [name for name, ratio in measured.items() if ratio > stored.get(name, 0) * TOLERANCE]
    for name, ratio in measured.items():
        print(f"{name:28} {ratio:.2f}, stored {stored.get(name, 0):.2f}{' SLOWER' if name in slower else ''}")
    return 1 if slower else 0


if __name__ == "__main__":
    sys.exit(main())
