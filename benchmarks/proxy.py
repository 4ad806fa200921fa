"""The latency that the proxy adds, and its throughput, as ratios within one run.

    python -m benchmarks.proxy [--rounds N] [--streams 1,100,1000] [--pieces N] [--pause MS] [--write]

The same upstream is measured directly, behind a plain pass-through (a relay of the bytes of each connection), behind
the proxy with and without its judge, and behind mitmproxy and LiteLLM's proxy if they are installed (see
`benchmarks.other_proxies`). The ways take turns. Everything shares the machine, so the ratios count and the processor
time of the passing process, which depends less on other load. Without ``--pause``, many events arrive together, and
pass as one piece. With it, as when models write, each passes by itself.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import re
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Awaitable, Callable, Iterator
from math import isnan
from pathlib import Path
from statistics import median, quantiles
from typing import NamedTuple

import psutil
from tabulate import tabulate

from . import other_proxies
from .relay import Handler, relay, serve

EVENT = (
    b'data: {"id":"c","object":"chat.completion.chunk","created":1,"model":"m",'
    b'"choices":[{"index":0,"delta":{"content":"word "}}]}\n\n'
)
END = b"data: [DONE]\n\n"
#: The head of a response with events.
STREAM = b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n"
#: A way whose run takes longer, in seconds, is measured once for this number of streams.
_SLOW_SECONDS = 15.0
#: How long the worker processes may take for the rest of a run, in seconds.
_PACED_REST = 2.0
#: The longest that one run may take. Streams that have not ended then count as failed.
_MOST_SECONDS = 60.0
_PAGE = Path(__file__).parents[1] / "docs" / "pages" / "proxy.md"
_BEFORE, _AFTER = "<!-- figures of python -m benchmarks.proxy --write -->\n", "<!-- end of figures -->\n"
_HEADERS = ["streams", "way", "first event", "99 %", "added", "99 % added", "to relay", "processor", "memory", "failed"]
_PACED_HEADERS = ["streams", "way", "processor", "to relay", "worker processes", "failed"]
_LEGEND = (
    "first event: median and 99th percentile of the time to it. added: the same, minus that without anything between."
    " to relay: streams a second, in relation to the relay. processor: time of the process for each stream."
    " memory: of the process, before and after. failed: streams without their end."
)


class Way(NamedTuple):
    """A way to the upstream. ``processes``: those that pass the bytes. ``model``: the one to ask for."""

    port: int
    processes: list[psutil.Process]
    model: str = "m"

    def processor_seconds(self) -> float:
        """Return the time that the processes have used."""
        return sum(sum(process.cpu_times()[:2]) for process in self.processes)

    def worker_seconds(self) -> float:
        """Return the time that their child processes have used."""
        return sum(sum(child.cpu_times()[:2]) for process in self.processes for child in process.children())

    def memory(self) -> int:
        """Return the resident memory in bytes."""
        return sum(process.memory_info().rss for process in self.processes)


class Measured(NamedTuple):
    """One run. ``first``: seconds to the first event of each stream that ended. ``seconds``: of the run."""

    first: list[float]
    failed: int
    seconds: float

    @property
    def rate(self) -> float:
        """Streams a second."""
        return len(self.first) / self.seconds


def answering(answer: Callable[[bytes, asyncio.StreamWriter], Awaitable[None]]) -> Handler:
    """Return what serves a connection. ``answer``: writes the response to the request with this body."""

    async def connected(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with contextlib.suppress(ConnectionError, asyncio.IncompleteReadError):
            while True:
                head = await reader.readuntil(b"\r\n\r\n")
                length = re.search(rb"content-length: (\d+)", head.lower())
                await answer(await reader.readexactly(int(length[1]) if length else 0), writer)
        writer.close()

    return connected


async def _upstream(pieces: int, pause: float) -> None:
    """Serve streams of so many events on a free port, with a pause in seconds after each, and print the port."""
    chunk = b"%x\r\n%b\r\n" % (len(EVENT), EVENT)

    async def answer(body: bytes, writer: asyncio.StreamWriter) -> None:
        writer.write(STREAM)
        for _ in range(pieces):
            writer.write(chunk)
            await writer.drain()
            await asyncio.sleep(pause)
        writer.write(b"%x\r\n%b\r\n0\r\n\r\n" % (len(END), END))
        await writer.drain()

    await serve(answering(answer))


def _proxy(target: int, judged: bool) -> None:
    """Run the proxy, and print its port."""
    from toolparity.audit.proxy.feed import Feed
    from toolparity.audit.proxy.forward import Upstream
    from toolparity.audit.proxy.metrics import Metrics
    from toolparity.audit.proxy.observer import Limits, Observer
    from toolparity.audit.proxy.page import application
    from toolparity.audit.proxy.server import Addresses, ProxyServer

    feed, metrics = Feed(), Metrics()
    limits = Limits() if judged else Limits(exchange=0)
    with Observer([feed, metrics], limits=limits) as observer:
        upstream = Upstream.of(f"http://127.0.0.1:{target}")
        server = ProxyServer(upstream, observer, application(feed, metrics), Addresses(), on_stop=feed.close)
        print(server.url.rpartition(":")[2], flush=True)
        server.run()


@contextlib.contextmanager
def program(*arguments: str, module: str = "benchmarks.proxy") -> Iterator[Way]:
    """Run a module with a role, in which it prints its port."""
    command = [sys.executable, "-m", module, "--role", *arguments]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        try:
            yield Way(int(process.stdout.readline()), [psutil.Process(process.pid)])
        finally:
            process.terminate()


def _play(role: str, argument: str) -> None:
    if role == "upstream":
        pieces, pause = argument.split(",")
        asyncio.run(_upstream(int(pieces), float(pause)))
    elif role == "relay":
        asyncio.run(relay(int(argument)))
    else:
        _proxy(int(argument), judged=role == "proxy")


async def stream(port: int, request: bytes) -> float:
    """Read one stream on a new connection. Return the seconds to its first event."""
    started = time.perf_counter()
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    try:
        writer.write(request)
        head = await reader.readuntil(b"\r\n\r\n")
        if b" 200 " not in head.partition(b"\r\n")[0]:
            raise ConnectionError("an error instead of a stream")
        await reader.readuntil(b"data: ")
        first = time.perf_counter() - started
        last = b""
        while not last.endswith(b"0\r\n\r\n"):
            data = await reader.read(1 << 16)
            if not data:
                raise ConnectionError("a stream broke off")
            last = (last + data)[-64:]
    finally:
        writer.close()
    return first


async def streams_of(way: Way, concurrent: int, total: int) -> Measured:
    body = b'{"model":"%b","messages":[{"role":"user","content":"Hello"}],"stream":true}' % way.model.encode()
    head = "POST /v1/chat/completions HTTP/1.1\r\nhost: 127.0.0.1\r\ncontent-type: application/json\r\n"
    request = f"{head}content-length: {len(body)}\r\n\r\n".encode() + body
    started = time.perf_counter()
    allowed = asyncio.Semaphore(concurrent)
    first: list[float] = []

    async def one() -> None:
        async with allowed:
            with contextlib.suppress(OSError, asyncio.IncompleteReadError, asyncio.LimitOverrunError):
                first.append(await stream(way.port, request))

    with contextlib.suppress(TimeoutError):
        async with asyncio.timeout(_MOST_SECONDS):
            await asyncio.gather(*(one() for _ in range(total)))
    return Measured(first, total - len(first), time.perf_counter() - started)


def _paced_rows(ways: dict[str, Way], concurrent: int, rounds: int) -> list[list[str]]:
    """Measure the processor time for each stream, in relation to the relay, and that of the worker processes."""
    used = {name: [0.0, 0.0] for name in ways}
    failed, total = Counter[str](), rounds * concurrent

    def ratio(seconds: float) -> str:
        return f"{seconds / used['relay'][0]:.2f}"

    for _ in range(rounds):
        for name, way in ways.items():
            start = way.processor_seconds(), way.worker_seconds()
            failed[name] += asyncio.run(streams_of(way, concurrent, concurrent)).failed
            time.sleep(_PACED_REST)
            used[name][0] += way.processor_seconds() - start[0]
            used[name][1] += way.worker_seconds() - start[1]
    return [
        [
            f"{concurrent:,}",
            name,
            milliseconds(own / total),
            ratio(own),
            milliseconds(workers / total),
            f"{failed[name]:,}",
        ]
        for name, (own, workers) in used.items()
    ]


def _rows(ways: dict[str, Way], concurrent: int, rounds: int) -> list[list[str]]:
    """Measure all ways with so many streams at a time."""
    total = max(100, concurrent)
    measured: dict[str, list[Measured]] = {name: [] for name in ways}
    used = dict.fromkeys(ways, 0.0)
    before = {name: way.memory() for name, way in ways.items()}
    names = list(ways)
    for number in range(rounds):
        for name in names[number % len(names) :] + names[: number % len(names)]:
            if any(run.seconds > _SLOW_SECONDS for run in measured[name]) and name != "relay":
                continue
            start = ways[name].processor_seconds()
            measured[name].append(asyncio.run(streams_of(ways[name], concurrent, total)))
            used[name] += ways[name].processor_seconds() - start
    usual, late = percentiles(measured["direct"])
    relayed = median(run.rate for run in measured["relay"])
    rows = []
    for name, runs in measured.items():
        first, last = percentiles(runs)
        ended = sum(len(run.first) for run in runs)
        row = [f"{concurrent:,}", name, milliseconds(first), milliseconds(last)]
        row += [milliseconds(first - usual), milliseconds(last - late)] if name != "direct" else ["", ""]
        row += [f"{median(run.rate for run in runs) / relayed:.2f}"]
        row += [
            milliseconds(used[name] / ended) if ended else "",
            f"{before[name] >> 20} → {ways[name].memory() >> 20} MB",
        ]
        row += [f"{sum(run.failed for run in runs):,}"]
        rows.append([*row[:7], "", "", row[9]] if name == "direct" else row)
    return rows


def percentiles(runs: list[Measured]) -> tuple[float, float]:
    """Return the median and the 99th percentile of the time to the first event."""
    first = [seconds for run in runs for seconds in run.first]
    return (median(first), quantiles(first, n=100)[98]) if len(first) > 1 else (float("nan"), float("nan"))


def milliseconds(seconds: float) -> str:
    if isnan(seconds):  # no stream ended
        return ""
    return f"{seconds * 1e3:,.1f} ms" if abs(seconds) < 0.1 else f"{seconds * 1e3:,.0f} ms"


def _write(table: str) -> None:
    """Replace the table of the page."""
    text = _PAGE.read_text("utf-8")
    head, rest = text.split(_BEFORE)
    _PAGE.write_text(f"{head}{_BEFORE}\n{table}\n\n{_AFTER}{rest.split(_AFTER)[1]}", "utf-8")


def main() -> int:
    """Measure, and print the table."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.proxy", description=__doc__)
    parser.add_argument("--rounds", type=int, default=3, help="how often each way is measured [default: %(default)s]")
    parser.add_argument("--streams", default="1,100,1000", help="concurrent streams [default: %(default)s]")
    parser.add_argument("--pieces", type=int, default=50, help="events of a stream [default: %(default)s]")
    parser.add_argument("--pause", type=float, metavar="MS", help="milliseconds between events; processor time only")
    parser.add_argument("--write", action="store_true", help="write the table into docs/pages/proxy.md")
    parser.add_argument("--role", nargs="+", help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.role:
        _play(*given.role)
        return 0
    rows = []
    with contextlib.ExitStack() as stack:
        upstream = stack.enter_context(program("upstream", f"{given.pieces},{(given.pause or 0) / 1000}"))
        ways = {} if given.pause else {"direct": Way(upstream.port, [psutil.Process()])}
        for name in ("relay", "proxy", "proxy without judge"):
            ways[name] = stack.enter_context(program(name, str(upstream.port)))
        for name, other in other_proxies.installed().items():
            port, processes, model = stack.enter_context(other(upstream.port))
            ways[name] = Way(port, processes, model)
        for concurrent in map(int, given.streams.split(",")):
            rows += (_paced_rows if given.pause else _rows)(ways, concurrent, given.rounds)
    if given.pause:
        print(tabulate(rows, _PACED_HEADERS, disable_numparse=True, colalign=("right", "left", *["right"] * 4)))
        return 0
    aligned = ("right", "left", *["right"] * 8)
    print(tabulate(rows, _HEADERS, disable_numparse=True, colalign=aligned))
    print(f"\n{_LEGEND}")
    if given.write:
        _write(tabulate(rows, _HEADERS, "pipe", disable_numparse=True, colalign=aligned))
    return 0


if __name__ == "__main__":
    sys.exit(main())
