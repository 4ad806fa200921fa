"""What the tests of gRPC in vcrpy share."""

from __future__ import annotations

import contextlib
import socket
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import vcr

from toolparity.cassettes import vcr_grpc

from .servers import Listener, Shop

Use = Callable[..., Any]
Gone = Callable[[Shop], contextlib.AbstractContextManager[None]]


@pytest.fixture
def shop() -> Iterator[Shop]:
    """A running service."""
    running = Shop()
    yield running
    running.stop()


@pytest.fixture
def use(tmp_path: Path) -> Use:
    """``use_cassette`` of a VCR that knows gRPC; the same file each time, unless specified."""

    def use_cassette(path: Path | None = None, **settings: Any) -> Any:
        settings.setdefault("match_on", ("method", "uri", "body"))
        return vcr.VCR(custom_patches=vcr_grpc.custom_patches()).use_cassette(path or tmp_path / "c.yaml", **settings)

    return use_cassette


@pytest.fixture
def unreachable(monkeypatch: pytest.MonkeyPatch) -> Gone:
    """The service gone, a listener in its place that must not be visited, and Python's sockets blocked."""

    @contextlib.contextmanager
    def gone(shop: Shop) -> Iterator[None]:
        shop.stop()
        listener = Listener(shop.port)

        def blocked(self: Any, address: Any) -> None:
            raise AssertionError(f"a connection to {address}")

        with monkeypatch.context() as patched:
            patched.setattr(socket.socket, "connect", blocked)
            patched.setattr(socket.socket, "connect_ex", blocked)
            yield
        visits = listener.visits
        listener.close()
        assert visits == 0

    return gone
