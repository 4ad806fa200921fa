"""A failure of a run, with the response that it is about and the code that asks the library."""

from __future__ import annotations

from functools import cached_property

from toolparity.reports.results import KNOWN, Result, SubjectReport, Verdict

from .code import Ask, Code
from .libraries import LIBRARIES
from .response import CaseResponse, key_of


class Failure:
    """A law that a subject breaks in a case. The subject is a library or an agent, in a version."""

    def __init__(self, result: Result, verdict: Verdict, version: str) -> None:
        self.result, self.verdict, self.version = result, verdict, version
        self.response = CaseResponse(key_of(result, verdict))

    @cached_property
    def ask(self) -> Ask:
        """What a script asks the library for."""
        response = self.response
        traffic = response.traffic
        return Ask(response.surface.wire, response.provider, traffic.stream, response.tools, traffic.status)

    @cached_property
    def code(self) -> Code:
        """The code that asks the library."""
        return LIBRARIES[self.result.subject](self.ask)

    @property
    def is_of_agent(self) -> bool:
        """Whether the subject runs the calls, so that the runs are judged."""
        return "ran" in self.code.values

    @property
    def is_refusal(self) -> bool:
        """Whether the subject raised an error instead of returning the response."""
        return self.verdict.effect == "refused"

    @property
    def report(self) -> SubjectReport:
        """The output of the subject in the round of the failure."""
        return self.result.rounds[self.verdict.round or 0]

    @property
    def reason(self) -> str:
        """The reason without that of the baseline."""
        reason = self.verdict.reason
        return reason.rpartition(KNOWN)[0] if self.known_reason else reason

    @property
    def known_reason(self) -> str:
        """The reason in the subject's baseline, or "" if it does not expect the failure."""
        return self.verdict.behaviour

    @property
    def size(self) -> tuple[bool, int, bool, str]:
        """The key of the shortest case. HTTP precedes gRPC, whose scripts need more lines."""
        policy = self.result.policy != "all"
        return self.response.by_messages, self.response.size, policy, self.result.case
