"""Into how many groups the exchanges of a log fall that can be linked apart: `python -m benchmarks.groups [SOURCE …]`.

Exchanges belong to one group if the linker could compare them: they share the id of a response or of a call, or one
begins with the messages of the other. The time to find the groups is compared with the time to link all exchanges. The
agents of the other rows have 6 rounds with one call each.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections import Counter
from collections.abc import Iterator
from io import BytesIO
from itertools import count
from pathlib import Path
from random import Random
from typing import Any

from tabulate import tabulate

from toolparity import normalize, read_request
from toolparity.audit.bulk.functions import map_part, split
from toolparity.audit.bulk.part_files import PartFile
from toolparity.audit.conversations import ConversationAudit, ExchangeRecord, fingerprints, record
from toolparity.cassettes.workers import rare_collections

from .bulk import SOURCE

_HEADERS = ["log", "exchanges", "groups", "largest", "groups, µs", "linking, µs"]
_CONVERSATIONS, _ROUNDS = 800, 6


def keys(exchange: ExchangeRecord) -> tuple[set[Any], set[Any]]:
    """Return the keys under which the index remembers an exchange, and those that it looks up for it."""
    made: set[Any] = {("call", id) for choice in exchange.choices for call in choice.calls for id in call.ids}
    sought: set[Any] = {("response", exchange.previous_response_id)} if exchange.previous_response_id else set()
    if exchange.response_id:
        made.add(("response", exchange.response_id))
        sought.add(("response", exchange.response_id))
    last = before = 0
    for message in exchange.messages or ():
        before, last = last, fingerprints.chained(last, message.content)
        if message.role == "assistant":
            sought |= {("messages", before), ("messages", last)}
        sought |= {("call", id) for call in message.calls for id in call.ids}
        sought |= {("call", result.call_id) for result in message.results}
    if exchange.messages:
        made |= {("messages", fingerprints.chained(last, choice.content)) for choice in exchange.choices}
        made.add(("messages", last))
        sought.add(("messages", last))
    return made, sought


def groups(exchanges: list[tuple[set[Any], set[Any]]]) -> list[int]:
    """Return the group of each exchange, given its keys: two are in one if a chain of common keys connects them."""
    parents = list(range(len(exchanges)))
    first: dict[Any, int] = {}

    def root(number: int) -> int:
        while parents[number] != number:
            parents[number] = number = parents[parents[number]]
        return number

    for number, (made, _) in enumerate(exchanges):
        for key in made:
            parents[root(number)] = root(first.setdefault(key, number))
    for number, (_, sought) in enumerate(exchanges):
        for key in sought & first.keys():
            parents[root(number)] = root(first[key])
    return [root(number) for number in range(len(exchanges))]


def read(source: Path) -> Iterator[ExchangeRecord]:
    """Yield the records of files."""
    for part in split([str(source)]):
        for block in PartFile("part", BytesIO(map_part(part))).blocks():
            yield from block


def agents(*, counted: bool, common: bool) -> Iterator[ExchangeRecord]:
    """Yield the records of agents. ``counted``: call ids are counted in each conversation, instead of drawn.

    ``common``: half of the conversations begin with the same question.
    """
    random, places = Random(1), count(1)
    for number in range(_CONVERSATIONS):
        question = "What is new?" if common and number % 2 else f"What is new about {number}?"
        history: list[Any] = [{"role": "system", "content": "You help."}, {"role": "user", "content": question}]
        for turn in range(_ROUNDS):
            id = f"call_{turn}" if counted else f"call_{random.getrandbits(80):020x}"
            function = {"name": "look", "arguments": json.dumps({"at": f"{number}/{turn}"})}
            call = {"id": id, "type": "function", "function": function}
            made = {"role": "assistant", "content": None, "tool_calls": [call]}
            answer: dict[str, Any] = {
                "id": f"chatcmpl-{random.getrandbits(80):020x}",
                "object": "chat.completion",
                "model": "m",
            }
            answer["choices"] = [{"index": 0, "message": made, "finish_reason": "tool_calls"}]
            request = read_request({"model": "m", "messages": history}, "openai.chat")
            yield record(str(next(places)), "openai.chat", request, normalize(json.dumps(answer), "openai.chat"))
            history = [*history, made, {"role": "tool", "tool_call_id": id, "content": f"result {number}/{turn}"}]


def row(name: str, records: list[ExchangeRecord]) -> list[Any]:
    """Return the row of a log."""
    with rare_collections():
        start = time.process_time()
        sizes = Counter(groups([keys(one) for one in records]))
        grouped = time.process_time() - start
        start = time.process_time()
        audit = ConversationAudit()
        for one in records:
            audit.add(one)
        audit.finish()
        linked = time.process_time() - start
    number = len(records)
    largest = f"{max(sizes.values()) / number:.1%}"
    return [name, f"{number:,}", f"{len(sizes):,}", largest, *(f"{s / number * 1e6:.0f}" for s in (grouped, linked))]


def main() -> int:
    """Print the table."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.groups", description=__doc__)
    parser.add_argument("sources", type=Path, nargs="*", default=[SOURCE], metavar="SOURCE", help="files or folders")
    rows = [row(source.name, list(read(source))) for source in parser.parse_args().sources]
    for counted in (False, True):
        for common in (False, True):
            name = f"agents, {'counted' if counted else 'drawn'} ids, {'common' if common else 'different'} questions"
            rows.append(row(name, list(agents(counted=counted, common=common))))
    print(tabulate(rows, _HEADERS, disable_numparse=True, colalign=("left", *["right"] * 5)))
    return 0


if __name__ == "__main__":
    sys.exit(main())
