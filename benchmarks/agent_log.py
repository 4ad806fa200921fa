"""Measure audits of two shapes of log: `python -m benchmarks.agent_log [--size 200MB] [--json FILE]`.

A row of a log of agents has a request with the whole history, so its size grows with the conversation. The first table
has the processor time of a row in this process, for conversations of 2 to 200 rounds: of the audit with and without the
cache of histories, of the part file, of the merge, and of the proxy's judge. The second one has the engines of
`benchmarks.engines`, for the short conversations of the shipped cassettes and for agents with 150 rounds. All reports
of a log must be equal, byte for byte.
"""

from __future__ import annotations

import argparse
import json
import random
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from itertools import chain, islice, zip_longest
from pathlib import Path
from typing import Any

import msgspec
from msgspec import Struct
from tabulate import tabulate

from toolparity.audit import records
from toolparity.audit.bulk.functions import map_part, merge, split
from toolparity.audit.bulk.parallel import audit_paths
from toolparity.audit.histories import KEPT_BYTES, Histories
from toolparity.audit.proxy.copies import ExchangeCopy
from toolparity.audit.proxy.judge import Judge
from toolparity.audit.proxy.judgement import JudgeOptions
from toolparity.audit.report import as_json
from toolparity.normalizer import json_codec

from .bulk import SOURCE, size_in_bytes
from .engines import corpus, measured

#: The rounds of the conversations that the engines audit.
LONG = 150
ROUNDS = (2, 10, 50, 200)
#: How many conversations take turns in a log.
_TOGETHER = 8
#: How probable a repeated request, an edited history, and a branch are in each round.
_CHANCE = 0.02
_LETTERS = "abcdefghijklmnopqrstuvwxyz"


class RowTime(Struct):
    """The times of a row in microseconds. ``megabytes``: what the audit reads in a second. ``part_file``: its size as a
    share of the input, in percent.
    """

    rounds: int
    kilobytes: float
    audit: float
    megabytes: float
    without_cache: float
    part: float
    merge: float
    judge: float
    part_file: float


def rows(rounds: int) -> Iterator[dict[str, Any]]:
    """Yield the exchanges of conversations of agents, some of which take turns; each round calls one tool.

    Some requests are repeated, some histories are edited, and some branch: they continue without the last round.
    """
    drawn = random.Random(1)
    vocabulary = ["".join(drawn.choices(_LETTERS, k=drawn.randint(2, 9))) for _ in range(4000)]

    def words(count: int) -> str:
        return " ".join(drawn.choices(vocabulary, k=count))

    def conversation() -> Iterator[dict[str, Any]]:
        history: list[dict[str, Any]] = [
            {"role": "system", "content": words(300)},
            {"role": "user", "content": words(60)},
        ]
        for _ in range(rounds):
            id = f"call_{drawn.getrandbits(96):024x}"
            function = {"name": "read_file", "arguments": json.dumps({"path": words(3)})}
            call = {"id": id, "type": "function", "function": function}
            message = {"role": "assistant", "content": words(20), "tool_calls": [call]}
            choice = {"index": 0, "message": message, "finish_reason": "tool_calls"}
            body = {"id": f"chatcmpl-{id}", "object": "chat.completion", "model": "m", "choices": [choice]}
            row = {"wire": "openai.chat", "request": {"model": "m", "messages": history}, "body": json.dumps(body)}
            yield row
            if (chance := drawn.random()) < _CHANCE:
                yield row
            elif chance < 2 * _CHANCE:
                history = [history[0], {"role": "user", "content": words(60)}, *history[2:]]
            if chance < 1 - _CHANCE:
                history = [*history, message, {"role": "tool", "tool_call_id": id, "content": words(100)}]

    while True:
        together = chain.from_iterable(zip_longest(*(conversation() for _ in range(_TOGETHER))))
        yield from (row for row in together if row is not None)


