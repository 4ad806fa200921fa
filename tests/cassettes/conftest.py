"""Servers for the tests of cassettes."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from tests.cassettes.fixture.servers import Server
    from toolparity.cassettes.emulated.servers import Servers


@pytest.fixture(scope="session")
def servers() -> Iterator[Servers]:
    """All emulated providers, with the shipped scripts and those of the tests."""
    from tests.cassettes.emulated.script_library import LIBRARY
    from toolparity.cassettes.emulated.servers import running
    from toolparity.cassettes.scripts import scripts

    with running({**scripts(), **LIBRARY}) as found:
        yield found


@pytest.fixture
def server() -> Iterator[Server]:
    from tests.cassettes.fixture.servers import Server

    running = Server()
    yield running
    running.stop()
