"""Streaming providers (`normalizer.turns.provider.Provider`) over the official SDKs, one module per wire.

    async with client("anthropic.messages", model="claude-haiku-4-5") as provider:
        outcome = await Turn(provider, tools).run("What do I owe?")

A client sends the request body unchanged, except that it sets ``stream`` to true where the body has no ``stream``
member. It yields the payloads of the wire without the SDK's parsing. The SDK handles API keys, addresses, timeouts and
retries: set its environment variables, or pass options of its constructor.

To add a client, add a module with a class `Client` and a line in `CLIENTS`.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any

from ...errors import MissingExtra, UnknownWire
from ...model import Wire
from .sdk import SdkClient

__all__ = ["CLIENTS", "SdkClient", "client"]

CLIENTS: dict[Wire, str] = {
    "openai.chat": "openai_chat",
    "openai.responses": "openai_responses",
    "anthropic.messages": "anthropic_messages",
    "xai.grpc": "xai_grpc",
}

_SDKS: dict[Wire, str] = {
    "openai.chat": "openai",
    "openai.responses": "openai",
    "anthropic.messages": "anthropic",
    "xai.grpc": "xai-sdk",
}


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
    name = CLIENTS.get(wire)
    if name is None:
        raise UnknownWire(f"no client speaks the wire {wire!r}", hint=f"one of {', '.join(CLIENTS)}")
    try:
        module = import_module(f".{name}", __name__)
    except MissingExtra:
        raise
    except ImportError as error:
        sdk_name = _SDKS[wire]
        raise MissingExtra(
            f"asking over {wire} needs the SDK {sdk_name}: {error}", hint=f"pip install {sdk_name}"
        ) from error
    made: SdkClient = module.Client(model, provider=provider, sdk=sdk, **options)
    return made
