"""No way out: while a cassette is replayed, nothing in this process connects to anything.

Python's own sockets are closed here. gRPC's core has sockets of its own, out of Python's reach: there, what proves
that nothing was sent is that every recorded call was played (`replay`), as a channel connects with its first call.
"""

from __future__ import annotations

import contextlib
import socket
from collections.abc import Iterator
from typing import Any
from unittest import mock

_WAYS = ("connect", "connect_ex", "sendto", "sendmsg")
_LOCAL = getattr(socket, "AF_UNIX", None)  # event loops talk to themselves over socket pairs


class NetworkBlocked(OSError):
    """Something wanted to reach the network while it was cut."""


@contextlib.contextmanager
def cut() -> Iterator[None]:
    """While the block runs, connecting a socket and resolving a name raise NetworkBlocked."""
    with contextlib.ExitStack() as stack:
        for name in _WAYS:
            stack.enter_context(mock.patch.object(socket.socket, name, _refusing(name), create=True))
        stack.enter_context(mock.patch.object(socket, "getaddrinfo", _no_names))
        yield


def _refusing(name: str) -> Any:
    allowed = getattr(socket.socket, name, None)

    def way(self: socket.socket, *args: Any) -> Any:
        if self.family == _LOCAL and allowed is not None:
            return allowed(self, *args)
        raise NetworkBlocked(f"{name} to {args[-1] if args else 'nowhere'}: the network is cut")

    return way


def _no_names(host: Any, *args: Any, **more: Any) -> Any:
    raise NetworkBlocked(f"the address of {host}: the network is cut")
