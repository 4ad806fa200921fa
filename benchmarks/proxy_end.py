"""The ends of the proxy under load: whether each exchange that passed was recorded, or counted as not recorded.

    python -m benchmarks.proxy_end [--clients N] [--seconds N] [--only ENDING]

Clients read plain responses and streams through `toolparity proxy --record`, until it is ended by a signal, or while
its processes are killed or its disk is full, slow or hangs. For each ending, a row states what the clients got, what
the file contains, and what the proxy counts. The exit code is 1 if a number does not add up. The disks need root.
Without it, a limit of the size of files takes the place of the full one, and the others are left out.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import json
import re
import resource
import signal
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple

import psutil
from tabulate import tabulate

from .proxy import END, EVENT, STREAM, answering
from .slow_disk import SlowDisk, slow_disk, small_disk

_EVENTS = 5
_SMALL = 200 << 10
_CHOICE = {"index": 0, "finish_reason": "stop", "message": {"role": "assistant", "content": "word"}}
_BODY = json.dumps({"id": "c", "object": "chat.completion", "created": 1, "model": "m", "choices": [_CHOICE]}).encode()
_PLAIN = b"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: %d\r\n\r\n%b" % (len(_BODY), _BODY)
_COUNT = re.compile(r"([a-z][a-z -]+): (\d[\d,]*)")
_HEADERS = ["ending", "clients got", "cut", "passed", "in the file", "recorded", "not recorded", "exit", "took", ""]


class Ending(NamedTuple):
    """``act``: what happens to the proxy after half of the time. ``number``: the signal that ends it after the rest.

    ``disk``: puts a disk at a folder, and gives the function that returns the file's content.
    """

    act: Callable[[psutil.Process], None] = lambda proxy: None
    number: signal.Signals = signal.SIGTERM
    disk: Callable[[Path], contextlib.AbstractContextManager[object]] = lambda folder: contextlib.nullcontext()


def _kill(task: str) -> Callable[[psutil.Process], None]:
    def kill(proxy: psutil.Process) -> None:
        for child in proxy.children():
            if task in child.cmdline():
                child.kill()

    return kill


@contextlib.contextmanager
def _limited(folder: Path) -> Iterator[None]:
    """Put a full disk at a folder, or else limit the size of files for the processes that start now."""
    with contextlib.ExitStack() as stack:
        try:
            stack.enter_context(small_disk(folder, _SMALL))
        except OSError:
            before = resource.getrlimit(resource.RLIMIT_FSIZE)
            resource.setrlimit(resource.RLIMIT_FSIZE, (_SMALL, before[1]))
            stack.callback(resource.setrlimit, resource.RLIMIT_FSIZE, before)
        yield


_ENDINGS = {
    "SIGTERM": Ending(),
    "SIGINT": Ending(number=signal.SIGINT),
    "recorder killed": Ending(_kill("record")),
    "judge killed": Ending(_kill("judge")),
    "proxy killed": Ending(number=signal.SIGKILL),
    "full disk": Ending(disk=_limited),
    "slow disk": Ending(disk=lambda folder: slow_disk(folder, 0.2)),
    "disk that hangs": Ending(disk=lambda folder: slow_disk(folder, 3600)),
}


async def _answer(body: bytes, writer: asyncio.StreamWriter) -> None:
    """Answer as a provider, with a stream if the request has one."""
    if b'"stream":true' not in body:
        writer.write(_PLAIN)
        return
    writer.write(STREAM)
    for piece in (*[EVENT] * _EVENTS, END):
        await asyncio.sleep(0.001)
        writer.write(b"%x\r\n%b\r\n" % (len(piece), piece))
    writer.write(b"0\r\n\r\n")


async def _client(port: int, got: Counter[str], streamed: bool) -> None:
    """Send requests, each on a new connection, until the proxy accepts none. Count what came back."""
    while True:
        streamed = not streamed
        body = b'{"model":"m","messages":[{"role":"user","content":"hi"}],"stream":%b}' % str(streamed).lower().encode()
        head = b"POST /v1/chat/completions HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n"
        received = b""
        try:
            reader, writer = await asyncio.open_connection("127.0.0.1", port)
            writer.write(head + b"content-length: %d\r\n\r\n%b" % (len(body), body))
            received = await reader.read()
            writer.close()
        except OSError:
            pass
        whole = received.endswith(b"0\r\n\r\n" if streamed else _BODY)
        if whole or received:
            got["whole" if whole else "cut"] += 1
        if not received:
            return


async def _printed(log: Path, pattern: str, seconds: float) -> str:
    """Return the text of a log when it matches, or after so many seconds."""
    end = time.monotonic() + seconds
    while not re.search(pattern, text := log.read_text()) and time.monotonic() < end:
        await asyncio.sleep(0.05)
    return text


async def _end(ending: Ending, folder: Path, clients: int, seconds: float) -> tuple[list[object], bool]:
    """Run an ending. Return its row, and whether its numbers add up."""
    server = await asyncio.start_server(answering(_answer), "127.0.0.1", 0)
    path, got = folder / "traffic.jsonl", Counter[str]()
    upstream = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"
    options = ["--upstream", upstream, "--port", "0", "--page-port", "0", "--record", str(path), "--drain", "8"]
    killed = ending.number == signal.SIGKILL
    with ending.disk(folder) as disk, tempfile.NamedTemporaryFile() as log:
        process = await asyncio.create_subprocess_exec(
            *(sys.executable, "-m", "toolparity", "proxy", *options), stdout=asyncio.subprocess.DEVNULL, stderr=log
        )
        try:
            text = await _printed(Path(log.name), "page; ", 60)
            port = int(re.findall(r":(\d+)\t", text)[0])
            loads = [asyncio.ensure_future(_client(port, got, number % 2 == 0)) for number in range(clients)]
            await asyncio.sleep(seconds / 2)
            ending.act(psutil.Process(process.pid))
            await asyncio.sleep(seconds / 2)
            refused = sum(load.done() for load in loads)
            started = time.monotonic()
            process.send_signal(ending.number)
            code = await process.wait()
            text = await _printed(Path(log.name), "proxy was killed" if killed else "", 60)
            took = time.monotonic() - started
            await asyncio.gather(*loads)
        finally:
            with contextlib.suppress(ProcessLookupError):
                process.kill()
        content = bytes(disk.content) if isinstance(disk, SlowDisk) else path.read_bytes()
    server.close()
    last = text.strip().splitlines()[-1]
    counts = {name: int(count.replace(",", "")) for name, count in _COUNT.findall(last)}
    recorded, lines = counts.pop("recorded", 0), content.count(b"\n")
    number = re.search(r"exchanges: ([\d,]+)" if not killed else r"to #([\d,]+)", text)
    passed = int(number[1].replace(",", "")) if number else 0
    row: list[object] = [got["whole"], got["cut"], passed, lines, recorded]
    row += [", ".join(f"{name}: {count:,}" for name, count in counts.items()), code, f"{took:.1f} s"]
    # A killed proxy cuts what is in flight. The line that is being written at the end may be counted as lost.
    adds_up = (
        recorded + sum(counts.values()) == passed
        and 0 <= lines - recorded <= (ending.disk is not Ending().disk)
        and (got["whole"] <= passed + clients * killed)
        and got["cut"] <= clients * killed
        and not refused
    )
    return row, adds_up


def main() -> int:
    """Run the endings, and print the table."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.proxy_end", description=__doc__)
    parser.add_argument("--clients", type=int, default=8, help="[default: %(default)s]")
    parser.add_argument("--seconds", type=float, default=4.0, help="of load [default: %(default)s]")
    parser.add_argument("--only", choices=_ENDINGS, action="append", help="only this ending; repeatable")
    given = parser.parse_args()
    rows, right = [], True
    for name in given.only or _ENDINGS:
        with tempfile.TemporaryDirectory() as folder:
            try:
                row, adds_up = asyncio.run(_end(_ENDINGS[name], Path(folder), given.clients, given.seconds))
            except PermissionError as error:
                row, adds_up = [str(error)], True
        rows.append([name, *row, "" if adds_up else "DOES NOT ADD UP"])
        right = right and adds_up
    print(tabulate(rows, _HEADERS))
    return 0 if right else 1


if __name__ == "__main__":
    sys.exit(main())
