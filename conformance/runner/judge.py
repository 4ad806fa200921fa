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
from ..cases.traffic import cut, responses, wire_excerpts
from ..errors import InvalidAnswer
from ..laws import LAWS, Failure, Law
from ..laws.matching import call_texts
from ..subjects import FollowUp, Subject, SubjectExchange
from . import withdrawn


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
    """Runs a subject on cases and judges its answers.

    ``twice``: read everything twice and fail the case if the answers differ. ``called``: the name with which the
    subject was selected, if it is not the subject's own name; results show it in the command that repeats a case.
    """

    def __init__(self, subject: Subject, *, twice: bool = True, called: str = "") -> None:
        self.subject = subject
        self._called = "" if called == subject.name else called
        self._twice = twice
        self._rounds: dict[tuple[Case, str | None], list[CaseRound]] = {}

    def forget(self) -> None:
        """Clear the cached answers. Laws compare cases of one scenario only, so this is safe after each scenario."""
        self._rounds.clear()

    def unsupported(self, case: Case) -> str:
        """Return why the subject does not support a case, or "" if it does."""
        wire, provider = SURFACES[case.surface].wire, _provider(case)
        if self.subject.wires is not None and wire not in self.subject.wires:
            return f"the subject does not read {wire}"
        providers = getattr(self.subject, "providers", None)
        if providers is not None and provider not in providers:
            return f"the subject does not read responses of {provider} on {wire}"
        if case.stream and "stream" not in self.subject.claims:
            return "the subject does not claim to read streams"
        if case.policy != "all" and "select" not in self.subject.claims:
            return "the subject does not claim to apply policies"
        return ""

    def result(self, case: Case, laws: Iterable[Law] | None = None) -> Result:
        """Return one verdict for each law that applies to the case; ``laws`` restricts which laws are checked.

        If there is no evidence to check, the result has one verdict under the law `conservation`: "unsupported" if the
        subject does not support the case, "fail" if its answers are unstable or unreadable, "error" if the suite itself
        failed.
        """
        started = time.perf_counter()
        answers: list[SubjectReport] = []
        if why := self.unsupported(case):
            verdicts = [Verdict("conservation", "unsupported", why)]
        else:
            try:
                evidence = self._evidence(case)
            except UnstableAnswer as error:
                verdicts = [Verdict("conservation", "fail", str(error))]
            except InvalidAnswer as error:
                verdicts = [Verdict("conservation", "fail", f"invalid answer: {error}")]
            except ToolparityError as error:
                verdicts = [Verdict("conservation", "error", str(error))]
            else:
                answers = [_reported_answer(round.answer) for round in evidence.rounds]
                all_verdicts = (_verdict(law, evidence) for law in laws or LAWS.values())
                verdicts = [verdict for verdict in all_verdicts if verdict is not None]
        seconds = round(time.perf_counter() - started, 4)
        return withdrawn.apply(Result(self.subject.name, *case, verdicts, answers, seconds, self._called))

    def traffic(self, case: Case) -> Traffic | None:
        """Return the wire excerpt of a case that was run, or None if the case was not run."""
        rounds = self._rounds.get((case, None))
        return None if rounds is None else wire_excerpts(case, rounds)

    def rounds(self, case: Case, chunking: str | None = None) -> list[CaseRound]:
        """Return the subject's answers in a case, round by round. Raises InvalidAnswer and UnstableAnswer.

        ``chunking``: how to split the bytes; None: as recorded.
        """
        if (case, chunking) not in self._rounds:
            self._rounds[case, chunking] = list(self._read(case, chunking))
        return self._rounds[case, chunking]

    def _evidence(self, case: Case) -> Evidence:
        surfaces = scenarios()[case.scenario].surfaces
        return Evidence(case, self.subject, self.rounds(case), surfaces, self._sibling, self._next_request)

    def _sibling(self, case: Case, chunking: str | None) -> list[CaseRound] | None:
        scenario = scenarios()[case.scenario]
        if case.surface not in scenario.surfaces or case.mode not in scenario.modes(case.surface):
            return None
        return None if self.unsupported(case) else self.rounds(case, chunking)

    def _read(self, case: Case, chunking: str | None) -> Iterator[CaseRound]:
        surface = SURFACES[case.surface]
        scenario = scenarios()[case.scenario]
        recorded = responses(case.scenario, case.surface, case.mode)
        for number, response in enumerate(recorded):
            exchange = SubjectExchange(
                wire=surface.wire,
                provider=response.provider or surface.provider,
                stream=response.stream,
                pieces=response.pieces if chunking is None else cut(response.pieces, chunking),
                policy=case.policy,
                limit=scenario.file.limit,
                request=response.request,
                status=response.status,
            )
            answer = _read_once(self.subject, exchange)
            if chunking is None and self._twice and _read_once(self.subject, exchange) != answer:
                raise UnstableAnswer("the subject is unstable: it gave two different answers to the same bytes")
            expected = scenario.expected(case.surface, number, stream=case.stream)
            last = number + 1 == len(recorded)
            following = (scenario.file.continues or None) if last else recorded[number + 1].request
            yield CaseRound(number, exchange, expected, answer, following)

    def _next_request(self, follow_up: FollowUp) -> Any:
        try:
            body = self.subject.next_request(follow_up)  # type: ignore[attr-defined]
        except ToolparityError:
            raise
        except Exception as error:
            raise InvalidAnswer(f"next_request raised {type(error).__name__}: {error}") from error
        if not isinstance(body, dict):
            raise InvalidAnswer(f"next_request returned {type(body).__name__}", hint="return the body as a JSON object")
        return body


def _read_once(subject: Subject, exchange: SubjectExchange) -> SubjectAnswer:
    """Read one response with the subject. An exception that the subject raises becomes an answer with an error."""
    try:
        answer = subject.read(exchange)
    except ToolparityError:
        raise
    except Exception as error:
        return SubjectAnswer(error=f"{type(error).__name__}: {error}", complete=False)
    return parse_answer(answer)


def _provider(case: Case) -> str:
    """Return the provider of the responses in a case."""
    bodies = scenarios()[case.scenario].file.bodies
    providers = (body.provider for body in bodies if (body.surface, body.stream) == (case.surface, case.stream))
    return next(providers, None) or SURFACES[case.surface].provider


def _verdict(law: Law, evidence: Evidence) -> Verdict | None:
    """Return the verdict of one law, or None if it does not apply."""
    try:
        if not law.applies(evidence):
            return None
        if missing := law.claims - evidence.subject.claims:
            return Verdict(law.id, "unsupported", f"the subject does not claim {', '.join(sorted(missing))}")
        failure = next(law.check(evidence), None)
    except (InvalidAnswer, UnstableAnswer) as error:
        failure = Failure(0, str(error))
    except ToolparityError as error:
        return Verdict(law.id, "error", str(error))
    except Exception as error:  # a defect in one law must not stop the other cases
        return Verdict(law.id, "error", f"the check failed: {type(error).__name__}: {error}")
    if failure is None:
        return Verdict(law.id, "pass")
    expected, got = ("" if side is None else brief(side) for side in (failure.expected, failure.got))
    return Verdict(law.id, "fail", brief(failure.reason), failure.round, expected, got)


def _reported_answer(answer: SubjectAnswer) -> SubjectReport:
    """Return the part of an answer that a report shows."""
    acted, dropped, rejected = (call_texts(calls or ()) for calls in (answer.acted, answer.dropped, answer.rejected))
    warnings = [brief(line) for line in answer.warnings]
    return SubjectReport(
        acted, dropped, rejected, warnings, list(answer.findings), answer.stop or "", brief(answer.error or "")
    )
