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
import json
import os
import sys
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from importlib.util import find_spec
from pathlib import Path

import msgspec

from toolparity import Wire, write_request

from . import callgrind, readers, traffic, writing
from .measure import Job

STORED = Path(__file__).with_name("results") / "instructions.json"
TOLERANCE = 1.10
#: How often each job runs. One run of the base takes few instructions, and the first ones depend on the free memory.
_RUNS = {
    "body": 500,
    "body base": 500,
    "stream": 25,
    "stream base": 25,
    "request": 30,
    "request base": 100,
}
#: The size of the pieces of a stream, in bytes.
_PIECE = 512
#: The size of the buffer for the JSON of a written request, in bytes.
_BUFFER = 1 << 22


def traffic_of(wire: Wire) -> tuple[bytes, bytes] | None:
    """Return a body and a stream of a JSON wire, None for another one."""
    made = traffic.JSON_WIRES.get(wire)
    return made and (made[0](), made[1]())


def jobs(wire: Wire, material: tuple[bytes, bytes] | None) -> dict[str, Job]:
    """Return what is counted: ours and the base, for a request and, with `traffic_of`, for a body and a stream."""
    write = partial(write_request, writing.conversation(wire), wire=wire, provider=writing.PROVIDERS[wire])
    # Into one buffer: what growing a new one costs depends on the memory behind it, and so on the environment.
    encode = partial(msgspec.json.Encoder().encode_into, writing.as_json(write().body), bytearray(_BUFFER))
    request: dict[str, Job] = {"request": write, "request base": encode}
    if material is None:
        return request
    body, stream = material
    return {
        "body": partial(readers.ours(wire), body),
        "body base": partial(msgspec.json.decode, body),
        "stream": partial(readers.ours_streamed(wire), traffic.pieces(stream, _PIECE)),
        "stream base": partial(readers.msgspec_each, traffic.payloads(stream)),
        **request,
    }


def run(wire: Wire, material: tuple[bytes, bytes] | None) -> None:
    """Run the jobs of a wire for `callgrind.counts`. Every job runs twice first, so that imports do not count."""
    named = jobs(wire, material)
    for job in (*named.values(), *named.values()):
        job()
    callgrind.run((job, _RUNS[name]) for name, job in named.items())


def counted(wire: Wire) -> dict[str, float]:
    """Return the instructions of one run of each job of a wire."""
    material = traffic_of(wire)
    found = callgrind.counts("benchmarks.instructions:run", wire, material)
    return {name: count / _RUNS[name] for name, count in zip(jobs(wire, material), found, strict=True)}


def ratios(wires: Sequence[Wire]) -> dict[str, float]:
    """Return the instructions of the normalizer as multiples of the base, by wire and job."""
    measured = {}
    with ThreadPoolExecutor(os.cpu_count()) as pool:  # each thread waits for a process
        for wire, counts in zip(wires, pool.map(counted, wires), strict=True):
            for name in counts:
                if f"{name} base" in counts:
                    measured[f"{wire} {name}"] = round(counts[name] / counts[f"{name} base"], 3)
    return measured


def slowed(measured: dict[str, float], stored: dict[str, float]) -> list[str]:
    """Return what is more than `TOLERANCE` slower than its stored ratio, or has none."""
    return [name for name, ratio in measured.items() if ratio > stored.get(name, 0) * TOLERANCE]


def main() -> int:
    """Compare the counts with the stored ones."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.instructions", description=__doc__)
    parser.add_argument("--update", action="store_true", help="store the ratios of this run")
    parser.add_argument("--results", type=Path, default=STORED, metavar="FILE", help="the file with the stored ratios")
    parser.add_argument("--wire", action="append", choices=writing.PROVIDERS, help="only this wire; repeatable")
    given = parser.parse_args()
    update, path = given.update, given.results
    if not callgrind.is_installed():
        print("valgrind is not installed: nothing is compared")
        return 0
    stored = json.loads(path.read_text()) if path.exists() else {}
    if not update and stored["build"] != callgrind.build():
        print(f"the stored counts are of {stored['build']}, this is {callgrind.build()}: nothing is compared")
        return 0
    wires = [wire for wire in given.wire or writing.PROVIDERS if wire != "xai.grpc" or find_spec("xai_sdk")]
    measured = ratios(wires)
    if update:
        same = stored.get("build") == callgrind.build()
        stored = {"build": callgrind.build(), "ratios": (stored["ratios"] if same else {}) | measured}
        path.write_text(json.dumps(stored, indent=1) + "\n")
    stored = stored["ratios"]
    slower = slowed(measured, stored)
    for name, ratio in measured.items():
        print(f"{name:28} {ratio:.2f}, stored {stored.get(name, 0):.2f}{' SLOWER' if name in slower else ''}")
    return 1 if slower else 0


if __name__ == "__main__":
    sys.exit(main())
