"""The clients of the chat: they reach the emulated providers through the official SDKs that are installed."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterable, Mapping
from contextlib import AsyncExitStack, asynccontextmanager

from toolparity.cassettes.emulated.servers import Servers
from toolparity.cassettes.recorder.sdks import Link, sdk_module
from toolparity.cassettes.surfaces import SURFACES, Surface
from toolparity.normalizer.errors import MissingExtra
from toolparity.turns.clients import SdkClient, client, client_class


def reachable() -> list[Surface]:
    """Return the surfaces whose SDK is installed. Loads the SDKs, which takes time and would block requests."""
    return [surface for surface in SURFACES.values() if _is_installed(surface)]


def _is_installed(surface: Surface) -> bool:
    try:
        client_class(surface.wire)
    except MissingExtra:
        return False
    return True


@asynccontextmanager
async def connected(servers: Servers, surfaces: Iterable[Surface]) -> AsyncIterator[Mapping[str, SdkClient]]:
    """Yield a client by the name of each surface. They belong to the running event loop."""
    async with AsyncExitStack() as stack:
        clients: dict[str, SdkClient] = {}
        for surface in surfaces:
            link = Link(servers.base(surface), "emulated", secure=False)
            sdk = await stack.enter_async_context(sdk_module(surface).async_client(link))
            clients[surface.name] = client(surface.wire, surface.model, provider=surface.provider, sdk=sdk)
        yield clients
