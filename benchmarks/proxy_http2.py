"""The throughput of the proxy over HTTP/2 to its upstream, in relation to HTTP/1.1, within one run.

    python -m benchmarks.proxy_http2 [--rounds N] [--streams 1,100,1000] [--pieces N]

A server on TLS offers HTTP/1.1 at one port and HTTP/2 at another, with a proxy before each. The proxies take turns, and
clients speak HTTP/1.1 with both. The server is a Python program whose processor time depends on the version, so it is
shown too.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import os
import ssl
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from statistics import median

import psutil
from h2.config import H2Configuration
from h2.connection import H2Connection
from h2.events import DataReceived, RequestReceived, StreamEnded
from h2.exceptions import ProtocolError
from tabulate import tabulate

from .proxy import END, EVENT, STREAM, Measured, Way, milliseconds, percentiles, streams_of

_HEADERS = ["streams", "way", "first event", "99 %", "to HTTP/1.1", "processor", "of the server", "failed"]
_CERTIFICATE, _KEY = "certificate.pem", "key.pem"


class _Http2(asyncio.Protocol):
    """Answers each request on a connection with a stream of events. Its streams fit into the first window."""

    def __init__(self, pieces: int) -> None:
        self._pieces = pieces
        self._state = H2Connection(H2Configuration(client_side=False))
        self._tasks: set[asyncio.Task[None]] = set()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.WriteTransport)
        self._transport = transport
        self._state.initiate_connection()
        self._flush()

    def data_received(self, data: bytes) -> None:
        for event in self._state.receive_data(data):
            if isinstance(event, RequestReceived):
                self._state.send_headers(
                    event.stream_id or 0, [(":status", "200"), ("content-type", "text/event-stream")]
                )
            elif isinstance(event, DataReceived):  # a connection takes 64 KB of requests otherwise
                self._state.acknowledge_received_data(event.flow_controlled_length or 0, event.stream_id or 0)
            elif isinstance(event, StreamEnded):
                task = asyncio.ensure_future(self._answer(event.stream_id or 0))
                self._tasks.add(task)
                task.add_done_callback(self._tasks.discard)
        self._flush()

    async def _answer(self, stream: int) -> None:
        with contextlib.suppress(ProtocolError):  # the client left
            for _ in range(self._pieces):
                while self._state.local_flow_control_window(stream) < len(EVENT):
                    await asyncio.sleep(0.001)
                self._state.send_data(stream, EVENT)
                self._flush()
                await asyncio.sleep(0)
            self._state.send_data(stream, END, end_stream=True)
            self._flush()

    def _flush(self) -> None:
        self._transport.write(self._state.data_to_send())


class _Http1(asyncio.Protocol):
    """Answers each request on a connection with the same stream, in chunks."""

    def __init__(self, pieces: int) -> None:
        self._pieces = pieces
        self._data = b""
        self._tasks: set[asyncio.Task[None]] = set()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.WriteTransport)
        self._transport = transport

    def data_received(self, data: bytes) -> None:
        self._data += data
        head, end, body = self._data.partition(b"\r\n\r\n")
        length = next(
            (int(line[15:]) for line in head.lower().split(b"\r\n") if line.startswith(b"content-length:")), 0
        )
        if end and len(body) >= length:
            self._data = body[length:]
            task = asyncio.ensure_future(self._answer())
            self._tasks.add(task)
            task.add_done_callback(self._tasks.discard)

    async def _answer(self) -> None:
        self._transport.write(STREAM)
        for _ in range(self._pieces):
            self._transport.write(b"%x\r\n%b\r\n" % (len(EVENT), EVENT))
            await asyncio.sleep(0)
        self._transport.write(b"%x\r\n%b\r\n0\r\n\r\n" % (len(END), END))


async def _serve(folder: Path, pieces: int) -> None:
    """Serve both versions on TLS, each on a free port, and print the ports of HTTP/1.1 and of HTTP/2."""
    loop = asyncio.get_running_loop()
    servers = []
    kinds: dict[str, type[_Http1 | _Http2]] = {"http/1.1": _Http1, "h2": _Http2}
    for protocol, kind in kinds.items():
        context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
        context.load_cert_chain(folder / _CERTIFICATE, folder / _KEY)
        context.set_alpn_protocols([protocol])
        make = partial(kind, pieces)
        servers.append(await loop.create_server(make, "127.0.0.1", 0, ssl=context, backlog=2000))
    print(*(server.sockets[0].getsockname()[1] for server in servers), file=sys.stderr, flush=True)
    await asyncio.gather(*(server.serve_forever() for server in servers))


def _certificate(folder: Path) -> None:
    """Write a certificate for this machine, and its key."""
    command = ["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes"]
    command += ["-days", "2", "-subj", "/CN=localhost", "-addext", "subjectAltName=IP:127.0.0.1"]
    command += ["-keyout", str(folder / _KEY), "-out", str(folder / _CERTIFICATE)]
    subprocess.run(command, check=True, capture_output=True)


@contextlib.contextmanager
def _running(command: list[str], **environment: str) -> Iterator[tuple[subprocess.Popen[str], str]]:
    """Run a program, and yield it with its first line on standard error."""
    variables = {**os.environ, **environment}
    with subprocess.Popen(
        command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, env=variables
    ) as process:
        assert process.stderr is not None
        try:
            yield process, process.stderr.readline()
        finally:
            process.terminate()


def _rows(ways: dict[str, Way], server: psutil.Process, concurrent: int, rounds: int) -> list[list[str]]:
    runs: dict[str, list[Measured]] = {name: [] for name in ways}
    used, served = dict.fromkeys(ways, 0.0), dict.fromkeys(ways, 0.0)
    for number in range(rounds):
        for name, way in list(ways.items())[:: 1 if number % 2 else -1]:
            before, answered = way.processor_seconds(), sum(server.cpu_times()[:2])
            runs[name].append(asyncio.run(streams_of(way, concurrent, max(100, concurrent))))
            used[name] += way.processor_seconds() - before
            served[name] += sum(server.cpu_times()[:2]) - answered
    usual = median(run.rate for run in runs["HTTP/1.1"])
    rows = []
    for name, measured in runs.items():
        ended = sum(len(run.first) for run in measured) or 1
        first, late = percentiles(measured)
        rate = median(run.rate for run in measured) / usual if usual else 0.0
        row = [f"{concurrent:,}", name, milliseconds(first), milliseconds(late), f"{rate:.2f}"]
        row += [milliseconds(used[name] / ended), milliseconds(served[name] / ended)]
        rows.append([*row, f"{sum(run.failed for run in measured):,}"])
    return rows


def main() -> int:
    """Measure, and print the table."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.proxy_http2", description=__doc__)
    parser.add_argument("--rounds", type=int, default=3, help="how often each way is measured [default: %(default)s]")
    parser.add_argument("--streams", default="1,100,1000", help="concurrent streams [default: %(default)s]")
    parser.add_argument("--pieces", type=int, default=50, help="events of a stream [default: %(default)s]")
    parser.add_argument("--serve", type=Path, help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.serve:
        asyncio.run(_serve(given.serve, given.pieces))
        return 0
    rows = []
    with contextlib.ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        _certificate(folder)
        serve = [sys.executable, "-m", "benchmarks.proxy_http2", "--serve", str(folder), "--pieces", str(given.pieces)]
        server, ports = stack.enter_context(_running(serve))
        ways = {}
        for name, port in zip(("HTTP/1.1", "HTTP/2"), ports.split(), strict=True):
            command = [sys.executable, "-m", "toolparity", "proxy", "--upstream", f"https://127.0.0.1:{port}"]
            command += ["--port", "0", "--page-port", "0"]
            proxy, line = stack.enter_context(_running(command, SSL_CERT_FILE=str(folder / _CERTIFICATE)))
            ways[name] = Way(int(line.split("\t")[0].rpartition(":")[2]), [psutil.Process(proxy.pid)])
        for concurrent in map(int, given.streams.split(",")):
            rows += _rows(ways, psutil.Process(server.pid), concurrent, given.rounds)
    print(tabulate(rows, _HEADERS, disable_numparse=True, colalign=("right", "left", *["right"] * 6)))
    return 0


if __name__ == "__main__":
    sys.exit(main())
