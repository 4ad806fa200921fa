"""The runner of one subject: it runs the subject on cases and returns the verdicts of the laws.

    scenario x surface x mode x policy -> Case -> the recorded traffic -> the subject's answers -> Evidence
    -> each law that applies -> Verdict

Answers are cached, so that laws can compare related cases: streamed and plain, or two providers.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator
from fnmatch import fnmatchcase
from typing import Any

from msgspec import Struct

from toolparity.cassettes.surfaces import SURFACES
from toolparity.normalizer.errors import ToolparityError
from toolparity.normalizer.policies import POLICIES
from toolparity.reports.results import Result, SubjectReport, Traffic, Verdict, brief

from ..answer import SubjectAnswer, parse_answer
from ..cases.case import Case, CaseRound, Evidence
from ..cases.scenarios import scenarios
from ..cases.traffic import cut, responses
from ..errors import InvalidAnswer
from ..laws import LAWS, Failure, Law
from ..laws.common import call_texts
from ..subjects import Subject, SubjectExchange
from . import withdrawn
from .excerpts import seen


class CaseFilter(Struct, frozen=True):
    """A filter over the cases: patterns of scenario ids, and names. An empty member selects everything.

    A wire selects every surface that speaks it. The name of a surface, given as a surface or as a wire, selects only
    it.
    """

    scenarios: tuple[str, ...] = ()
    providers: tuple[str, ...] = ()
    wires: tuple[str, ...] = ()
    policies: tuple[str, ...] = ()
    modes: tuple[str, ...] = ()
    surfaces: tuple[str, ...] = ()

    def cases(self) -> Iterator[Case]:
        """Iterate over the selected cases, scenario by scenario."""
        for id, scenario in scenarios().items():
            if self.scenarios and not any(fnmatchcase(id, pattern) for pattern in self.scenarios):
                continue
            for name in scenario.surfaces:
                if not self._picks(name):
                    continue
                for mode in scenario.modes(name):
                    if self.modes and mode not in self.modes:
                        continue
                    for policy in POLICIES:
                        if not self.policies or policy in self.policies:
                            yield Case(id, name, mode, policy)

    def _picks(self, name: str) -> bool:
        surface = SURFACES[name]
        if self.providers and surface.provider not in self.providers:
            return False
        if not (self.wires or self.surfaces):
            return True
        return name in self.surfaces or surface.wire in self.wires or name in self.wires


class UnstableAnswer(Exception):
    """The subject gave two different answers to the same input."""


class Judge:
    """Runs a subject on cases.

    ``twice``: read everything twice and fail the case if the answers differ. ``called``: the name with which the
    subject was selected, if it is not the subject's own name; results show it in the command that repeats a case.
    """

    def __init__(self, subject: Subject, *, twice: bool = True, called: str = "") -> None:
        self.subject = subject
        self._called = "" if called == subject.name else called
        self._twice = twice
        self._kept: dict[tuple[Case, str | None], list[CaseRound]] = {}

    def forget(self) -> None:
        """Clear the cached answers. Laws compare cases of one scenario only, so this is safe after each scenario."""
        self._kept.clear()

    def supports(self, case: Case) -> str:
        """Return why the subject does not support a case, or "" if it does."""
        wire = SURFACES[case.surface].wire
        if self.subject.wires is not None and wire not in self.subject.wires:
            return f"it does not read {wire}"
        theirs = getattr(self.subject, "providers", None)
        if theirs is not None and (provider := _provider(case)) not in theirs:
            return f"it does not read what {provider} answers on {wire}"
        if case.stream and "stream" not in self.subject.claims:
            return "it does not claim to read streams"
        if case.policy != "all" and "select" not in self.subject.claims:
            return "it does not claim to act under policies"
        return ""

    def result(self, case: Case, laws: Iterable[Law] | None = None) -> Result:
        """Return one verdict for each law that applies to the case; ``laws`` restricts which laws are checked.

        If there is no evidence to check, the result has one verdict under the law `conservation`: "unsupported" if the
        subject does not support the case, "fail" if its answers are unstable or unreadable, "error" if the suite itself
        failed.
        """
        began = time.perf_counter()
        told: list[SubjectReport] = []
        if why := self.supports(case):
            verdicts = [Verdict("conservation", "unsupported", why)]
        else:
            try:
                evidence = self._evidence(case)
            except UnstableAnswer as error:
                verdicts = [Verdict("conservation", "fail", str(error))]
            except InvalidAnswer as error:
                verdicts = [Verdict("conservation", "fail", f"its answer cannot be read: {error}")]
            except ToolparityError as error:
                verdicts = [Verdict("conservation", "error", str(error))]
            else:
                told = [_told(one.answer) for one in evidence.rounds]
                verdicts = [found for law in laws or LAWS.values() if (found := _judged(law, evidence)) is not None]
        seconds = round(time.perf_counter() - began, 4)
        return withdrawn.applied(Result(self.subject.name, *case, verdicts, told, seconds, self._called))

    def traffic(self, case: Case) -> Traffic | None:
        """Return the wire excerpt of a case that was run, or None if the case was not run."""
        rounds = self._kept.get((case, None))
        return None if rounds is None else seen(case, rounds)

    def _evidence(self, case: Case) -> Evidence:
        return Evidence(
            case,
            self.subject,
            self._rounds(case, None),
            scenarios()[case.scenario].surfaces,
            self._sibling,
            self._make,
        )

    def _sibling(self, case: Case, how: str | None) -> list[CaseRound] | None:
        scenario = scenarios()[case.scenario]
        if case.surface not in scenario.surfaces or case.mode not in scenario.modes(case.surface):
            return None
        return None if self.supports(case) else self._rounds(case, how)

    def rounds(self, case: Case) -> list[CaseRound]:
        """Return the subject's answers in a case, round by round. Raises InvalidAnswer and Unstable."""
        return self._rounds(case, None)

    def _rounds(self, case: Case, how: str | None) -> list[CaseRound]:
        found = self._kept.get((case, how))
        if found is None:
            found = self._kept[case, how] = list(self._read(case, how))
        return found

    def _read(self, case: Case, how: str | None) -> Iterator[CaseRound]:
        surface = SURFACES[case.surface]
        scenario = scenarios()[case.scenario]
        told = responses(case.scenario, case.surface, case.mode)
        for number, answered in enumerate(told):
            ask = SubjectExchange(
                wire=surface.wire,
                provider=answered.provider or surface.provider,
                stream=answered.stream,
                pieces=answered.pieces if how is None else cut(answered.pieces, how),
                policy=case.policy,
                limit=scenario.file.limit,
                request=answered.request,
                status=answered.status,
            )
            expected = scenario.expected(case.surface, number, stream=case.stream)
            following = told[number + 1].request if number + 1 < len(told) else scenario.file.continues or None
            yield CaseRound(number, ask, expected, self._ask(ask, how is None), following)

    def _ask(self, ask: SubjectExchange, first: bool) -> SubjectAnswer:
        given = _given(self.subject, ask)
        if first and self._twice and _given(self.subject, ask) != given:
            raise UnstableAnswer("it is unstable: asked twice, it gave two answers to the same bytes")
        return given

    def _make(self, ask: Any) -> Any:
        try:
            made = self.subject.next_request(ask)  # type: ignore[attr-defined]
        except ToolparityError:
            raise
        except Exception as error:
            raise InvalidAnswer(f"next_request raised {type(error).__name__}: {error}") from error
        if not isinstance(made, dict):
            raise InvalidAnswer(f"its next request is a {type(made).__name__}", hint="give the body as a JSON object")
        return made