def write(path: Path, rounds: int, size: int) -> int:
    """Write a log of about ``size`` bytes. Return the number of its rows."""
    count = written = 0
    source = rows(rounds)
    with path.open("wb") as file:
        while written < size:
            for row in islice(source, rounds * _TOGETHER):
                written += file.write(json_codec.encode(row) + b"\n")
                count += 1
    return count


def row_time(path: Path, rounds: int, count: int) -> RowTime:
    """Measure the rows of a log in this process. Raises SystemExit if two reports differ."""
    reports = []

    def timed(work: Callable[[], Any], kept: int = KEPT_BYTES) -> tuple[float, Any]:
        records.local.histories = Histories(kept)
        began = time.process_time()
        result = work()
        return (time.process_time() - began) / count * 1e6, result

    audit, report = timed(lambda: audit_paths([str(path)], jobs=1))
    reports.append(as_json(report, "all", None))
    without, report = timed(lambda: audit_paths([str(path)], jobs=1), kept=0)
    reports.append(as_json(report, "all", None))
    part, parts = timed(lambda: [map_part(each) for each in split([str(path)])])
    merging, merged = timed(lambda: merge(reversed(parts)))
    reports.append(merged.json())
    if any(json_codec.encode(each) != json_codec.encode(reports[0]) for each in reports):
        raise SystemExit(f"the reports of {rounds} rounds differ")
    copies = [copy_of(number, line) for number, line in enumerate(path.read_bytes().splitlines(), 1)]
    judge = Judge(JudgeOptions())
    judging, _ = timed(lambda: [judge(copy) for copy in copies])
    size = path.stat().st_size
    share = sum(map(len, parts)) / size * 100
    return RowTime(rounds, size / count / 1e3, audit, size / count / audit, without, part, merging, judging, share)


def copy_of(number: int, line: bytes) -> ExchangeCopy:
    """Return a row as the proxy copies it. ``line``: of the log."""
    row = json_codec.decode(line)
    copy = ExchangeCopy(number, 0.0, "POST", "https://api.openai.com/v1/chat/completions", [])
    copy.request, copy.chunks = json_codec.encode(row["request"]), [row["body"].encode()]
    copy.status, copy.ending = 200, "complete"
    copy.response_headers = [(b"content-type", b"application/json")]
    return copy


def _table(entries: Sequence[Struct]) -> str:
    columns = entries[0].__struct_fields__
    return tabulate([msgspec.structs.astuple(entry) for entry in entries], columns, floatfmt=",.1f")


def main() -> int:
    """Run the benchmark and print its tables."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.agent_log", description=__doc__)
    parser.add_argument("--size", type=size_in_bytes, default=size_in_bytes("200MB"), help="of the logs of the engines")
    parser.add_argument("--row-size", type=size_in_bytes, default=size_in_bytes("20MB"), help="of the others")
    parser.add_argument("--engine", action="append", default=[], help="a part of a name, such as 'share' and 'Dask, 1'")
    parser.add_argument("--scratch", type=Path, help="the folder in which the logs are made, and deleted again")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the figures")
    given = parser.parse_args()
    times: list[RowTime] = []
    shapes: dict[str, Any] = {}
    with tempfile.TemporaryDirectory(dir=given.scratch) as folder:
        log = Path(folder, "log.jsonl")
        for rounds in ROUNDS:
            times.append(row_time(log, rounds, write(log, rounds, given.row_size)))
        print(_table(times))
        for shape in ("short conversations", "agents"):
            if shape == "agents":
                write(log, LONG, given.size)
            else:
                corpus(SOURCE, log, given.size)
            about, runs = measured(log, Path(folder), 0, log, given.engine)
            shapes[shape] = {**about, "runs": runs}
            share = about["part_files"] / about["bytes"]
            print(f"\n{shape}, {about['exchanges']:,} rows, {about['bytes'] / 1e6:,.0f} MB; part files {share:.2%}")
            print(_table(runs))
    if given.json:
        data = json_codec.encode({"rows": times, "shapes": shapes})
        given.json.write_bytes(msgspec.json.format(data, indent=1) + b"\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
