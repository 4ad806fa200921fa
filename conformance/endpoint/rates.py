"""Rates with confidence intervals."""

from __future__ import annotations

from math import sqrt

from msgspec import Struct

#: The quantile of the normal distribution for an interval that covers 95 %.
_Z = 1.959963984540054


class Rate(Struct, frozen=True):
    """``passed`` of ``judged`` observations, and the Wilson score interval of the rate at 95 %.

    Wilson's interval stays within 0 and 1, and is meaningful for few observations and for rates of 0 and 1, where the
    usual approximation by a normal distribution has the width 0 (E. B. Wilson, 1927).
    """

    passed: int
    judged: int

    @property
    def value(self) -> float | None:
        """The observed rate; None without an observation."""
        return self.passed / self.judged if self.judged else None

    @property
    def interval(self) -> tuple[float, float]:
        """The lower and the upper bound of the rate; 0 and 1 without an observation."""
        if not self.judged:
            return 0.0, 1.0
        count, rate = self.judged, self.passed / self.judged
        centre = (rate + _Z**2 / (2 * count)) / (1 + _Z**2 / count)
        half = _Z * sqrt(rate * (1 - rate) / count + _Z**2 / (4 * count**2)) / (1 + _Z**2 / count)
        return (0.0 if not self.passed else centre - half), (1.0 if self.passed == count else centre + half)
