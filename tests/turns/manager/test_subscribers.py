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

import pytest
from sqlalchemy import URL

from tests.turns.log.crash import IDEMPOTENT
from tests.turns.log.shared import assert_whole
from toolparity.turns.log import Log, StoredTurn

pytestmark = pytest.mark.service("turns/manager", "turns/log")

SUBSCRIBERS = 1_000
#: Events after which the serving process is killed.
KILLS = (15, 60, 110, 180)
_PATIENCE = 540.0


class Server:
    """A serving process and its successors, which share one socket, so that clients wait while none serves."""

    def __init__(self, url: URL, folder: Path, rounds: int, seconds: float) -> None:
        self.side = folder / "side"
        self.side.touch()
        self._listener = socket.socket()
        self._listener.bind(("127.0.0.1", 0))
        self._listener.listen(4096)
        self.port: int = self._listener.getsockname()[1]
        address = url.render_as_string(hide_password=False)
        fd = str(self._listener.fileno())
        self._command = [sys.executable, "-m", "tests.turns.manager.server", fd, address, str(self.side)]
        self._command += [str(rounds), str(seconds)]
        self.start()

    def start(self) -> None:
        self._process = subprocess.Popen(self._command, pass_fds=[self._listener.fileno()])

    def kill(self) -> None:
        self._process.send_signal(signal.SIGKILL)
        self._process.wait()

    @property
    def memory(self) -> int:
        """The resident memory of the process, in bytes."""
        pages = Path(f"/proc/{self._process.pid}/statm").read_text().split()[1]
        return int(pages) * os.sysconf("SC_PAGE_SIZE")

    def close(self) -> None:
        self.kill()
        self._listener.close()


@contextmanager
def serving(url: URL, folder: Path, *, rounds: int, seconds: float) -> Iterator[Server]:
    server = Server(url, folder, rounds, seconds)
    try:
        yield server
    finally:
        server.close()


class Connection:
    """A connection with one request. It reads a chunked body, as far as it arrives."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._reader = reader
        self._writer = writer

    @classmethod
    async def open(cls, port: int, method: str, path: str, headers: dict[str, str], body: bytes = b"") -> Connection:
        connection = cls(*await asyncio.open_connection("127.0.0.1", port))
        fields = {"host": f"127.0.0.1:{port}", "content-length": str(len(body)), **headers}
        head = "".join(f"{name}: {value}\r\n" for name, value in fields.items())
        connection._writer.write(f"{method} {path} HTTP/1.1\r\n{head}\r\n".encode() + body)
        return connection

    async def head(self) -> tuple[int, bytes]:
        """The status, and the headers as they are."""
        head = await self._reader.readuntil(b"\r\n\r\n")
        return int(head.split(None, 2)[1]), head.lower()

    async def piece(self) -> bytes:
        """The next chunk of the body, empty at its end. Raises IncompleteReadError if the connection broke."""
        size = int(await self._reader.readuntil(b"\r\n"), 16)
        return (await self._reader.readexactly(size + 2))[:-2]

    def close(self) -> None:
        self._writer.transport.abort()


async def start(port: int) -> str:
    body = json.dumps({"message": "Go."}).encode()
    connection = await Connection.open(port, "POST", "/turns", {"content-type": "application/json"}, body)
    status, head = await connection.head()
    assert status == 201, head
    length = int(head.partition(b"content-length: ")[2].split(b"\r\n")[0])
    answer = json.loads(await connection._reader.readexactly(length))
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
        self._port = port
        self._path = f"/turns/{turn}/events"
        self._random = random.Random(seed)
        self._cuts = cuts

    async def follow(self) -> None:
        """Read until the server answers that no event follows."""
        while True:
            with suppress(ConnectionError, asyncio.IncompleteReadError):
                if await self._connect():
                    return
            await asyncio.sleep(self._random.uniform(0, 0.3))

    async def _connect(self) -> bool:
        headers = {"last-event-id": str(self.seen[-1][0])} if self.seen else {}
        connection = await Connection.open(self._port, "GET", self._path, headers)
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


@pytest.mark.thorough
def test_no_event_is_lost_or_doubled_although_the_serving_process_is_killed(
    postgres_database: URL, tmp_path: Path
) -> None:
    async def run(server: Server) -> tuple[StoredTurn, list[tuple[int, bytes]], list[Subscriber]]:
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
            logged, rows = [], await log.events(turn)
            while rows.events:
                logged += [(row.seq, row.data.encode()) for row in rows.events]
                rows = await log.events(turn, rows.events[-1].seq)
            return await log.turn(turn), logged, subscribers

    with serving(postgres_database, tmp_path, rounds=12, seconds=0.05) as server:
        stored, logged, subscribers = asyncio.run(asyncio.wait_for(run(server), _PATIENCE))
        side = server.side.read_text().split("\n")[:-1]
    assert_whole(stored)
    assert [seq for seq, _ in logged] == list(range(len(logged)))
    assert sum(b'"turn_started"' in data for _, data in logged) == len(KILLS) + 1
    for subscriber in subscribers:
        assert subscriber.seen == logged
    assert sum(subscriber.connections for subscriber in subscribers) > SUBSCRIBERS * (len(KILLS) + 1)
    ran = Counter(line for line in side if not line.endswith(f" {IDEMPOTENT}"))
    assert set(ran.values()) == {1}


@pytest.mark.thorough
def test_the_memory_of_the_serving_process_does_not_grow_with_its_subscribers_over_time(
    postgres_database: URL, tmp_path: Path
) -> None:
    """Each wave of subscribers follows another turn. Half of them do not read."""

    async def wave(server: Server) -> int:
        turn = await start(server.port)
        path = f"/turns/{turn}/events"
        silent = [await Connection.open(server.port, "GET", path, {}) for _ in range(SUBSCRIBERS // 2)]
        readers = [Subscriber(server.port, turn, seed, cuts=False) for seed in range(SUBSCRIBERS // 2)]
        await asyncio.gather(*(reader.follow() for reader in readers))
        assert len({len(reader.seen) for reader in readers}) == 1
        for connection in silent:
            connection.close()
        return server.memory

    async def run(server: Server) -> list[int]:
        return [await wave(server) for _ in range(5)]

    with serving(postgres_database, tmp_path, rounds=3, seconds=0.005) as server:
        sizes = asyncio.run(asyncio.wait_for(run(server), _PATIENCE))
    assert max(sizes[2:]) < sizes[1] + 6_000_000, sizes
