"""Writes the page about speed from benchmark results: ``python docs/speed.py [RESULTS] > docs/benchmarks.md``."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

from tabulate import tabulate

#: The folder of the results: the first argument, if the page is written by the command.
RESULTS = Path(__file__).resolve().parent.parent / "benchmarks" / "results"
_GOAL = 0.8
_MULTIPLES = ("median", "high", "sum")
_WIRES = ("openai.chat", "openai.responses", "anthropic.messages")
#: Goals for the medians, by wire and kind.
GOALS = {(wire, "bodies"): 2.0 for wire in _WIRES} | {
    (wire, "streams in recorded pieces"): goal for wire, goal in zip(_WIRES, (3.5, 4.5, 7.0), strict=True)
}

HEAD = """# Speed

| command | measures |
|---|---|
| `python -m benchmarks` | made bodies and streams, requests, cassettes, calls in text and imports, with goals |
| `python -m benchmarks.recorded RECORDINGS` | every recorded body and stream |
| `python -m benchmarks.minimum RECORDINGS` | the least cost of reading recorded traffic in Python |
| `python -m benchmarks.fast_paths RECORDINGS` | the share of recorded traffic that takes the fast paths |
| `python -m benchmarks.peers RECORDINGS` | other libraries on recorded responses |
| `python -m benchmarks.bulk RECORDINGS --size 2GB` | `toolparity normalize` and `toolparity audit` on large files |
| `python -m benchmarks.engines [SOURCE] --size 2GB` | an audit in one process, in several, on Dask and in shares |
| `python -m benchmarks.groups [SOURCE …]` | which exchanges could be [linked apart](bulk.md#linking-in-one-process) |
| `python -m benchmarks.proxy` and `benchmarks.proxy_http2` | the proxy ([proxy.md](proxy.md#cost)) |
| `python -m benchmarks.turns [--log]` | turns, with and without a turn log |
| `python -m benchmarks.instructions` | instructions, for CI: it fails if decoding or writing became 10 % slower |

They need the development environment of [CONTRIBUTING.md](../CONTRIBUTING.md). `RECORDINGS` is a folder of recordings
([recordings.md](recordings.md)). `python -m benchmarks.renew RECORDINGS` runs all of them except `engines`, `groups`
and the proxy's, stores their results in `benchmarks/results` and writes this page; `--only STEP` runs one, `--size
STEP=VALUE` makes it shorter or longer. `toolparity subjects install` has to install the libraries before. Measure on a
machine that does nothing else. The figures here come from one machine with two cores, Python 3.11 without
profile-guided optimisation. Only the first two tables were measured while it did nothing else.

## Recorded traffic

The time of the normalizer as a multiple of `msgspec.json.decode` of the same payloads. The two alternate, and the
fastest run of each counts. Streams arrive in the pieces that were recorded or, where these are not known, in one event
a piece. The sum compares the times of all recordings together. The goals are for medians; bodies have the goal 2.3 for
the sum as well.
"""

LEAST = """## What reading costs at least

The recorded bodies, and the streams whose pieces are known, measured together in another run; the figures are medians.
"Parsing" decodes the body or the events into structs. "Framing" adds one call of a method and one search for line ends
a piece. "Objects" adds the creation of the canonical events and of the response, from parts that are known before, and
the parsing of the calls' arguments. These loops contain no decision of the normalizer.
"""

STEPS = """The difference between the last two columns is the normalizer's logic: framing of all shapes, routing, state,
checks and the response. The median share of a stream's time by step; other pieces take the rest:
"""

FAST = """## Fast paths

The share of recorded bodies and stream events that the fast paths take, for providers with at least 20 recordings. A
test holds it at 95 % or more.
"""

PEERS = """## Other libraries

Each library reads the same recorded responses of OpenAI, Anthropic and xAI, in its own environment. All get them over
HTTP from a server in their process. The time is the processor time of the reading thread in microseconds, the fewest of
seven attempts. The table has the median of the responses, and in brackets the 10 % and the 90 % quantile. The last
column compares with toolparity: it is the median of the ratios. Every time contains that of an HTTP client, which the
first row of each wire shows alone; nothing is subtracted. Libraries differ in what they do besides reading, and
any-llm creates a client for each call. A library is left out where it does not read a wire, and responses that it
refuses are not counted. llm-rosetta converts parsed JSON and has no client: it gets the response from the HTTP client
of toolparity's row, and of a stream it converts the events without collecting a response. The distribution `lingua` on
PyPI is a tool for translations.
"""

BULK = """## Bulk work

`python -m benchmarks.bulk RECORDINGS --size 2GB --json benchmarks/results/bulk.json` repeats recorded exchanges as JSON
lines and runs `toolparity normalize` and `toolparity audit` on them as programs. The base is plain normalization: the
bodies are in memory, and nothing but the decoder runs. The first table has the steps of the commands, each measured
alone, in microseconds of processor time per exchange.
"""

BULK_RUNS = """\
Megabytes are those of the lines before compression. The shares compare exchanges per second with the base, and with
the step of the same name in memory, each times the number of processes. Processor time includes the start of all
processes. Memory is the largest resident memory of all processes together in each quarter of the run. `rows` is
`python -m benchmarks.bulk_rows`, a program that decodes each row in one process and writes it again, without the
normalizer.
"""

BULK_LIMIT = """\
A program takes more processor time than its steps in memory, for three reasons:

- Its start: 0.42 s for `normalize`, 0.46 s for `audit` and 0.18 s for `rows`. On 86 MB with 9,884 exchanges, these are
  43, 47 and 18 microseconds per exchange. On 941 MB, `rows` took 33 microseconds per exchange, as in memory.
- Its place among other code. `select` takes 3 microseconds per exchange alone in a loop, and 8 directly after the
  decoder, presumably because the decoder displaces its code and data in the caches.
- Other work of the machine in these runs, which makes every instruction slower.

The least that `normalize` does is to decode the row, encode its body as bytes, decode the response and encode it as
JSON. In another run, on 412 recorded exchanges and with the fastest of 25 turns, these took 13, 3, 71 and 5
microseconds per exchange, 92 together, so plain normalization was 77% of the least. All of `normalize` took 137 in that
run, which is 52%: reading added 9 to rows and bodies, and the search for calls, the selection and the line the other
37. An audit took 228. So the goal of 80% is out of reach for a program that reads rows.
"""

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

MADE = """## Made traffic

`python -m benchmarks` reads and writes made traffic and compares with the base in the same run: of a body and a stream
`msgspec.json.decode` of the same JSON, of a request `msgspec.json.encode` of the body that was written, on `xai.grpc`
as JSON. A body of `xai.grpc` is compared with what the same members cost through the official SDK. The readers
take turns, the time is processor time, and the fastest run of each counts. The spread is the ratio in each fifth of the
run. An import is measured in fresh processes, with compiled modules.
[requests.md](requests.md#growing-conversations) describes the writer.
"""

TAIL = """## A compiled part

There is none, by measurement. The best candidate was a prototype in C of 50 lines: it finds the events of a piece, and
the text of a delta between bytes that were learned from an event that was read before, with holes for sequence numbers
and padding. The recorded streams ran in their recorded pieces, and learning was free: the forms were prepared outside
of the measured time. Blocks were identical. It had to reach half of the goals.

| wire | normalizer | with the prototype | half of the goal |
|---|---|---|---|
| `openai.chat` | 4.25 | 4.11 | 1.75 |
| `openai.responses` | 4.96 | 4.60 | 2.25 |
| `anthropic.messages` | 7.90 | 7.57 | 3.5 |

The figures are medians of one run, the fastest of nine turns each. Half or more of the time of short streams goes into
events that are not deltas. On `openai.chat`, the same comparison of bytes is part of the decoder in Python.
In earlier measurements, compiling the unchanged modules gained 5 to 14 %.

## The size of the source

`python -m benchmarks.source_metrics BEFORE [AFTER]` counts lines, modules, repeated class names, comparisons with a
wire's name, avoided words and long or complex functions of two git revisions, and prints them side by side."""


def _read(name: str) -> list[dict[str, Any]]:
    rows: list[dict[str, Any]] = json.loads((RESULTS / f"{name}.json").read_text("utf-8"))
    return rows


def _table(rows: list[list[str]], headers: list[str], *, text_columns: int) -> str:
    align = ["left"] * text_columns + ["right"] * (len(headers) - text_columns)
    return tabulate(rows, headers, tablefmt="pipe", colalign=align, disable_numparse=True) + "\n"


def recorded() -> str:
    """Return the table of recorded traffic."""
    rows = [
        [
            f"`{row['wire']}`",
            row["kind"],
            f"{row['count']:,}",
            *(f"{row[name]:.2f}" for name in ("median", "high", "sum")),
            f"{GOALS[row['wire'], row['kind']]:g}" if (row["wire"], row["kind"]) in GOALS else "",
        ]
        for row in _read("recorded")
    ]
    return _table(rows, ["wire", "what", "count", "median", "90 %", "sum", "goal"], text_columns=2)


def least() -> str:
    """Return the table of the least cost of reading."""
    columns = ("typed", "framed", "created", "normalizer")
    rows = [
        [
            f"`{row['wire']}`",
            row["kind"],
            f"{row['count']:,}",
            *("" if row[name] is None else f"{row[name]:.2f}" for name in columns),
        ]
        for row in _read("minimum")
    ]
    headers = ["wire", "what", "count", "parsing", "and framing", "and objects", "normalizer"]
    return _table(rows, headers, text_columns=2)


def steps() -> str:
    """Return the table of the normalizer's time by step."""
    shares = ("beginnings", "deltas", "ends")
    rows = [
        [f"`{row['wire']}`", *(f"{row[name]:.0f} %" for name in shares)]
        for row in _read("minimum")
        if row["kind"] == "streams"
    ]
    headers = ["wire", "start and first piece", "pieces of deltas in between", "last piece and end"]
    return _table(rows, headers, text_columns=1)


def fast_paths() -> str:
    """Return the table of the shares that take the fast paths."""
    rows = [
        [
            f"`{row['wire']}`",
            row["provider"],
            row["kind"],
            f"{row['total']:,}",
            f"{100 * row['fast'] / row['total']:.1f}",
        ]
        for row in _read("fast_paths")
        if row["recordings"] >= 20
    ]
    return _table(rows, ["wire", "provider", "what", "number", "fast path"], text_columns=3)


def made() -> str:
    """Return the table of made traffic: the rows with a goal, without cassettes."""
    rows = []
    for row in _read("made"):
        if row["holds"] is None or "cassette" in row["what"]:
            continue
        what = f"`{row['wire']}` {row['what']}" if row["wire"] else row["what"]
        spread = f"{row['low']:.2f} to {row['high']:.2f}"
        holds = "yes" if row["holds"] else "no"
        reader = row["reader"].removeprefix("ours").removeprefix(", ")
        rows.append([what, reader, row["goal"], f"{row['ratio']:.2f}", spread, holds])
    return _table(rows, ["what", "how", "goal", "ratio", "spread", "holds"], text_columns=3)


def peers() -> str:
    """Return the table of libraries."""
    rows = []
    for row in _read("peers"):
        spread = f"{row['median']:,.0f} ({row['low']:,.0f} to {row['high']:,.0f})"
        ratio = "" if row["ratio"] is None else f"{row['ratio']:,.1f}"
        rows.append([f"`{row['wire']}`", row["kind"], row["reader"], str(row["responses"]), spread, ratio])
    headers = ["wire", "what", "reader", "responses", "microseconds", "to toolparity"]
    return _table(rows, headers, text_columns=3)


def chart(wire: str, kind: str) -> str:
    """Return a chart of the medians in milliseconds."""
    medians = {row["reader"]: row["median"] for row in _read("peers") if (row["wire"], row["kind"]) == (wire, kind)}
    names = ", ".join(f'"{name}"' for name in medians)
    bars = ", ".join(f"{value / 1000:.2f}" for value in medians.values())
    return "\n".join(
        (
            "```mermaid",
            "xychart-beta horizontal",
            f'    title "Reading {kind} of {wire}: milliseconds with the HTTP client"',
            f"    x-axis [{names}]",
            f"    bar [{bars}]",
            "```\n",
        )
    )


def turns() -> str:
    """Return the section about the turn log."""
    row = json.loads((RESULTS / "turns.json").read_text("utf-8"))
    verdict = "holds" if row["holds"] else "does not hold"
    return (
        "## The turn log\n\n"
        "`python -m benchmarks.turns --log` runs turns of two rounds and three calls against a recorded answer, in\n"
        f"batches of {row['turns']:,} concurrent turns, alternately without and with a log in a SQLite file. The\n"
        "fastest batch of each counts. A turn takes "
        f"{row['unlogged']:.2f} ms of processor time without a log and {row['logged']:.2f} ms with one,\n"
        f"{row['ratio']:.2f} times as much (between neighbouring batches {row['low']:.2f} to {row['high']:.2f}). "
        f"The goal of at most {row['goal']:g} times {verdict}.\n"
    )


def bulk() -> str:
    """Return the section about bulk work."""
    figures = json.loads((RESULTS / "bulk.json").read_text("utf-8"))
    steps = [
        [row["work"], BULK_STEPS[row["work"]], str(row["processes"]), f"{row['rate']:,.0f}", f"{row['cpu']:,.1f}"]
        for row in figures["in_memory"]
    ]
    runs = [
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
        for row in figures["runs"]
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
    return "\n".join(
        (
            BULK,
            _table(steps, ["step", "what it does", "processes", "exchanges/s", "µs"], text_columns=2),
            BULK_RUNS,
            _table(runs, headers, text_columns=2),
            _goal([row for row in figures["runs"] if row["command"] != "rows"], figures["in_memory"]),
            bulk_parts(figures["in_memory"]),
            BULK_LIMIT,
            *(memory_chart(row) for row in _largest(figures["runs"])),
        )
    )


def bulk_parts(in_memory: list[dict[str, Any]]) -> str:
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


def _largest(runs: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return the runs with the most processes on the uncompressed corpus."""
    most = max(row["processes"] for row in runs)
    return [row for row in runs if (row["processes"], row["compression"]) == (most, "none")]


def memory_chart(run: dict[str, Any]) -> str:
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


def _goal(runs: list[dict[str, Any]], in_memory: list[dict[str, Any]]) -> str:
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


def page() -> str:
    """Return the page."""
    libraries = (PEERS, chart("openai.chat", "streams"), peers())
    streams = (LEAST, least(), STEPS, steps(), FAST, fast_paths())
    return "\n".join((HEAD, recorded(), *streams, MADE, made(), *libraries, turns(), bulk(), TAIL))


if __name__ == "__main__":
    if len(sys.argv) > 1:
        RESULTS = Path(sys.argv[1])
    print(page())
