"""Guard against work that grows faster than its input, for CI: `python -m benchmarks.growth [--units N …]`.

It counts the instructions of each entry point, with valgrind, for inputs of 1,000 to 8,000 units: calls, deltas,
messages or rows. From each size to the next, the cost of one more unit must not grow by more than a fifth. With
``--seconds`` it measures processor time instead, which is fast and less exact. CI counts a share of them each day.
"""

from __future__ import annotations

import argparse
import gc
import json
import os
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from importlib.util import find_spec
from itertools import chain, islice, pairwise
from pathlib import Path
from typing import Any, NamedTuple

import msgspec
from tabulate import tabulate

from toolparity import StreamDecoder, Wire, answer, check_request, normalize, read_request, select, write_request
from toolparity.normalizer.conversation import ToolDefinition
from toolparity.normalizer.schemas import adapt_tools
from toolparity.textmode import TextReader, read_response

from . import agent_log, callgrind, readers, traffic, writing
from .measure import Job

UNITS = (1000, 2000, 4000, 8000)
#: The most by which the cost of one more unit may grow.
TOLERANCE = 1.2
_CITY = "Lisbon"


class Growth(msgspec.Struct):
    """An entry point, by how much the cost of one more unit grows, and the cost of each size in instructions."""

    entry: str
    growth: float
    costs: dict[str, float]


class Entry(NamedTuple):
    """An entry point. ``material``: makes the input of a number of units. ``job``: the work on it."""

    material: Callable[[int], Any]
    job: Callable[[Any], Job]


def _calls(count: int) -> list[traffic.Call]:
    return [traffic.Call(f"call_{n:08}", "get_weather", {"location": _CITY, "days": n}) for n in range(count)]


