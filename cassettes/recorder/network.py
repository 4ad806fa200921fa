"""Network isolation for replay: no socket of this process connects to anything.

This module blocks Python's sockets. gRPC's core has its own sockets, which Python cannot reach. There, `replay` proves
that nothing was sent: a channel connects with its first call, and every recorded call was played.
"""

from __future__ import annotations

import contextlib
import socket
from collections.abc import Iterator
from typing import Any
from unittest import mock

_WAYS = ("connect", "connect_ex", "sendto", "sendmsg")
_LOCAL = getattr(socket, "AF_UNIX", None)  # event loops use socket pairs internally


class NetworkBlocked(OSError):
    """Code tried to reach the network while it was cut."""


@contextlib.contextmanager
def cut() -> Iterator[None]:
    """While the block runs, connecting a socket or resolving a name raises NetworkBlocked."""
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
