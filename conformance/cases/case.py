"""A case of the suite and the evidence that a law checks: one subject's answers, and related cases on demand."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from msgspec import Struct

from toolparity.normalizer.model import Policy

from ..answer import SubjectAnswer
from ..subjects import FollowUp, Subject, SubjectExchange
from .expected import Expected, ExpectedSelection


class Case(NamedTuple):
    """One scenario on one surface (see `toolparity.cassettes.surfaces`), plain or streamed, under one policy."""

    scenario: str
    surface: str
    mode: str
    policy: Policy

    @property
    def id(self) -> str:
        """The id that pytest shows: ``parallel-three[anthropic.messages-stream-first]``."""
        return f"{self.scenario}[{self.surface}-{self.mode}-{self.policy}]"

    @property
    def stream(self) -> bool:
        return self.mode == "stream"


class CaseRound(Struct, frozen=True):
    """One response of the provider, the expected result, and the subject's answer.

    ``following``: the request that was recorded after the response. It is None after the last response. ``sent``: the
    requests that an agent itself sent after the response, as JSON, or those of a gateway for this response. ``first``:
    the request to which an agent got the response.
    """

    number: int
    exchange: SubjectExchange
    expected: Expected
    answer: SubjectAnswer
    following: Any = None
    sent: list[Any] = []
    first: Any = None

    @property
    def selection(self) -> ExpectedSelection:
        """The calls that the policy must keep, drop and reject."""
        return self.expected.select(self.exchange.policy, self.exchange.limit)


class Evidence(Struct):
    """What a law needs to check one case.

    ``surfaces``: the surfaces of the scenario. ``sibling(case, chunking)`` returns the rounds of another case of the
    scenario, or of the same case with its bytes split differently; None if there is no such case or the subject does
    not support it. ``next_request(follow_up)`` lets the subject build a request. ``exhaustive``: check every pair of
    wires and every split in this case, instead of leaving some to other cases.
    """

    case: Case
    subject: Subject
    rounds: list[CaseRound]
    surfaces: list[str]
    sibling: Callable[[Case, str | None], list[CaseRound] | None]
    next_request: Callable[[FollowUp], Any]
    exhaustive: bool = True

    @property
    def is_canonical(self) -> bool:
        """Whether the subject returns the canonical form, so that the law `content` judges every member of it."""
        return {"blocks", "findings"} <= self.subject.claims
