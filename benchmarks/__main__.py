"""Measure made traffic and print ratios: `python -m benchmarks [--fast | --turns N] [--results FILE]`."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator
from pathlib import Path

import msgspec
from tabulate import tabulate

from . import writing
from .cases import JSON, MEMBERS, MSGSPEC, STREAM_GOALS, Case, cases
from .imports import import_times
from .measure import Times, measure

GOAL = 2.0
IMPORT_GOAL_MS = 20.0
#: Of the time that the same members take through the official SDK.
MEMBERS_GOAL = 1.36


class Row(msgspec.Struct):
    """The time of one reader or writer, and its ratio to the base. ``low``, ``high``: the ratio in parts of the run.

    ``goal``: "" if there is none. ``holds``: None without a goal.
    """

    wire: str
    what: str
    reader: str
    microseconds: float
    ratio: float
    low: float
    high: float
    goal: str = ""
    holds: bool | None = None


def main() -> int:
    """Run the benchmarks and print the table. Returns 0 whether or not the goals hold."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    parser.add_argument("--fast", action="store_true", help="a quick look: a tenth of the turns")
    parser.add_argument("--turns", type=int, help="how often each reader is measured [default: 100]")
    parser.add_argument("--results", type=Path, metavar="FILE", help="write the rows that have a goal, as JSON")
    parser.add_argument("--wire", action="append", help="only this wire (may be given several times); no imports then")
    given = parser.parse_args()
    turns, share = (15, 0.005) if given.fast else (given.turns or 100, 0.01)
    rows: list[Row] = []
    for case in (*cases(), *writing.cases()):
        if not given.wire or case.wire in given.wire:
            _say(f"{case.wire} {case.what} …")
            rows += _rows(case, measure(case.jobs, turns, share))
    if not given.wire:
        _say("imports …")
        rows.append(_import_row(import_times(9 if given.fast else min(turns, 41))))
    _say("")
    _print(rows)
    if given.results:
        with_goal = [row for row in rows if row.goal]
        given.results.write_bytes(msgspec.json.format(msgspec.json.encode(with_goal), indent=1) + b"\n")
    return 0


def _rows(case: Case, times: Times) -> Iterator[Row]:
    for name in case.jobs:
        ratio = times.ratio(name, case.base)
        row = Row(case.wire, case.what, name, times.microseconds(name), ratio, *times.spread(name, case.base))
        if name in case.ours:
            row.goal, row.holds = _goal(case, name, times)
        yield row


def _goal(case: Case, name: str, times: Times) -> tuple[str, bool | None]:
    """Return the goal of a row for toolparity and whether it holds, or "" and None."""
    ratio = times.ratio(name, case.base)
    if case.base == MSGSPEC and case.what == "body":
        return f"≤ {GOAL}, below {JSON}", ratio <= GOAL and times.ratio(name, JSON) < 1
    if case.base == MSGSPEC:
        pieces, events = STREAM_GOALS[case.wire]
        goal = pieces if "4,096" in name else events if "one event" in name else 0
        return (f"≤ {goal}", ratio <= goal) if goal else ("", None)
    if case.base == MEMBERS:
        return f"≤ {MEMBERS_GOAL}", ratio <= MEMBERS_GOAL
    goal = writing.GOALS[case.wire]
    return f"< {goal}", ratio < goal


def _import_row(times: Times) -> Row:
    more = (times.microseconds("toolparity") - times.microseconds("msgspec")) / 1000
    return Row(
        "",
        "from toolparity import normalize",
        "above import msgspec",
        more * 1000,
        times.ratio("toolparity", "msgspec"),
        *times.spread("toolparity", "msgspec"),
        f"≤ {IMPORT_GOAL_MS:g} ms",
        more <= IMPORT_GOAL_MS,
    )


def _print(rows: list[Row]) -> None:
    table, before = [], ""
    for row in rows:
        title = f"{row.wire} {row.what}".strip()
        ratios = [f"{row.ratio:,.2f}", f"{row.low:,.2f} to {row.high:,.2f}"]
        holds = "" if row.holds is None else _yes(row.holds)
        table.append(
            ["" if title == before else title, row.reader, f"{row.microseconds:,.1f} µs", *ratios, row.goal, holds]
        )
        before = title
    headers = ["what is read", "by whom", "time", "ratio", "spread", "goal", "holds"]
    align = ("left", "left", "right", "right", "right", "left", "left")
    print(tabulate(table, headers, colalign=align, disable_numparse=True))
    print(
        "\nRatio: to parsing alone (msgspec.json.decode of the same JSON; for a body of xai.grpc each member through"
        " the official SDK); of requests, to msgspec.json.encode of what was written. Spread: the ratio in each fifth"
        " of the run."
    )


def _yes(holds: bool) -> str:
    return "yes" if holds else "NO"


def _say(text: str) -> None:
    """Show progress on standard error if that is a terminal."""
    if sys.stderr.isatty():
        print(f"\r\033[K{text}", end="", file=sys.stderr, flush=True)


if __name__ == "__main__":
    sys.exit(main())
