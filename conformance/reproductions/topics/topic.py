"""The form of a topic: what a failure is about, with everything that depends on it."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence

from ..failure import Failure
from ..output import Output


class Topic(ABC):
    """What a failure is about: the values that a script prints, their comparison, and the assertions of tests."""

    @abstractmethod
    def names(self, failure: Failure) -> Sequence[str]:
        """Return the values that a script prints, as keys of `Code.values`. Keys that a library lacks are left out."""

    @abstractmethod
    def confirms(self, failure: Failure, output: Output) -> bool:
        """Return whether a script printed what the failure states."""

    @abstractmethod
    def python(self, failure: Failure, lines: Sequence[str]) -> list[str]:
        """Return the body of a test in Python: ``lines``, which ask the library, and the assertion."""

    @abstractmethod
    def javascript(self, failure: Failure) -> str:
        """Return the assertion of a test in JavaScript, which follows the lines that ask the library."""

    def expected(self, failure: Failure) -> str:
        """Return what a script should print, in words that fit the printed values."""
        return failure.verdict.expected or "nothing"
