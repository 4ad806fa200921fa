"""Fixtures of the tests of gateways."""

from __future__ import annotations

import socket

import pytest


@pytest.fixture
def port() -> int:
    """A port that is free, with the next one."""
    while True:
        with socket.socket() as first, socket.socket() as second:
            first.bind(("127.0.0.1", 0))
            number = first.getsockname()[1]
            try:
                second.bind(("127.0.0.1", number + 1))
            except (OSError, OverflowError):
                continue
        break
    return number
