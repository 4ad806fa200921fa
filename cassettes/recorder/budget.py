"""The budget of a recording: how many requests are sent, and what they cost by the prices of the user's table."""

from __future__ import annotations

import fnmatch
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import msgspec

from toolparity.normalizer import json_codec
from toolparity.normalizer.model import Usage
from toolparity.turns.machine.prices import Prices

from ..errors import BudgetSpent, InvalidPrices
from ..scripts import Script
from ..surfaces import Surface
from .estimate import CHARACTERS_PER_TOKEN, Estimate, estimate


class Budget:
    """The limits of a run, and what is spent. Prices are the user's: this package knows none.

    ``max_calls``: the largest number of requests. ``max_cost``: the largest cost, in the currency of the prices.
    ``prices``: pattern of model names -> prices.
    """

    def __init__(
        self,
        max_calls: int | None = None,
        max_cost: float | None = None,
        prices: Mapping[str, Prices] | None = None,
    ) -> None:
        self._max_calls = max_calls
        self._max_cost = max_cost
        self._prices = dict(prices or {})
        self.calls = 0
        self.cost = 0.0
        self._reason = ""

    def prices_of(self, model: str) -> Prices | None:
        """Return the prices of the first pattern that fits a model, or None."""
        return next((price for name, price in self._prices.items() if fnmatch.fnmatchcase(model, name)), None)

    def reserve(self, script: Script, at: Surface, model: str, *, stream: bool) -> None:
        """Raise BudgetSpent if a whole conversation does not fit into the rest, so that none ends in the middle."""
        if self._reason:
            raise BudgetSpent(self._reason)
        if self._max_calls is None and self._max_cost is None:
            return
        needed = estimate(script, at, stream=stream, model=model)
        if self._max_calls is not None and self.calls + needed.requests > self._max_calls:
            self._refuse(f"{self.calls} of {self._max_calls} requests are sent, {needed.requests} more are needed")
        self._fits(self.cost_of(model, needed) or 0.0)

    def before(self, model: str, body: Any) -> None:
        """Raise BudgetSpent if a request must not be sent."""
        if self._max_calls is not None and self.calls >= self._max_calls:
            self._refuse(f"all {self._max_calls} requests are sent")
        text = json_codec.text(body) if isinstance(body, dict) else str(body)
        self._fits(self.cost_of(model, Estimate(1, len(text) // CHARACTERS_PER_TOKEN, 0)) or 0.0)
        self.calls += 1

    def after(self, model: str, usage: Usage | None) -> None:
        """Add the cost of a response."""
        prices = self.prices_of(model)
        if prices is not None:
            self.cost += prices.cost(usage) or 0.0

    def cost_of(self, model: str, needed: Estimate) -> float | None:
        """Return the cost of an estimate; None without prices for the model."""
        prices = self.prices_of(model)
        return None if prices is None else prices.cost(Usage(needed.input_tokens, needed.output_tokens))

    def _fits(self, cost: float) -> None:
        if self._max_cost is not None and self.cost + cost > self._max_cost:
            self._refuse(f"{self.cost:.4f} of {self._max_cost:g} are spent, about {cost:.4f} more are needed")

    def _refuse(self, reason: str) -> None:
        self._reason = reason
        raise BudgetSpent(reason)


def read_prices(path: Path) -> dict[str, Prices]:
    """Read a table of prices: TOML, with the prices of a million tokens for each model. * is a wildcard in names.

        ["gpt-5-mini*"]
        input = 0.25
        output = 2.0
        cached_input = 0.025    # optional, and cache_write

    Raises InvalidPrices.
    """
    try:
        table = tomllib.loads(path.read_text("utf-8"))
        prices = msgspec.convert(table, dict[str, Prices])
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError, msgspec.ValidationError) as error:
        reason = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
        raise InvalidPrices(reason, where=str(path)) from None
    negative = next((name for name, price in prices.items() if min(price.input, price.output) < 0), None)
    if negative is not None:
        raise InvalidPrices(f"a price of {negative} is negative", where=str(path))
    return prices
