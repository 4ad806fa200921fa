"""The public names of `toolparity.normalizer.turns.clients`."""

from ..normalizer.turns.clients import CLIENTS, SdkClient, client

__all__ = ["CLIENTS", "SdkClient", "client"]
