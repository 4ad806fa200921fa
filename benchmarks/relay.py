"""Servers on a free port of loopback whose processes print the port; one relays connections without reading them."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Awaitable, Callable

Handler = Callable[[asyncio.StreamReader, asyncio.StreamWriter], Awaitable[None]]


async def serve(handle: Handler) -> None:
    """Print a free port and serve its connections until the process ends."""
    server = await asyncio.start_server(handle, "127.0.0.1", 0, backlog=2000)
    print(server.sockets[0].getsockname()[1], flush=True)
    await server.serve_forever()


async def relay(target: int) -> None:
    """Pass the bytes of each connection on to the port ``target``."""

    async def copy(source: asyncio.StreamReader, sink: asyncio.StreamWriter) -> None:
        with contextlib.suppress(ConnectionError):
            while data := await source.read(1 << 16):
                sink.write(data)
                await sink.drain()
        sink.close()

    async def handle(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        back, out = await asyncio.open_connection("127.0.0.1", target)
        await asyncio.gather(copy(reader, out), copy(back, writer))

    await serve(handle)
