"""Rates with confidence intervals."""

from __future__ import annotations

from math import sqrt
from statistics import NormalDist

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
        """The lower and the upper bound of the rate at 95 %; 0 and 1 without an observation."""
        return self.within(_Z)

    def within(self, z: float) -> tuple[float, float]:
        """Return the interval for a quantile of the normal distribution."""
        if not self.judged:
            return 0.0, 1.0
        count, rate = self.judged, self.passed / self.judged
        centre = (rate + z**2 / (2 * count)) / (1 + z**2 / count)
        half = z * sqrt(rate * (1 - rate) / count + z**2 / (4 * count**2)) / (1 + z**2 / count)
        return (0.0 if not self.passed else centre - half), (1.0 if self.passed == count else centre + half)


class Difference(Struct, frozen=True):
    """The difference of two rates, and its interval (R. G. Newcombe, 1998: square and add, method 10)."""

    value: float
    low: float
    high: float


class Pairs(Struct, frozen=True):
    """Pairs of observations: ``both`` passed, only the ``first``, only the ``second``, or ``neither``."""

    both: int
    first: int
    second: int
    neither: int

    @property
    def rates(self) -> tuple[Rate, Rate]:
        """The rates of the first and of the second observations."""
        count = self.both + self.first + self.second + self.neither
        return Rate(self.both + self.first, count), Rate(self.both + self.second, count)

    def difference(self, tests: int = 1) -> Difference:
        """Return the rate of the first observations minus that of the second.

        ``tests``: of how many differences all shall be in their intervals at 95 % (Bonferroni).
        """
        one, other = self.rates
        product = one.passed * (one.judged - one.passed) * other.passed * (other.judged - other.passed)
        covariance: float = self.both * self.neither - self.first * self.second
        if covariance > 0:  # the correction for continuity, with which a few pairs show no correlation
            covariance = max(covariance - one.judged / 2, 0)
        z = NormalDist().inv_cdf(1 - 0.025 / tests)
        return difference(one, other, covariance / sqrt(product) if product else 0.0, z)


def difference(one: Rate, other: Rate, correlation: float = 0.0, z: float = _Z) -> Difference:
    """Return the first rate minus the second, each with an observation. ``correlation``: 0 without pairs."""
    (low, high), (other_low, other_high) = one.within(z), other.within(z)
    rate, other_rate = one.value or 0.0, other.value or 0.0

    def distance(first: float, second: float) -> float:
        return sqrt(max(first**2 - 2 * correlation * first * second + second**2, 0.0))

    lower, upper = distance(rate - low, other_high - other_rate), distance(high - rate, other_rate - other_low)
    return Difference(rate - other_rate, rate - other_rate - lower, rate - other_rate + upper)
