"""A gateway for the tests that passes everything on, with faults of connections and of whole messages.

Each message is read whole before it is passed on. `toolparity.conformance.gateway.known_bad` passes streams on.
"""

from __future__ import annotations

import asyncio
import json
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from typing import Any, NamedTuple


class Message(NamedTuple):
    """A request or reply: its first line, its headers and its body (decoded, if it was sent in chunks)."""

    first: bytes
    headers: list[tuple[bytes, bytes]]
    body: bytes

    @property
    def status(self) -> int:
        return int(self.first.split()[1])

    def encode(self) -> bytes:
        own = (b"content-length", b"transfer-encoding", b"connection")
        kept = [b"%s: %s" % header for header in self.headers if header[0] not in own]
        lines = [self.first, *kept, b"content-length: %d" % len(self.body), b"connection: close"]
        return b"\r\n".join(lines) + b"\r\n\r\n" + self.body


Change = Callable[[Message], Message]
#: A change of a reply. None closes the connection without a reply.
Reply = Callable[[Message], Message | None]
#: After how many bytes of a reply the connection is reset, or None.
Cut = Callable[[Message], int | None]


class Halt(Exception):
    """A change of a reply raises it to stop the gateway."""


def with_json(change: Callable[[Any], Any]) -> Change:
    """Change a body as JSON; each event of a stream separately. None removes an event."""

    def changed(message: Message) -> Message:
        if not message.body.startswith((b"data:", b"event:", b":")):
            try:
                value = json.loads(message.body)
            except ValueError:
                return message
            return message._replace(body=json.dumps(change(value)).encode())
        events = []
        for event in message.body.replace(b"\r\n", b"\n").split(b"\n\n"):
            head, _, data = event.partition(b"data: ")
            if data[:1] == b"{":
                value = change(json.loads(data))
                events.append(head + b"data: " + json.dumps(value).encode() if value is not None else b": removed")
            else:
                events.append(event)
        return message._replace(body=b"\n\n".join(events))

    return changed


@contextmanager
def running(upstream: str, **faults: Any) -> Iterator[str]:
    """Run a gateway in a thread while the block runs. Yields its URL. ``faults``: members of `_Gateway`."""
    gateway = _Gateway(upstream, **faults)
    thread = threading.Thread(target=asyncio.run, args=(gateway.main(),), daemon=True)
    thread.start()
    assert gateway.started.wait(10)
    try:
        yield f"http://127.0.0.1:{gateway.port}"
    finally:
        gateway.stop()
        thread.join(10)


@dataclass
class _Gateway:
    """``request``, ``reply``: what they do with what passes. ``again``: each request is sent twice."""

    upstream: str
    request: Change | None = None
    reply: Reply | None = None
    again: bool = False
    cut: Cut = lambda reply: None

    def __post_init__(self) -> None:
        self._host, _, self._port = self.upstream.removeprefix("http://").partition(":")
        self._tasks: set[asyncio.Task[None]] = set()
        self.started = threading.Event()
        self.port = 0

    def stop(self) -> None:
        with suppress(RuntimeError):  # a reply may have stopped it already
            self._loop.call_soon_threadsafe(self._over.set)

    async def main(self) -> None:
        self._loop, self._over = asyncio.get_running_loop(), asyncio.Event()
        server = await asyncio.start_server(self._connected, "127.0.0.1", 0, limit=1 << 26)
        self.port = server.sockets[0].getsockname()[1]
        self.started.set()
        await self._over.wait()
        server.close()

    def _connected(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.create_task(self._serve(reader, writer))
        self._tasks.add(task)  # the loop has only weak references
        task.add_done_callback(self._tasks.discard)

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            asked = await _read(reader)
            if self.request is not None:
                asked = self.request(asked)
            for _ in range(1 + self.again):
                back, out = await asyncio.open_connection(self._host, self._port, limit=1 << 26)
                out.write(asked.encode())
                reply = await _read(back)
                out.close()
            if self.reply is not None:
                changed = await asyncio.to_thread(self.reply, reply)
                if changed is None:
                    return
                reply = changed
            end = self.cut(reply)
            writer.write(reply.encode() if end is None else reply.encode()[: end - len(reply.body)])
            await writer.drain()
            if end is not None:
                writer.transport.abort()
        except (ConnectionError, asyncio.IncompleteReadError):
            pass
        except Halt:
            self._over.set()
        finally:
            writer.close()


async def _read(reader: asyncio.StreamReader) -> Message:
    head = (await reader.readuntil(b"\r\n\r\n"))[:-4].split(b"\r\n")
    headers = []
    for line in head[1:]:
        name, _, value = line.partition(b": ")
        headers.append((name.lower(), value))
    named = dict(headers)
    if b"content-length" in named:
        body = await reader.readexactly(int(named[b"content-length"]))
    elif named.get(b"transfer-encoding") == b"chunked":
        body = b""
        while size := int(await reader.readline(), 16):
            body += (await reader.readexactly(size + 2))[:-2]
    else:
        body = b""
    return Message(head[0], headers, body)