def _of_wire(wire: Wire) -> Iterator[tuple[str, Entry]]:
    """Yield the entries of a wire: a body of calls, a stream of deltas and one of calls, and a request of messages."""
    provider = writing.PROVIDERS[wire]

    def request(count: int) -> Any:
        return writing.conversation(wire, count // writing.PER_ROUND)

    def transfer(asked: Any) -> Job:
        def job() -> None:
            body = write_request(asked, wire, provider=provider).body
            read_request(body, wire, provider=provider)
            check_request(body, wire, provider=provider)

        return job

    def sent(count: int, *, stream: bool, deltas: bool = False) -> Any:
        text = "word " * (count if deltas else 2)
        calls = 1 if deltas else count // 2 if stream else count  # no reader takes more than 4,096 in a stream
        return traffic.sent(wire, text, _calls(calls), stream=stream)

    read = readers.ours_streamed(wire)
    yield "body of calls", Entry(partial(sent, stream=False), lambda sent: partial(normalize, sent[0], wire))
    yield "stream of deltas", Entry(partial(sent, stream=True, deltas=True), lambda sent: partial(read, sent))
    yield "stream of calls", Entry(partial(sent, stream=True), lambda sent: partial(read, sent))
    yield "request of messages", Entry(request, transfer)


def _policies(count: int) -> Any:
    return normalize(traffic.sent("openai.chat", "", _calls(count), stream=False)[0], "openai.chat")


def _answered(response: Any) -> Job:
    def job() -> None:
        selection = select(response, policy="all")
        answer(response, selection, {call.id: 17 for call in response.calls})

    return job


def _in_text(count: int) -> bytes:
    calls = "".join(
        f'<tool_call>\n{{"name": "{call.name}", "arguments": {json.dumps(call.arguments)}}}\n</tool_call>\n'
        for call in _calls(count)
    )
    return traffic.sent("openai.chat", calls, (), stream=False)[0]


def _text_streamed(count: int) -> list[bytes]:
    return traffic.sent("openai.chat", "word " * count, (), stream=True)


def _read_text(pieces: list[bytes]) -> None:
    reader = TextReader("hermes", StreamDecoder("openai.chat"))
    for piece in pieces:
        reader.feed(piece)
    reader.finish()


def _code(wire: Wire, count: int) -> list[bytes]:
    """Return one long event with brackets in its text, in pieces of a kilobyte."""
    data = b"".join(
        traffic.sent(wire, "", [traffic.Call("c", "write", {"code": "{[(x)]}\n" * 100 * count})], stream=True)
    )
    return traffic.pieces(data, 1024)


def _tools(count: int) -> list[ToolDefinition]:
    schema = {"type": "object", "properties": {"city": {"type": "string", "minLength": 1}}, "required": ["city"]}
    return [ToolDefinition(f"tool_{n}", "Looks something up.", schema) for n in range(count // 10)]


def _branches(count: int) -> list[ToolDefinition]:
    branches = [{"type": "object", "properties": {f"p{n}": {"type": "string"}}} for n in range(count // 10)]
    return [ToolDefinition("tool", "Looks something up.", {"type": "object", "allOf": branches})]


def _log(rows: Iterator[dict[str, Any]], count: int) -> bytes:
    return b"".join(json.dumps(row).encode() + b"\n" for row in islice(rows, count))


def _conversations(count: int) -> bytes:
    return _log(agent_log.rows(5), count // 10)


def _session(count: int) -> bytes:
    """Return a line of the proxy with a session of OpenAI Realtime, in which each response makes a call."""

    def messages() -> Iterator[tuple[str, dict[str, Any]]]:
        for number in range(count // 10):
            id, call_id = f"resp_{number}", f"call_{number}"
            call = {"id": f"item_{number}", "type": "function_call", "name": "f", "call_id": call_id}
            done = {**call, "arguments": '{"x": 1}', "status": "completed"}
            body = {"object": "realtime.response", "id": id, "status": "in_progress", "output": []}
            yield "sent", {"type": "response.create"}
            yield "received", {"type": "response.created", "response": body}
            ended = {"type": "response.output_item.done", "response_id": id, "output_index": 0, "item": done}
            yield "received", ended
            yield "received", {"type": "response.done", "response": {**body, "status": "completed", "output": [done]}}
            result = {"type": "function_call_output", "call_id": call_id, "output": "ok"}
            yield "sent", {"type": "conversation.item.create", "item": result}

    listed = [{"type": "text", "direction": side, "text": json.dumps(each)} for side, each in messages()]
    row = {"wire": "websocket", "url": "wss://api.openai.com/v1/realtime?model=m", "messages": listed}
    return json.dumps(row).encode() + b"\n"


def _audit(log: bytes) -> Job:
    from toolparity.audit import records
    from toolparity.audit.bulk.parallel import audit_paths
    from toolparity.audit.histories import KEPT_BYTES, Histories

    def job() -> None:
        records.local.histories = Histories(KEPT_BYTES)
        with tempfile.NamedTemporaryFile(suffix=".jsonl") as file:
            file.write(log)
            file.flush()
            audit_paths([file.name], jobs=1)

    return job


def _part_files(log: bytes) -> Any:
    from toolparity.audit.bulk.functions import map_part, split

    with tempfile.NamedTemporaryFile(suffix=".jsonl") as file:
        file.write(log)
        file.flush()
        return [map_part(part) for part in split([file.name], part_bytes=len(log) // 10)]


def _merge(parts: Any) -> Job:
    from toolparity.audit.bulk.functions import merge

    return lambda: merge(parts).json()


def _judge(log: bytes) -> Job:
    from toolparity.audit.proxy.judge import Judge
    from toolparity.audit.proxy.judgement import JudgeOptions

    def job() -> None:
        judge = Judge(JudgeOptions())
        for number, line in enumerate(log.splitlines(), 1):
            judge(agent_log.copy_of(number, line))

    return job


def _secrets(count: int) -> str:
    return "\n".join(
        f"export SERVICE_{n}_PASSWORD=p{n * 7919:08x}Zq and user{n}@example.org" for n in range(count // 4)
    )


def _scrub(text: str) -> Job:
    from toolparity.cassettes.secrets.scrubber import Scrubber

    return lambda: Scrubber({}).text(text)


def entries() -> dict[str, Entry]:
    """Return the entry points by name."""
    found = {
        f"{wire}: {name}": entry
        for wire in writing.PROVIDERS
        if wire != "xai.grpc" or find_spec("xai_sdk")
        for name, entry in _of_wire(wire)
    }
    pieced: tuple[Wire, ...] = ("ollama.chat", "google.gemini")
    for one in pieced:
        found[f"{one}: one event in pieces"] = Entry(partial(_code, one), partial(partial, readers.ours_streamed(one)))
    return found | {
        "select and answer": Entry(_policies, _answered),
        "text mode: a body of calls": Entry(
            _in_text, lambda body: lambda: read_response(normalize(body, "openai.chat"), "hermes", limit=None)
        ),
        "text mode: a stream of deltas": Entry(_text_streamed, partial(partial, _read_text)),
        "adapt_tools: tools": Entry(_tools, lambda tools: partial(adapt_tools, tools, "openai.chat")),
        "adapt_tools: branches of allOf": Entry(_branches, lambda tools: partial(adapt_tools, tools, "openai.chat")),
        "audit: conversations": Entry(_conversations, _audit),
        "audit: a session": Entry(_session, _audit),
        "audit: merge": Entry(lambda count: _part_files(_conversations(count)), _merge),
        "proxy: judge": Entry(_conversations, _judge),
        "scrub: secrets in a text": Entry(_secrets, _scrub),
    }


def run(materials: dict[str, list[Any]]) -> None:
    """Run the jobs of the entries for `callgrind.counts`, each once before, on the smallest input."""
    known = entries()
    jobs = [[known[name].job(material) for material in given] for name, given in materials.items()]
    for smallest, *_ in jobs:
        smallest()
    callgrind.run((job, 1) for sizes in jobs for job in sizes)


def seconds(materials: dict[str, list[Any]]) -> Iterator[float]:
    """Yield the processor time of each job, the fastest of three."""
    known = entries()
    gc.freeze()  # as `callgrind.run`: the collector skips what was loaded before
    for name, given in materials.items():
        for job in [known[name].job(material) for material in (given[0], *given)][1:]:
            taken = []
            for _ in range(3):
                began = time.process_time()
                job()
                taken.append(time.process_time() - began)
            yield min(taken)


def measured(materials: dict[str, list[Any]], *, by_time: bool) -> dict[str, list[float]]:
    """Return the instructions, or seconds, of each entry point for each size of its input."""
    if by_time:
        found: Iterator[float] = seconds(materials)
    else:
        width = -(-len(materials) // (os.cpu_count() or 1))
        shares = [dict(islice(materials.items(), start, start + width)) for start in range(0, len(materials), width)]
        with ThreadPoolExecutor() as pool:  # each thread waits for a process
            counted = pool.map(partial(callgrind.counts, "benchmarks.growth:run"), shares)
            found = chain.from_iterable(list(counted))
    return {name: list(islice(found, len(given))) for name, given in materials.items()}


def growth(units: Sequence[int], costs: Sequence[float]) -> float:
    """Return by how much the cost of one more unit grows at most, from one size to the next: 1 if it is linear."""
    pairs = list(zip(units, costs, strict=True))
    steps = [(after - before) / (more - count) for (count, before), (more, after) in pairwise(pairs)]
    return max(after / before for before, after in pairwise(steps))


def main() -> int:
    """Print a table. Exit code 1 if the cost of an entry point grows faster than its input."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.growth", description=__doc__)
    parser.add_argument("--units", type=int, nargs="+", default=UNITS, help="the sizes, at least three")
    parser.add_argument("--only", metavar="TEXT", default="", help="only entry points with this text in their names")
    parser.add_argument("--share", default="1/1", metavar="N/M", help="every Mth entry point, from the Nth on")
    parser.add_argument("--seconds", action="store_true", help="measure processor time instead of instructions")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the figures")
    given = parser.parse_args()
    if not given.seconds and not callgrind.is_installed():
        print("valgrind is not installed: nothing is counted")
        return 0
    first, step = map(int, given.share.split("/"))
    chosen = [each for each in entries().items() if given.only in each[0]]
    found = dict(chosen[first - 1 :: step])
    materials = {name: [entry.material(count) for count in given.units] for name, entry in found.items()}
    costs = measured(materials, by_time=given.seconds)
    rows = [
        Growth(name, growth(given.units, each), dict(zip(map(str, given.units), each, strict=True)))
        for name, each in costs.items()
    ]
    if given.json:
        given.json.write_bytes(msgspec.json.format(msgspec.json.encode(rows), indent=1) + b"\n")
    scale = 1e6 if given.seconds else 1
    table = [
        [row.entry, *(f"{cost * scale / int(count):,.1f}" for count, cost in row.costs.items()), f"{row.growth:.2f}"]
        for row in rows
    ]
    headers = ["microseconds" if given.seconds else "instructions", *(f"{count:,}" for count in given.units), "growth"]
    align = ["left", *("right" for _ in headers[1:])]
    print(tabulate(table, headers, colalign=align, disable_numparse=True))
    faster = [row for row in rows if row.growth > TOLERANCE]
    for row in faster:
        print(f"{row.entry}: one more unit costs up to {row.growth:.2f} times as much after each doubling")
    return 1 if faster else 0


if __name__ == "__main__":
    sys.exit(main())
