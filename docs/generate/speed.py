"""The tables and charts of the page about speed, from the results of the benchmarks."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from tabulate import tabulate

from docs.generate import ROOT, filled

RESULTS = ROOT / "benchmarks" / "results"
Row = dict[str, Any]
_GOAL = 0.8
#: The goals for the medians of streams, where they are not those of the other wires.
_STREAMS = {"openai.chat": 3.5, "openai.responses": 3.5, "anthropic.messages": 5.5}


def goal(wire: str, kind: str) -> float:
    """Return the goal for the median of a wire and kind."""
    if wire == "xai.grpc":
        return 1.0
    if kind == "bodies":
        return 2.0 if wire in _STREAMS else 2.5
    return _STREAMS.get(wire, 6.0)


#: The steps of bulk work, with what each does.
BULK_STEPS = {
    "plain normalization": "decode the response, the base",
    "rows": "decode a row and encode it again",
    "reading": "read a line as an exchange",
    "decoding": "decode the response, and search its text for calls",
    "normalize": "the same, with the selection and the JSON of the response",
    "audit": "the same as decoding, with the selections of three policies, the counts and the record",
    "records": "the record by which conversations are linked, from the request and the response",
    "linking": "link the records of conversations and judge them",
    "merging audits": "take the counts and records of a worker",
    "merging lines": "take the lines of a worker and write them",
    "unpacking gz": "unpack gzip and divide it into parts",
    "unpacking zst": "unpack Zstandard and divide it into parts",
}


def _table(rows: list[list[str]], headers: list[str], *, text_columns: int) -> str:
    align = ["left"] * text_columns + ["right"] * (len(headers) - text_columns)
    return tabulate(rows, headers, tablefmt="pipe", colalign=align, disable_numparse=True) + "\n"


def recorded(results: list[Row]) -> str:
    """Return the table of recorded traffic."""
    rows = [
        [
            f"`{row['wire']}`",
            row["kind"],
            f"{row['count']:,}",
            *(f"{row[name]:.2f}" for name in ("median", "high", "sum")),
            f"{goal(row['wire'], row['kind']):g}",
        ]
        for row in results
    ]
    return _table(rows, ["wire", "what", "count", "median", "90 %", "sum", "goal"], text_columns=2)


def least(results: list[Row]) -> str:
    """Return the table of the least cost of reading."""
    columns = ("typed", "framed", "created", "normalizer")
    rows = [
        [
            f"`{row['wire']}`",
            row["kind"],
            f"{row['count']:,}",
            *("" if row[name] is None else f"{row[name]:.2f}" for name in columns),
        ]
        for row in results
    ]
    headers = ["wire", "what", "count", "parsing", "and framing", "and objects", "normalizer"]
    return _table(rows, headers, text_columns=2)


def steps(results: list[Row]) -> str:
    """Return the table of the normalizer's time by step."""
    shares = ("beginnings", "deltas", "ends")
    rows = [
        [f"`{row['wire']}`", *(f"{row[name]:.0f} %" for name in shares)] for row in results if row["kind"] == "streams"
    ]
    headers = ["wire", "start and first piece", "pieces of deltas in between", "last piece and end"]
    return _table(rows, headers, text_columns=1)


def fast_paths(results: list[Row]) -> str:
    """Return the table of the shares that take the fast paths."""
    rows = [
        [
            f"`{row['wire']}`",
            row["provider"],
            row["kind"],
            f"{row['total']:,}",
            f"{100 * row['fast'] / row['total']:.1f}",
        ]
        for row in results
        if row["recordings"] >= 20
    ]
    return _table(rows, ["wire", "provider", "what", "number", "fast path"], text_columns=3)


def made(results: list[Row]) -> str:
    """Return the table of made traffic: the rows with a goal."""
    rows = []
    for row in results:
        what = f"`{row['wire']}` {row['what']}" if row["wire"] else row["what"]
        spread = f"{row['low']:.2f} to {row['high']:.2f}"
        holds = "yes" if row["holds"] else "no"
        reader = row["reader"].removeprefix("ours").removeprefix(", ")
        rows.append([what, reader, row["goal"], f"{row['ratio']:.2f}", spread, holds])
    return _table(rows, ["what", "how", "goal", "ratio", "spread", "holds"], text_columns=3)


