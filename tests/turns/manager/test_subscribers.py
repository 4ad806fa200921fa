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
from typing import NamedTuple

import pytest
from sqlalchemy import URL

from tests.turns.log.crash import IDEMPOTENT
from tests.turns.log.shared import assert_whole
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


class Connection(NamedTuple):
    """A connection with one request. It reads a chunked body, as far as it arrives."""

    reader: asyncio.StreamReader
    writer: asyncio.StreamWriter

    @classmethod
    async def open(
        cls, port: int, path: str, headers: dict[str, str], method: str = "GET", body: bytes = b""
    ) -> Connection:
        connection = cls(*await asyncio.open_connection("127.0.0.1", port))
        fields = {"host": f"127.0.0.1:{port}", "content-length": str(len(body)), **headers}
        head = "".join(f"{name}: {value}\r\n" for name, value in fields.items())
        connection.writer.write(f"{method} {path} HTTP/1.1\r\n{head}\r\n".encode() + body)
        return connection

    async def head(self) -> tuple[int, bytes]:
        """The status, and the headers as they are."""
        head = await self.reader.readuntil(b"\r\n\r\n")
        return int(head.split(None, 2)[1]), head.lower()

    async def piece(self) -> bytes:
        """The next chunk of the body, empty at its end. Raises IncompleteReadError if the connection broke."""
        size = int(await self.reader.readuntil(b"\r\n"), 16)
        return (await self.reader.readexactly(size + 2))[:-2]

    def close(self) -> None:
        self.writer.transport.abort()


async def start(port: int) -> str:
    body = json.dumps({"message": "Go."}).encode()
    connection = await Connection.open(port, "/turns", {"content-type": "application/json"}, "POST", body)
    status, head = await connection.head()
    assert status == 201, head
    length = int(head.partition(b"content-length: ")[2].split(b"\r\n")[0])
    answer = json.loads(await connection.reader.readexactly(length))
    connection.close()
    return str(answer["turn"])


class Subscriber:
    """A browser that follows a turn, and reconnects whenever its connection breaks.

    ``seen``: the number and the data of each event. ``latest``: shared by all subscribers, the highest number.
    """

    latest = -1

    def __init__(self, port: int, turn: str, seed: int, *, cuts: bool) -> None:
        self.seen: list[tuple[int, bytes]] = []
        self.connections = 0
        self._port, self._path = port, f"/turns/{turn}/events"
        self._random, self._cuts = random.Random(seed), cuts

    async def follow(self) -> None:
        """Read until the server answers that no event follows."""
        while True:
            with suppress(ConnectionError, asyncio.IncompleteReadError):
                if await self._connect():
                    return
            await asyncio.sleep(self._random.uniform(0, 0.3))

    async def _connect(self) -> bool:
        headers = {"last-event-id": str(self.seen[-1][0])} if self.seen else {}
        connection = await Connection.open(self._port, self._path, headers)
        self.connections += 1
        try:
            status, _ = await connection.head()
            if status == 204:
                return True
            assert status == 200
            left = self._random.randrange(1, 80) if self._cuts else sys.maxsize
            text = b""
            while left > 0 and (piece := await connection.piece()):
                *frames, text = (text + piece).split(b"\n\n")
                for frame in frames[:left]:
                    left -= self._take(frame)
        finally:
            connection.close()
        return False

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
        turn = await start(server.port)
        Subscriber.latest = -1
        subscribers = [Subscriber(server.port, turn, seed, cuts=True) for seed in range(SUBSCRIBERS)]
        following = asyncio.gather(*(subscriber.follow() for subscriber in subscribers))
        for kill in KILLS:
            while Subscriber.latest < kill:
                assert not following.done()
                await asyncio.sleep(0.01)
            server.kill()
            server.start()
        await following
        with Log(postgres_database) as log:
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
            turn = await start(server.port)
            silent = [await Connection.open(server.port, f"/turns/{turn}/events", {}) for _ in range(SUBSCRIBERS // 2)]
            readers = [Subscriber(server.port, turn, seed, cuts=False) for seed in range(SUBSCRIBERS // 2)]
            await asyncio.gather(*(reader.follow() for reader in readers))
            assert len({len(reader.seen) for reader in readers}) == 1
            for connection in silent:
                connection.close()
            sizes.append(server.memory)
    assert max(sizes[2:]) < sizes[1] + 6_000_000, sizes