def _given(subject: Subject, ask: SubjectExchange) -> SubjectAnswer:
    """Read one answer with the subject. An exception that the subject raises becomes an answer with an error."""
    try:
        given = subject.read(ask)
    except ToolparityError:
        raise
    except Exception as error:
        return SubjectAnswer(error=f"{type(error).__name__}: {error}", complete=False)
    return parse_answer(given)


def _provider(case: Case) -> str:
    """Return the provider of the responses in a case."""
    bodies = scenarios()[case.scenario].file.bodies
    told = (body.provider for body in bodies if (body.surface, body.stream) == (case.surface, case.stream))
    return next(told, None) or SURFACES[case.surface].provider


def _judged(law: Law, evidence: Evidence) -> Verdict | None:
    """Return the verdict of one law, or None if it does not apply."""
    try:
        if not law.applies(evidence):
            return None
        if lacking := law.claims - evidence.subject.claims:
            return Verdict(law.id, "unsupported", f"it does not claim {', '.join(sorted(lacking))}")
        failure = next(law.check(evidence), None)
    except (InvalidAnswer, UnstableAnswer) as error:
        failure = Failure(0, str(error))
    except ToolparityError as error:
        return Verdict(law.id, "error", str(error))
    except Exception as error:  # a defect in one law must not stop the other cases
        return Verdict(law.id, "error", f"the check stumbled: {type(error).__name__}: {error}")
    if failure is None:
        return Verdict(law.id, "pass")
    expected, got = ("" if side is None else brief(side) for side in (failure.expected, failure.got))
    return Verdict(law.id, "fail", brief(failure.reason), failure.round, expected, got)


def _told(answer: SubjectAnswer) -> SubjectReport:
    """Return the part of an answer that a report shows."""
    dropped, rejected = (call_texts(calls or ()) for calls in (answer.dropped, answer.rejected))
    warnings = [brief(line) for line in answer.warnings]
    error = brief(answer.error or "")
    return SubjectReport(
        call_texts(answer.acted), dropped, rejected, warnings, list(answer.findings), answer.stop or "", error
    )