def peers(results: list[Row]) -> str:
    """Return the table of libraries."""
    rows = []
    for row in results:
        spread = f"{row['median']:,.0f} ({row['low']:,.0f} to {row['high']:,.0f})"
        ratio = "" if row["ratio"] is None else f"{row['ratio']:,.1f}"
        rows.append([f"`{row['wire']}`", row["kind"], row["reader"], str(row["responses"]), spread, ratio])
    headers = ["wire", "what", "reader", "responses", "microseconds", "to toolparity"]
    return _table(rows, headers, text_columns=3)


def chart(results: list[Row], wire: str, kind: str) -> str:
    """Return a chart of the medians in milliseconds."""
    medians = {row["reader"]: row["median"] for row in results if (row["wire"], row["kind"]) == (wire, kind)}
    names = ", ".join(f'"{name}"' for name in medians)
    bars = ", ".join(f"{value / 1000:.2f}" for value in medians.values())
    return "\n".join(
        (
            "```mermaid",
            "xychart-beta horizontal",
            f'    title "Reading {kind} of {wire}: milliseconds"',
            f"    x-axis [{names}]",
            f"    bar [{bars}]",
            "```\n",
        )
    )


def turns(rows: list[Row]) -> str:
    """Return the paragraph and the table about the turn log."""
    table = [
        [
            str(row["turns"]),
            *(f"{row[name]:.2f}" for name in ("unlogged", "logged", "ratio")),
            f"{row['low']:.2f} to {row['high']:.2f}",
            f"{row['goal']:g}",
            *(f"{row[name]:.1f}" for name in ("wall_ratio", "writes", "syncs")),
        ]
        for row in rows
    ]
    heads = ["turns at once", "ms", "ms with a log", "ratio", "spread", "goal", "ratio of the time", "writes", "syncs"]
    return (
        "`python -m benchmarks.turns --log` runs turns of two rounds and three calls against a recorded answer,\n"
        "alternately without and with a log in a SQLite file. The fastest batch of each counts. The table has the\n"
        "processor time of a turn, its transactions (writes), and those that wait for the disk (syncs).\n\n"
        + _table(table, heads, text_columns=1)
    )


def growth(results: list[Row]) -> str:
    """Return the table of growth: instructions of a unit in inputs of each size."""
    sizes = list(results[0]["costs"])
    rows = [
        [row["entry"], *(f"{row['costs'][size] / int(size):,.0f}" for size in sizes), f"{row['growth']:.2f}"]
        for row in results
    ]
    return _table(rows, ["entry point", *(f"{int(size):,}" for size in sizes), "growth"], text_columns=1)


def bulk_steps(in_memory: list[Row]) -> str:
    """Return the table of the steps of bulk work."""
    steps = [
        [row["work"], BULK_STEPS[row["work"]], str(row["processes"]), f"{row['rate']:,.0f}", f"{row['cpu']:,.1f}"]
        for row in in_memory
    ]
    return _table(steps, ["step", "what it does", "processes", "exchanges/s", "µs"], text_columns=2)


def bulk_runs(results: list[Row]) -> str:
    """Return the table of the runs of bulk work."""
    rows = [
        [
            f"`{row['command']}`",
            row["compression"],
            str(row["processes"]),
            f"{row['megabytes']:,.0f}",
            f"{row['rate']:,.0f}",
            f"{row['cpu']:,.0f}",
            f"{row['goal']:.0%}",
            f"{row['own']:.0%}",
            ", ".join(str(max(quarter)) for quarter in _quarters(row["rss"])),
        ]
        for row in results
    ]
    headers = [
        "command",
        "compression",
        "processes",
        "MB/s",
        "exchanges/s",
        "µs",
        "of base",
        "of own work",
        "memory, MB",
    ]
    return _table(rows, headers, text_columns=2)


