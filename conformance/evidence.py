"""What a check looks at: the answers of one subject in one case, round by round, and their siblings on demand."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from msgspec import Struct

from .answer import Answer
from .expected import Expected, Split
from .subjects import Ask, Next, Subject


class Case(NamedTuple):
    """One scenario on one surface (of `toolparity.cassettes.surfaces`), plain or streamed, under one policy."""

    scenario: str
    surface: str
    mode: str
    policy: str

    @property
    def id(self) -> str:
        """As pytest shows it: ``parallel-three[anthropic.messages-stream-first]``."""
        return f"{self.scenario}[{self.surface}-{self.mode}-{self.policy}]"

    @property
    def stream(self) -> bool:
        return self.mode == "stream"


class Round(Struct, frozen=True):
    """One answer of the provider, what must come out, and what the subject said of it.

    ``following``: the request that was recorded after it, null after the last one.
    """

    number: int
    ask: Ask
    expected: Expected
    answer: Answer
    following: Any = None

    @property
    def split(self) -> Split:
        """What the policy has to make of the calls."""
        return self.expected.split(self.ask.policy, self.ask.limit)


class Evidence(Struct):
    """``sibling(case, cut)`` gives the rounds of another case of the same scenario, or of this one with its bytes cut
    otherwise; null where there is none. ``make(next)`` lets the subject make a request.
    """

    case: Case
    subject: Subject
    rounds: list[Round]
    surfaces: list[str]
    sibling: Callable[[Case, str | None], list[Round] | None]
    make: Callable[[Next], Any]
