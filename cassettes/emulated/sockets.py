"""Listening sockets, and addresses as text."""

from __future__ import annotations

import socket

from ..errors import ServerNotStarted


def listening(host: str, port: int) -> socket.socket:
    """Return a listening socket. Port 0 means a free port. Raises ServerNotStarted."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    # asyncio only disables Nagle's algorithm, which delays chunks by 40 ms, on sockets with an explicit protocol.
    listener = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    try:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind((host, port))
        listener.listen(128)
        listener.setblocking(False)
    except OSError as error:
        listener.close()
        raise ServerNotStarted(
            f"cannot listen: {error}", where=f"{host}:{port}", hint="port 0 is a free one"
        ) from error
    return listener


def at(host: str, port: int) -> str:
    """Return host and port as in a URL."""
    return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"
