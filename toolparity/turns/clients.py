"""The public names of `toolparity.normalizer.turns.clients`."""

from ..normalizer.turns.clients import SdkClient, client

__all__ = ["SdkClient", "client"]