def bulk_parts(in_memory: list[Row]) -> str:
    """Return the paragraphs about what an exchange costs, from the figures of the steps."""
    cost = {row["work"]: row["cpu"] for row in in_memory if row["processes"] == 1}
    plain, decoding, records = cost["plain normalization"], cost["decoding"], cost["records"]
    merging = cost["merging audits"] + cost["linking"]
    working = cost["reading"] + cost["audit"]
    return f"""\
An exchange costs more than its decoding. In microseconds of processor time per exchange, on recorded traffic: decoding
{plain:.0f}, reading the line {cost["reading"]:.0f}, searching the text for calls {decoding - plain:.0f}.
`normalize` adds {cost["normalize"] - decoding:.0f} for the selection and the JSON of the response.
`audit` adds {cost["audit"] - decoding - records:.0f} for the selections of three policies and the counts,
{records:.0f} for the record, and {cost["linking"]:.0f} for linking.
A program that decodes the response, decodes the row and writes it again, and does nothing else, would reach
{plain / (plain + cost["rows"]):.0%} of plain normalization.

With several workers, the main process merges. It takes {merging:.0f} microseconds per exchange of an audit, against
{working:.0f} in the workers, so about {working / merging:.0f} workers keep it busy. While it normalizes, it takes
{cost["merging lines"]:.0f}, and {cost["unpacking gz"]:.0f} more for unpacking gzip or {cost["unpacking zst"]:.0f} for
Zstandard. [bulk.md](bulk.md) describes how to divide an audit among machines.
"""


def _largest(runs: list[Row]) -> list[Row]:
    """Return the runs with the most processes on the uncompressed corpus."""
    most = max(row["processes"] for row in runs)
    return [row for row in runs if (row["processes"], row["compression"]) == (most, "none")]


def memory_chart(run: Row) -> str:
    """Return a chart of the memory of a run over its time."""
    megabytes = run["megabytes"] * run["seconds"]
    return "\n".join(
        (
            "```mermaid",
            "xychart-beta",
            f'    title "Memory of {run["command"]} with {run["processes"]} processes on {megabytes:,.0f} MB"',
            f'    x-axis "seconds" 0 --> {run["seconds"]:.0f}',
            f'    y-axis "MB" 0 --> {max(run["rss"])}',
            f"    line [{', '.join(map(str, run['rss']))}]",
            "```\n",
        )
    )


def _quarters(values: list[int]) -> list[list[int]]:
    length = max(1, -(-len(values) // 4))
    return [values[start : start + length] for start in range(0, len(values), length)]


def _goal(runs: list[Row], in_memory: list[Row]) -> str:
    """Return whether all cores reach the goal: 80 % of plain normalization on as many cores."""
    most = max(row["processes"] for row in runs)
    base = {row["work"]: row["cpu"] for row in in_memory if row["processes"] == 1}
    rates, times = [], []
    for command in dict.fromkeys(row["command"] for row in runs):
        rows = [row for row in runs if row["command"] == command and row["processes"] == most]
        rates.append(f"`{command}` reaches {_range([row['goal'] for row in rows])}")
        plain, own = ([base[work] / row["cpu"] for row in rows] for work in ("plain normalization", command))
        times.append(f"of `{command}`, {_range(plain)} is plain normalization and {_range(own)} its work in memory")
    verdict = "holds" if all(row["goal"] >= _GOAL for row in runs if row["processes"] == most) else "does not hold"
    return (
        f"The goal of {_GOAL:.0%} of plain normalization times the cores {verdict}: {', '.join(rates)}.\n"
        f"Processor time: {'; '.join(times)}.\n"
    )


def _range(shares: list[float]) -> str:
    return f"{min(shares):.0%} to {max(shares):.0%}"


def files(results: Path = RESULTS) -> dict[Path, str]:
    """Return the page with the figures of a folder of results."""
    figures = {path.stem: json.loads(path.read_text("utf-8")) for path in results.glob("*.json")}
    in_memory, runs = figures["bulk"]["in_memory"], figures["bulk"]["runs"]
    goal = _goal([row for row in runs if row["command"] != "rows"], in_memory)
    blocks = {
        "recorded": recorded(figures["recorded"]),
        "minimum": least(figures["minimum"]),
        "steps": steps(figures["minimum"]),
        "fast paths": fast_paths(figures["fast_paths"]),
        "made": made(figures["made"]),
        "peers": chart(figures["peers"], "openai.chat", "streams") + "\n" + peers(figures["peers"]),
        "turns": turns(figures["turns"]),
        "growth": growth(figures["growth"]),
        "bulk steps": bulk_steps(in_memory),
        "bulk runs": "\n".join([bulk_runs(runs), goal, bulk_parts(in_memory)]),
        "bulk memory": "\n".join(map(memory_chart, _largest(runs))),
    }
    return filled("benchmarks.md", blocks)
