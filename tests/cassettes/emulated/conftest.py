"""The emulated providers, up while the tests of this folder run."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack

import openai
import pytest

from tests.cassettes.emulated.extra import EXTRA
from toolparity.cassettes.emulated.servers import Servers, running
from toolparity.cassettes.scripts import scripts
from toolparity.cassettes.surfaces import Surface


@pytest.fixture(scope="session")
def servers() -> Iterator[Servers]:
    """With the scripts that are shipped, and the tests' own."""
    with running({**scripts(), **EXTRA}) as up:
        yield up


@pytest.fixture(scope="session")
def sdk(servers: Servers) -> Iterator[Callable[[Surface], openai.OpenAI]]:
    """The official SDK for a surface, unpatched, that tries once."""
    made: dict[str, openai.OpenAI] = {}
    with ExitStack() as stack:

        def client(surface: Surface) -> openai.OpenAI:
            if surface.name not in made:
                fresh = openai.OpenAI(base_url=servers.base(surface), api_key="any", max_retries=0)
                made[surface.name] = stack.enter_context(fresh)
            return made[surface.name]

        yield client
