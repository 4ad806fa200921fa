"""The public names of `toolparity.normalizer.turns.sse`."""

from ..normalizer.turns.sse import HEADERS, encode, events, frame, over

__all__ = ["HEADERS", "encode", "events", "frame", "over"]
