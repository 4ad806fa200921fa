"""Emulated providers for the tests of a session."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from toolparity.cassettes.emulated.servers import Servers, running


@pytest.fixture(scope="session")
def servers() -> Iterator[Servers]:
    """All emulated providers, playing the shipped scripts."""
    with running() as found:
        yield found
