"""How much the tests try: samples in the plain run, everything with `pytest --thorough`.

Tests whose cases are parametrized are marked `thorough` (see conftest.py). Tests that draw examples or walk through
recordings themselves ask here how many.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import Any, TypeVar

from hypothesis import settings

T = TypeVar("T")

_state = {"thorough": False}


def set_thorough(value: bool) -> None:
    """Called once by conftest.py, before any test module is imported."""
    _state["thorough"] = value


def is_thorough() -> bool:
    return _state["thorough"]


def examples(count: int, *, plain: int | None = None, **options: Any) -> settings:
    """Hypothesis settings: ``count`` examples with `--thorough`, else ``plain`` (an eighth of them, at least 10)."""
    fewer = min(count, max(count // 8, 10)) if plain is None else plain
    return settings(max_examples=count if is_thorough() else fewer, deadline=None, **options)


def sampled(values: Sequence[T], plain: int) -> list[T]:
    """All values with `--thorough`, else ``plain`` of them at equal distances, the first and the last among them."""
    return list(values) if is_thorough() else spread(values, plain)


def pairwise(*axes: Sequence[Any]) -> list[tuple[Any, ...]]:
    """Some of the product of these axes, in which every value meets every value of each other axis at least once."""
    product = list(itertools.product(*axes))
    pairs = {case: set(itertools.combinations(enumerate(case), 2)) for case in product}
    missing = set().union(*pairs.values())
    chosen = set()
    while missing:
        best = max(product, key=lambda case: len(pairs[case] & missing))
        chosen.add(best)
        missing -= pairs[best]
    return [case for case in product if case in chosen]


def spread(values: Sequence[T], count: int) -> list[T]:
    """At most ``count`` of the values at equal distances, the first and the last among them."""
    if len(values) <= count:
        return list(values)
    if count == 1:
        return [values[0]]
    return [values[i * (len(values) - 1) // (count - 1)] for i in range(count)]
