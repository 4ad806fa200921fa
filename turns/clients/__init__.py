"""Streaming providers (`turns.provider.Provider`) over the official SDKs, one module per wire.

    async with client("anthropic.messages", model="claude-haiku-4-5") as provider:
        outcome = await Turn(provider, tools).run("What do I owe?")

A client sends the request body unchanged, except that it sets ``stream`` to true where the body has no ``stream``
member. It yields the payloads of the wire without the SDK's parsing. The SDK handles API keys, addresses, timeouts and
retries: set its environment variables, or pass options of its constructor.

The client of a built-in wire is the class `Client` of the module named like the wire's package; a third party's wire
has it in its part ``client`` (`normalizer.wires.registry`).
"""

from __future__ import annotations

from typing import Any, cast

from toolparity.normalizer.errors import MissingExtra
from toolparity.normalizer.model import Wire
from toolparity.normalizer.wires.registry import spec

from .sdk import SdkClient

__all__ = ["SdkClient", "client"]


def client(
    wire: Wire, model: str | None = None, *, provider: str | None = None, sdk: Any = None, **options: Any
) -> SdkClient:
    """Return a provider that sends requests over ``wire``.

    ``model``: the default for requests that name no model. ``provider``: the name of the provider, if it is not the
    owner of the wire, such as "xai" on "openai.chat". ``sdk``: an asynchronous client of the SDK, which the caller
    creates and closes; without it, the provider creates one with ``options``, the arguments of the SDK's constructor.

    Raises UnknownWire for a wire without a client or a provider without a known address, and MissingExtra if the SDK
    is not installed.
    """
    return client_class(wire)(model, provider=provider, sdk=sdk, **options)


def client_class(wire: Wire) -> type[SdkClient]:
    """Import the client of a wire, which imports its SDK. Raises UnknownWire and MissingExtra like `client`."""
    wire_spec = spec(wire)
    try:
        return cast("type[SdkClient]", wire_spec.part("client", home=__name__).Client)
    except MissingExtra:
        raise
    except ImportError as error:
        raise MissingExtra(
            f"the client of {wire} needs the SDK {wire_spec.sdk}: {error}", hint=f"pip install {wire_spec.sdk}"
        ) from error
