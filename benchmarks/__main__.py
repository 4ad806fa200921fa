"""Measure everything in one run and print it as ratios: `python -m benchmarks [--fast] [--json FILE]`."""

from __future__ import annotations

import argparse
import sys
from statistics import median

import pyperf
from tabulate import tabulate

from . import cassettes, textmode, writing
from .cases import JSON, MSGSPEC, Case, cases
from .imports import import_times
from .measure import Times, measure

GOAL = 2.0
WRITING_GOAL = 3.0
IMPORT_GOAL_MS = 20.0


def main() -> int:
    """Run the benchmarks and print the table. Returns 0 whether or not the goals hold."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    parser.add_argument("--fast", action="store_true", help="a quick look: a tenth of the turns")
    parser.add_argument("--json", metavar="FILE", help="write all times as a pyperf suite")
    parser.add_argument("--wire", action="append", help="only this wire (may be given several times); no imports then")
    given = parser.parse_args()
    turns, share = (15, 0.005) if given.fast else (100, 0.01)
    measured: list[Times] = []
    rows: list[list[str]] = []
    for case in (*cases(), *writing.cases(), *cassettes.cases(), *textmode.cases()):
        if not given.wire or case.wire in given.wire:
            _say(f"{case.wire} {case.what} …")
            times = measure(f"{case.wire} {case.what}", case.jobs, turns, share)
            measured.append(times)
            rows += _rows(case, times)
    if not given.wire:
        _say("imports …")
        times = import_times(9 if given.fast else 41)
        measured.append(times)
        rows.append(_import_row(times))
    _say("")
    headers = ["what is read", "by whom", "time", "ratio", "goal", "holds"]
    print(tabulate(rows, headers, colalign=("left", "left", "right", "right", "left", "left"), disable_numparse=True))
    print(
        "\nRatio: to parsing alone (msgspec.json.decode of the same JSON, protobuf's FromString of the same messages);"
        " of requests, to msgspec.json.encode of what was written; of cassettes, to yaml.CSafeLoader on the same file;"
        " of calls in a text, to decoding the stream alone."
    )
    if given.json:
        pyperf.BenchmarkSuite([b for t in measured for b in t.benchmarks()]).dump(given.json, replace=True)
    return 0


def _rows(case: Case, times: Times) -> list[list[str]]:
    rows = []
    for name in case.jobs:
        ratio = times.ratio(name, case.base)
        goal, holds = "", ""
        if name in case.ours and case.base == MSGSPEC:
            goal, holds = f"≤ {GOAL}", _yes(ratio <= GOAL)
            if case.what == "body":
                goal += f", below {JSON}"
                holds = _yes(ratio <= GOAL and times.ratio(name, JSON) < 1)
        elif name in case.ours and case.base == writing.BASE:
            goal, holds = f"< {WRITING_GOAL}", _yes(ratio < WRITING_GOAL)
        elif name in case.ours and case.base == cassettes.BASE:
            goal, holds = f"≤ {cassettes.GOAL}", _yes(ratio <= cassettes.GOAL)
        rows.append(["", name, f"{times.microseconds(name):,.1f} µs", f"{ratio:,.2f}", goal, holds])
    rows[0][0] = f"{case.wire} {case.what}"
    return rows


def _import_row(times: Times) -> list[str]:
    pairs = zip(times.seconds["toolparity"], times.seconds["msgspec"], strict=True)
    more = median(one - other for one, other in pairs) * 1e3
    ratio = f"{times.ratio('toolparity', 'msgspec'):.2f}"
    return [
        "from toolparity import normalize",
        "above import msgspec",
        f"{more:.1f} ms",
        ratio,
        f"≤ {IMPORT_GOAL_MS:g} ms",
        _yes(more <= IMPORT_GOAL_MS),
    ]


def _yes(holds: bool) -> str:
    return "yes" if holds else "NO"


def _say(text: str) -> None:
    """Show progress on standard error if that is a terminal."""
    if sys.stderr.isatty():
        print(f"\r\033[K{text}", end="", file=sys.stderr, flush=True)


if __name__ == "__main__":
    sys.exit(main())
