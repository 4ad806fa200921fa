"""OpenAI's SDK as a caller of the emulated providers."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack

import openai
import pytest

from tests.cassettes.emulated.callers import Sdk
from toolparity.cassettes.emulated.servers import Servers
from toolparity.cassettes.surfaces import Surface


@pytest.fixture(scope="session")
def openai_sdk(servers: Servers) -> Iterator[Sdk]:
    """OpenAI's SDK for a surface, unpatched and without retries."""
    clients: dict[str, openai.OpenAI] = {}
    with ExitStack() as stack:

        def client(surface: Surface) -> openai.OpenAI:
            if surface.name not in clients:
                new = openai.OpenAI(base_url=servers.base(surface), api_key="any", max_retries=0)
                clients[surface.name] = stack.enter_context(new)
            return clients[surface.name]

        yield client
