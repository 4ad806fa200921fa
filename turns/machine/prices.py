"""The cost of a turn: the prices of its model, applied to its usage."""

from __future__ import annotations

from msgspec import Struct

from toolparity.normalizer.model import Usage


class Prices(Struct, frozen=True, omit_defaults=True):
    """The prices of a model for a million tokens, in any currency. Without those of the cache, ``input`` applies."""

    input: float
    output: float
    cached_input: float | None = None
    cache_write: float | None = None

    def cost(self, usage: Usage | None) -> float | None:
        """Return the cost of this usage, None if no tokens are known."""
        if usage is None or (usage.input_tokens is None and usage.output_tokens is None):
            return None
        cached, written = usage.cached_input_tokens or 0, usage.cache_write_tokens or 0
        uncached = max((usage.input_tokens or 0) - cached - written, 0)
        cached_price = self.input if self.cached_input is None else self.cached_input
        write_price = self.input if self.cache_write is None else self.cache_write
        total = uncached * self.input + cached * cached_price + written * write_price
        return (total + (usage.output_tokens or 0) * self.output) / 1_000_000
