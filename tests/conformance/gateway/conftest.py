"""Fixtures of the tests of gateways."""

from __future__ import annotations

import random
import socket
from contextlib import ExitStack

import pytest

#: Ports below those that the system gives to other sockets while a test runs.
_LOWEST, _HIGHEST = 12_000, 30_000


@pytest.fixture
def port() -> int:
    """A port that is free, with the three next ones."""
    while True:
        number = random.randrange(_LOWEST, _HIGHEST)
        with ExitStack() as sockets:
            try:
                for offset in range(4):
                    sockets.enter_context(socket.socket()).bind(("127.0.0.1", number + offset))
            except OSError:
                continue
        return number
