"""Many subscribers over HTTP: connections that break, a serving process that is killed, and memory that stays flat."""

from __future__ import annotations

import asyncio
import json
import os
import random
import signal
import socket
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from urllib.request import Request, urlopen

import pytest
from sqlalchemy import URL

from tests.turns.log.shared import assert_whole
from tests.turns.log.test_crash import IDEMPOTENT
from toolparity.turns.log import Log

pytestmark = [pytest.mark.service("turns/manager", "turns/log"), pytest.mark.thorough]

SUBSCRIBERS = 1_000
#: Events after which the serving process is killed.
KILLS = (15, 60, 110, 180)


class Server:
    """A serving process and its successors, which share one socket, so that clients wait while none serves."""

    def __init__(self, listener: socket.socket, *arguments: str) -> None:
        self._fd = listener.fileno()
        self._command = [sys.executable, "-m", "tests.turns.manager.server", str(self._fd), *arguments]
        self.port: int = listener.getsockname()[1]
        self.start()

    def start(self) -> None:
        self._process = subprocess.Popen(self._command, pass_fds=[self._fd])

    def kill(self) -> None:
        self._process.send_signal(signal.SIGKILL)
        self._process.wait()

    @property
    def memory(self) -> int:
        """The resident memory of the process, in bytes."""
        pages = Path(f"/proc/{self._process.pid}/statm").read_text().split()[1]
        return int(pages) * os.sysconf("SC_PAGE_SIZE")

    def begin_turn(self) -> str:
        """Start a turn. Return the path of its events."""
        body, headers = json.dumps({"message": "Go."}).encode(), {"content-type": "application/json"}
        with urlopen(Request(f"http://127.0.0.1:{self.port}/turns", body, headers)) as answer:
            return f"/turns/{json.load(answer)['turn']}/events"

    async def get(self, path: str, seen: str = "") -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        """A connection with one request, whose answer ends with the connection, as HTTP 1.0 has it."""
        reader, writer = await asyncio.open_connection("127.0.0.1", self.port)
        writer.write(f"GET {path} HTTP/1.0\r\nhost: localhost\r\nlast-event-id: {seen}\r\n\r\n".encode())
        return reader, writer


@contextmanager
def serving(url: URL, side: Path, *, rounds: int, seconds: float) -> Iterator[Server]:
    side.touch()
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        listener.listen(4096)
        server = Server(listener, url.render_as_string(hide_password=False), str(side), str(rounds), str(seconds))
        try:
            yield server
        finally:
            server.kill()


class Subscriber:
    """A browser that follows a turn, and reconnects whenever its connection breaks.

    ``seen``: the number and the data of each event. ``latest``: shared by all subscribers, the highest number.
    """

    latest = -1

    def __init__(self, server: Server, path: str, seed: int, *, cuts: bool) -> None:
        self.seen: list[tuple[int, bytes]] = []
        self.connections = 0
        self._server, self._path = server, path
        self._random, self._cuts = random.Random(seed), cuts

    async def follow(self) -> None:
        """Read until the server answers that no event follows."""
        over = False
        while not over:
            with suppress(ConnectionError, asyncio.IncompleteReadError):
                over = await self._connect()
            await asyncio.sleep(self._random.uniform(0, 0.3))

    async def _connect(self) -> bool:
        reader, writer = await self._server.get(self._path, str(self.seen[-1][0]) if self.seen else "")
        self.connections += 1
        try:
            status = (await reader.readuntil(b"\r\n\r\n")).split()[1]
            assert status in (b"200", b"204")
            left = self._random.randrange(1, 80) if self._cuts else sys.maxsize
            while status == b"200" and left > 0:
                left -= self._take(await reader.readuntil(b"\n\n"))
        finally:
            writer.transport.abort()
        return status == b"204"

    def _take(self, frame: bytes) -> bool:
        lines = frame.split(b"\n")
        if not lines[0].startswith(b"id: "):
            return False  # a comment, or the time to reconnect
        self.seen.append((int(lines[0][4:]), lines[2][6:]))
        Subscriber.latest = max(Subscriber.latest, self.seen[-1][0])
        return True


async def test_no_event_is_lost_or_doubled_although_the_serving_process_is_killed(
    postgres_database: URL, tmp_path: Path
) -> None:
    side = tmp_path / "side"
    with serving(postgres_database, side, rounds=12, seconds=0.05) as server:
        path = server.begin_turn()
        Subscriber.latest = -1
        subscribers = [Subscriber(server, path, seed, cuts=True) for seed in range(SUBSCRIBERS)]
        following = asyncio.gather(*(subscriber.follow() for subscriber in subscribers))
        for kill in KILLS:
            while Subscriber.latest < kill:
                assert not following.done()
                await asyncio.sleep(0.01)
            server.kill()
            server.start()
        await following
        with Log(postgres_database) as log:
            turn = path.split("/")[2]
            logged = [(row.seq, row.data.encode()) for row in (await log.events(turn, limit=100_000)).events]
            assert_whole(await log.turn(turn))
    assert [seq for seq, _ in logged] == list(range(len(logged)))
    assert sum(b'"turn_started"' in data for _, data in logged) == len(KILLS) + 1
    for subscriber in subscribers:
        assert subscriber.seen == logged
    assert sum(subscriber.connections for subscriber in subscribers) > SUBSCRIBERS * (len(KILLS) + 1)
    ran = Counter(line for line in side.read_text().splitlines() if not line.endswith(f" {IDEMPOTENT}"))
    assert set(ran.values()) == {1}


async def test_the_memory_of_the_serving_process_does_not_grow_with_its_subscribers_over_time(
    postgres_database: URL, tmp_path: Path
) -> None:
    """Each wave of subscribers follows another turn. Half of them do not read."""
    sizes = []
    with serving(postgres_database, tmp_path / "side", rounds=3, seconds=0.005) as server:
        for _ in range(5):
            path = server.begin_turn()
            silent = [await server.get(path) for _ in range(SUBSCRIBERS // 2)]
            readers = [Subscriber(server, path, seed, cuts=False) for seed in range(SUBSCRIBERS // 2)]
            await asyncio.gather(*(reader.follow() for reader in readers))
            assert len({len(reader.seen) for reader in readers}) == 1
            for _, writer in silent:
                writer.transport.abort()
            sizes.append(server.memory)
    assert max(sizes[2:]) < sizes[1] + 6_000_000, sizes
