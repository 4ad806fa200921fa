"""The proxy under a constant load: `python -m benchmarks.proxy_rate [--rate 200] [--rounds 50] [--minutes 10]`.

Agents send so many requests a second, each on a new connection and with the whole history of its conversation, and get
streams with a call. A relay of the bytes has the same load, for a minute before and a minute after. A row of the table
is a minute. Everything shares the machine. The command fails if the proxy does not judge an exchange, or if the median
of its times to the first event is more than twice that of the relay.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import json
import random
import re
import subprocess
import sys
from collections.abc import Iterator
from hashlib import blake2b
from statistics import median
from typing import Any
from urllib.request import urlopen

import psutil
from tabulate import tabulate

from .proxy import END, STREAM, Measured, Way, answering, milliseconds, percentiles, program, stream
from .relay import serve

#: How many conversations take turns, and the words of a result: a request has 50 KB on average, with 50 rounds.
_TOGETHER, _WORDS = 100, 240
_SECONDS = 60
_HEADERS = ["way", "exchanges", "first event", "99 %", "failed", "processor", "of workers", "memory", "of workers"]
_PATH = {"type": "object", "properties": {"path": {"type": "string"}}, "required": ["path"]}
_TOOLS = [{"type": "function", "function": {"name": "read_file", "parameters": _PATH}}]
_UNJUDGED = re.compile(r'unjudged_total\{reason="([^"]*)"\} (\d+)')


def _call(body: bytes) -> dict[str, Any]:
    """Return the call in the response to a request, which its end decides."""
    drawn = blake2b(body[-300:], digest_size=12).hexdigest()
    function = {"name": "read_file", "arguments": json.dumps({"path": f"notes/{drawn[:8]}.txt"})}
    return {"id": f"call_{drawn}", "type": "function", "function": function}


def _events(body: bytes) -> Iterator[bytes]:
    """Yield the events of the response to a request."""
    call = _call(body)
    begun = {"index": 0, **call, "function": {**call["function"], "arguments": ""}}
    deltas: list[dict[str, Any]] = [{"role": "assistant", "content": None, "tool_calls": [begun]}]
    arguments = call["function"]["arguments"]
    for piece in (arguments[:8], arguments[8:]):
        deltas.append({"tool_calls": [{"index": 0, "function": {"arguments": piece}}]})
    shared = {"id": f"chatcmpl-{call['id'][5:]}", "object": "chat.completion.chunk", "created": 1, "model": "m"}
    for delta, reason in [*((delta, None) for delta in deltas), ({}, "tool_calls")]:
        choice = {"index": 0, "delta": delta, "finish_reason": reason}
        yield b"data: " + json.dumps({**shared, "choices": [choice]}).encode() + b"\n\n"
    yield END


async def _answer(body: bytes, writer: asyncio.StreamWriter) -> None:
    writer.write(STREAM)
    for event in _events(body):
        writer.write(b"%x\r\n%b\r\n" % (len(event), event))
        await writer.drain()
    writer.write(b"0\r\n\r\n")


def _requests(rounds: int) -> Iterator[bytes]:
    """Yield the requests of conversations that take turns, and begin one after another."""
    drawn = random.Random(1)
    words = ["".join(drawn.choices("abcdefghijklmnopqrstuvwxyz", k=drawn.randint(2, 9))) for _ in range(4000)]

    def message(role: str, count: int, **more: Any) -> bytes:
        return json.dumps({"role": role, **more, "content": " ".join(drawn.choices(words, k=count))}).encode()

    def conversation(rounds: int) -> Iterator[bytes]:
        history = message("system", 300) + b"," + message("user", 60)
        for _ in range(rounds):
            body = b'{"model":"m","stream":true,"tools":%b,"messages":[%b]}' % (json.dumps(_TOOLS).encode(), history)
            yield body
            call = _call(body)
            said = json.dumps({"role": "assistant", "content": None, "tool_calls": [call]}).encode()
            history = b",".join((history, said, message("tool", _WORDS, tool_call_id=call["id"])))

    running = [conversation(1 + number * rounds // _TOGETHER) for number in range(_TOGETHER)]
    while True:
        for number in range(_TOGETHER):
            if (body := next(running[number], None)) is None:
                running[number] = conversation(rounds)
                body = next(running[number])
            yield body


async def _load(port: int, bodies: Iterator[bytes], rate: float, seconds: float) -> Measured:
    """Send so many requests a second."""
    first: list[float] = []
    head = "POST /v1/chat/completions HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\n"

    async def one(body: bytes) -> None:
        with contextlib.suppress(OSError, asyncio.IncompleteReadError, asyncio.LimitOverrunError):
            first.append(await stream(port, f"{head}content-length: {len(body)}\r\n\r\n".encode() + body))

    loop = asyncio.get_running_loop()
    started = loop.time()
    async with asyncio.TaskGroup() as group:
        for number in range(int(rate * seconds)):
            await asyncio.sleep(max(started + number / rate - loop.time(), 0))
            group.create_task(one(next(bodies)))
    return Measured(first, int(rate * seconds) - len(first), loop.time() - started)


@contextlib.contextmanager
def _proxy(target: int) -> Iterator[tuple[Way, str]]:
    """Run `toolparity proxy`, and return it and the address of its page."""
    options = ["--upstream", f"http://127.0.0.1:{target}", "--port", "0", "--page-port", "0"]
    command = [sys.executable, "-m", "toolparity", "proxy", *options]
    pipes: dict[str, Any] = {"stdout": subprocess.DEVNULL, "stderr": subprocess.PIPE, "text": True}
    with subprocess.Popen(command, **pipes) as process:
        assert process.stderr is not None
        try:
            url, page = (process.stderr.readline().partition("\t")[0] for _ in range(2))
            yield Way(int(url.rpartition(":")[2]), [psutil.Process(process.pid)]), page
        finally:
            process.terminate()


def _minute(name: str, way: Way, bodies: Iterator[bytes], rate: float) -> tuple[Measured, list[str]]:
    """Measure a minute. Return its row, too."""
    before = way.processor_seconds(), way.worker_seconds()
    measured = asyncio.run(_load(way.port, bodies, rate, _SECONDS))
    used = way.processor_seconds() - before[0], way.worker_seconds() - before[1]
    workers = sum(child.memory_info().rss for process in way.processes for child in process.children())
    row = [name, f"{len(measured.first):,}", *map(milliseconds, percentiles([measured])), f"{measured.failed:,}"]
    row += [f"{seconds / measured.seconds:.0%}" for seconds in used]
    row += [f"{size >> 20} MB" for size in (way.memory(), workers)]
    print("\t".join(row), file=sys.stderr, flush=True)
    return measured, row


def main() -> int:
    """Measure, and print the table."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.proxy_rate", description=__doc__)
    parser.add_argument("--rate", type=float, default=200, help="exchanges a second [default: %(default)s]")
    parser.add_argument("--rounds", type=int, default=50, help="of a conversation [default: %(default)s]")
    parser.add_argument("--minutes", type=int, default=10, help="of the proxy [default: %(default)s]")
    parser.add_argument("--role", nargs="+", help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.role:
        asyncio.run(serve(answering(_answer)))
        return 0
    runs: dict[str, list[Measured]] = {"relay": [], "proxy": []}
    rows = []
    with contextlib.ExitStack() as stack:
        upstream = stack.enter_context(program("upstream", module="benchmarks.proxy_rate"))
        relay = stack.enter_context(program("relay", str(upstream.port)))
        proxy, page = stack.enter_context(_proxy(upstream.port))
        for name in ("relay", *["proxy"] * given.minutes, "relay"):
            way = proxy if name == "proxy" else relay
            if len(runs[name]) in (0, given.minutes):  # each way sees whole conversations
                bodies = _requests(given.rounds)
            measured, row = _minute(name, way, bodies, given.rate)
            runs[name].append(measured)
            rows.append(row)
        metrics = urlopen(f"{page}/metrics").read().decode()
    print(tabulate(rows, _HEADERS, disable_numparse=True, colalign=("left", *["right"] * 8)))
    unjudged = {reason: int(count) for reason, count in _UNJUDGED.findall(metrics)}
    medians = [median(seconds for run in of_way for seconds in run.first) for of_way in runs.values()]
    print(f"\nnot judged: {unjudged or 'none'}; first event in relation to the relay: {medians[1] / medians[0]:.2f}")
    failed = sum(run.failed for run in runs["proxy"])
    return 1 if unjudged or failed or medians[1] > 2 * medians[0] else 0


if __name__ == "__main__":
    sys.exit(main())
