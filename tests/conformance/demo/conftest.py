"""The demo, served for a test: its tools wait behind a gate, and its connections can be cut."""

from __future__ import annotations

import asyncio
import http.client
import json
import socket
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest
import uvicorn
from playwright.sync_api import Browser, Page
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from tests.reports.browser import browser, watched
from toolparity.conformance.demo.server import ready_to_serve
from toolparity.conformance.demo.tools import Throttle
from toolparity.turns.log import Log

__all__ = ["browser"]

Opens = Callable[..., Page]
#: What a browser reports of a connection that is cut.
_INCOMPLETE = "ERR_INCOMPLETE_CHUNKED_ENCODING"


class Gated(Throttle):
    """Tools wait at each step while the gate is shut; nothing else waits."""

    def __init__(self) -> None:
        super().__init__(0, 0)
        self.gate = threading.Event()
        self.gate.set()

    async def step(self, tool: str, slower: float = 1.0) -> None:
        while not self.gate.is_set():
            await asyncio.sleep(0.005)


class Cutter:
    """Breaks connections that carry events: ``cuts`` holds after how many pieces, one a connection.

    ``made``: how many it broke.
    ``seen``: the last event that each of them had, by its own account.
    """

    def __init__(self, app: ASGIApp) -> None:
        self._app = app
        self.cuts: list[int] = []
        self.made = 0
        self.seen: list[str | None] = []

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if not scope.get("path", "").endswith("/events"):
            await self._app(scope, receive, send)
            return
        headers = {name.decode(): value.decode() for name, value in scope["headers"]}
        self.seen.append(headers.get("last-event-id"))
        left = self.cuts.pop(0) if self.cuts else None

        async def cutting(message: Message) -> None:
            nonlocal left
            if left is not None and message["type"] == "http.response.body":
                left -= 1
                if left < 0:
                    self.made += 1
                    raise ConnectionAbortedError("cut by the test")
            await send(message)

        try:
            await self._app(scope, receive, cutting)
        except* ConnectionAbortedError:
            # ends the chunked body without its end: the browser sees that the connection broke
            raise ConnectionAbortedError("cut by the test") from None


class Reached:
    """A demo that is up. ``address``: with a slash at its end; ``path``: of its log."""

    def __init__(self, address: str, path: Path) -> None:
        self.address = address
        self.path = path

    @contextmanager
    def _connected(self) -> Iterator[http.client.HTTPConnection]:
        place = urlsplit(self.address)
        connection = http.client.HTTPConnection(place.hostname or "", place.port, timeout=120)
        try:
            yield connection
        finally:
            connection.close()

    def asks(self, method: str, path: str, body: Any = None, **headers: str) -> tuple[int, dict[str, str], bytes]:
        """Send one request. Return the status, the headers and the body."""
        with self._connected() as connection:
            type = {"content-type": "application/json"} if body is not None else {}
            data = body if isinstance(body, bytes) else None if body is None else json.dumps(body).encode()
            connection.request(method, path, data, {**type, **headers})
            reply = connection.getresponse()
            return reply.status, {name.lower(): value for name, value in reply.getheaders()}, reply.read()

    def posts(self, turn: str, action: str, **body: Any) -> tuple[int, Any]:
        """Send an action of the user on a turn. Return the status and the reply."""
        status, _, reply = self.asks("POST", f"/turns/{turn}/{action}", body)
        return status, json.loads(reply)

    def starts(self, message: str = "", **settings: Any) -> str:
        """Start a turn. Return its id."""
        status, _, reply = self.asks("POST", "/turns", {"message": message, **settings})
        assert status == 201, reply
        return str(json.loads(reply)["turn"])

    def events(self, turn: str, seen: int | None = None) -> list[dict[str, Any]]:
        """All events of a turn, when it is over."""
        headers = {} if seen is None else {"last-event-id": str(seen)}
        status, _, reply = self.asks("GET", f"/turns/{turn}/events", **headers)
        assert status in (200, 204)
        return [json.loads(line[6:]) for line in reply.decode().splitlines() if line.startswith("data: ")]

    def trace(self, turn: str, *, events: int = 0) -> dict[str, Any]:
        """The trace of a turn, with the times of this many events, which are recorded after the log has the events."""
        deadline = time.monotonic() + 30
        while True:
            status, _, reply = self.asks("GET", f"/turns/{turn}/trace")
            assert status == 200, reply
            trace = dict(json.loads(reply))
            if len(trace["times"]) >= events or time.monotonic() > deadline:
                return trace
            time.sleep(0.05)

    def until(self, turn: str, type: str, times: int = 1) -> list[dict[str, Any]]:
        """The events of a turn up to the first of a type, or the one after ``times``; then the connection is closed."""
        with self._connected() as connection:
            connection.request("GET", f"/turns/{turn}/events")
            seen_events = []
            for line in connection.getresponse():
                if line.startswith(b"data: "):
                    seen_events.append(json.loads(line[6:]))
                    times -= seen_events[-1]["type"] == type
                    if times == 0:
                        return seen_events
            raise AssertionError(f"the turn is over without {type}")

    def logged(self, read: Callable[[Log], Any]) -> Any:
        """What is in the log, read in another thread."""
        with Log(self.path) as log, ThreadPoolExecutor(1) as other:  # a browser's loop may run in this thread
            return other.submit(lambda: asyncio.run(read(log))).result()


class Demo(Reached):
    """A demo in this process."""

    def __init__(self, address: str, path: Path, pace: Gated, cutter: Cutter) -> None:
        super().__init__(address, path)
        self.pace = pace
        self.cutter = cutter


@contextmanager
def served(path: Path) -> Iterator[Demo]:
    pace = Gated()
    with socket.socket() as listener, ready_to_serve(path, pace) as app:
        listener.bind(("127.0.0.1", 0))
        listener.listen()
        cutter = Cutter(app)
        config = uvicorn.Config(
            cutter, lifespan="on", log_config=None, log_level="critical", access_log=False, timeout_graceful_shutdown=1
        )
        server = uvicorn.Server(config)
        thread = threading.Thread(target=server.run, kwargs={"sockets": [listener]}, daemon=True)
        thread.start()
        try:
            yield Demo(f"http://127.0.0.1:{listener.getsockname()[1]}/", path, pace, cutter)
        finally:
            pace.gate.set()
            server.should_exit = True
            thread.join(20)
            assert not thread.is_alive()


@pytest.fixture
def demo(tmp_path: Path) -> Iterator[Demo]:
    with served(tmp_path / "turns.db") as up:
        yield up


@pytest.fixture(scope="session")
def _served_once(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Demo]:
    with served(tmp_path_factory.mktemp("demo") / "turns.db") as up:
        yield up


@pytest.fixture
def shared_demo(_served_once: Demo) -> Iterator[Demo]:
    """A demo that has played turns of other tests. Its gate is open."""
    yield _served_once
    _served_once.pace.gate.set()


@pytest.fixture
def opens(browser: Browser, demo: Demo) -> Iterator[Opens]:
    """Opens the page. At the end it has sent requests to the demo only, with no error but that of a cut."""
    with watched(
        browser, demo.address, "data:", ignored=lambda text: bool(demo.cutter.made) and _INCOMPLETE in text
    ) as make:
        yield lambda fragment="", **options: make(demo.address + fragment, **options)
