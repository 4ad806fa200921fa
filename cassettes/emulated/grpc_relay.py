"""A relay before a gRPC server, which can break the connection of a client: gRPC's own servers can end calls only.

client -> relay (the public address, TLS if any) -> gRPC server (loopback)
"""

from __future__ import annotations

import asyncio
import contextlib
import socket
import ssl
import struct
from typing import Protocol

#: How long sent bytes get to arrive before a connection breaks, in seconds.
ARRIVAL = 0.05
#: SO_LINGER: on, for 0 seconds. Closing then sends RST instead of FIN.
RESET = struct.pack("ii", 1, 0)
_PIECE = 1 << 16


class Connections(Protocol):
    """The connections of clients."""

    async def end(self, peer: str, *, reset: bool) -> None:
        """Close the connection of a peer, or reset it (TCP RST). ``peer``: as gRPC names it."""


class Relay:
    """The relay. Use it in the event loop of its server."""

    def __init__(self) -> None:
        self._clients: dict[str, asyncio.StreamWriter] = {}
        self._server: asyncio.Server | None = None

    async def start(self, listener: socket.socket, inner_port: int, tls: ssl.SSLContext | None) -> None:
        """Accept connections of a listening socket, and pass them to the server at ``inner_port`` on loopback."""

        async def passed(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            inner_reader, inner_writer = await asyncio.open_connection("127.0.0.1", inner_port)
            name = f"ipv4:127.0.0.1:{inner_writer.get_extra_info('sockname')[1]}"
            self._clients[name] = writer
            try:
                copies = [_copied(reader, inner_writer), _copied(inner_reader, writer)]
                await asyncio.wait(
                    [asyncio.ensure_future(copy) for copy in copies], return_when=asyncio.FIRST_COMPLETED
                )
            finally:
                del self._clients[name]
                inner_writer.close()
                writer.close()

        self._server = await asyncio.start_server(passed, sock=listener, ssl=tls)

    async def stop(self) -> None:
        """Stop, and abort the open connections."""
        if self._server is not None:
            self._server.close()
        for writer in list(self._clients.values()):
            writer.transport.abort()

    async def end(self, peer: str, *, reset: bool) -> None:
        """See `Connections`."""
        writer = self._clients.get(peer.replace("%5B", "[").replace("%5D", "]"))
        if writer is None:
            return
        await asyncio.sleep(ARRIVAL)
        if reset:
            writer.get_extra_info("socket").setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, RESET)
            writer.transport.abort()
        else:
            writer.close()


async def _copied(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    with contextlib.suppress(OSError):
        while data := await reader.read(_PIECE):
            writer.write(data)
            await writer.drain()
