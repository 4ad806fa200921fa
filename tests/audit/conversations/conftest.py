"""The emulated providers, with the scripts of the agents."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.audit.conversations.agents import SCRIPTS
from toolparity.cassettes.emulated.servers import Servers, running


@pytest.fixture(scope="session")
def servers() -> Iterator[Servers]:
    with running(SCRIPTS) as up:
        yield up
