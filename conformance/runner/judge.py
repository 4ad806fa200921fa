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
from msgspec.structs import replace

from toolparity.cassettes.surfaces import SURFACES
from toolparity.normalizer.errors import MissingExtra, ToolparityError
from toolparity.normalizer.policies import POLICIES
from toolparity.reports.results import Result, SubjectReport, Traffic, Verdict, brief

from ..answer import SubjectAnswer, parse_answer, parse_request, same_answer
from ..cases.case import Case, CaseRound, Evidence
from ..cases.offered import not_for_agents, offered_tools
from ..cases.scenarios import scenarios
from ..cases.traffic import repieced, responses, wire_excerpts
from ..errors import InvalidAnswer, RefusedRequest, UnknownSubject, UnstableAnswer
from ..laws import LAWS, Failure, Law, law_for
from ..laws.law import REFUSED, Unjudged, readable
from ..laws.matching import call_texts
from ..subjects import FollowUp, Subject, SubjectExchange

#: Answers to this many bytes of responses are kept. Others are read again, to save memory.
_KEPT_BYTES = 4 << 20
#: The scenario whose answer ends the conversation with an agent.
_FINAL = "text-only"


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

    def left_out(self) -> list[Case]:
        """Return the cases of the suite that are not selected."""
        chosen = set(self.cases()) if self != CaseFilter() else None
        return [] if chosen is None else [case for case in CaseFilter().cases() if case not in chosen]

    def _picks(self, name: str) -> bool:
        surface = SURFACES[name]
        if self.providers and surface.provider not in self.providers:
            return False
        if not (self.wires or self.surfaces):
            return True
        return name in self.surfaces or surface.wire in self.wires or name in self.wires


class OutOfScope(Exception):
    """The subject answered that it does not support a response of the case. Its text is the reason."""


class Judge:
    """Runs a subject on cases and judges its answers.

    ``twice``: read everything twice and fail the case if the answers differ. ``called``: the name with which the
    subject was selected, if it is not the subject's own name; results show it in the command that repeats a case.
    ``exhaustive``: as in `Evidence`.
    """

    def __init__(self, subject: Subject, *, twice: bool = True, called: str = "", exhaustive: bool = False) -> None:
        self.subject = subject
        self._called = "" if called == subject.name else called
        self._twice = twice
        self._exhaustive = exhaustive
        self._rounds: dict[Case, list[CaseRound]] = {}  # the most recently used last
        self._requests: dict[tuple[int, str, str], Any] = {}  # those of the case, which several laws read
        self._judged: Case | None = None  # its answers are kept for its excerpt, whatever their size

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
        return not_for_agents(scenarios()[case.scenario], case) if "runs" in self.subject.claims else ""

    def result(self, case: Case, laws: Iterable[Law] | None = None) -> Result:
        """Return one verdict for each law that applies to the case; ``laws`` restricts which laws are checked.

        If there is no evidence to check, the result has one verdict under the law `conservation`: "unsupported" if the
        subject does not support the case, "fail" if its answers are unstable or unreadable, "error" if the suite itself
        failed.
        """
        started = time.perf_counter()
        self._judged = case
        answers: list[SubjectReport] = []
        if why := self.unsupported(case):
            verdicts = [Verdict("conservation", "unsupported", why)]
        else:
            try:
                evidence = self.evidence(case)
            except OutOfScope as error:
                verdicts = [Verdict("conservation", "unsupported", brief(str(error)))]
            except UnstableAnswer as error:
                verdicts = [Verdict("conservation", "fail", str(error), effect=error.effect)]
            except InvalidAnswer as error:
                verdicts = [Verdict("conservation", "fail", f"invalid answer: {error}", effect=error.effect)]
            except ToolparityError as error:
                verdicts = [Verdict("conservation", "error", str(error))]
            else:
                answers = [_reported_answer(round.answer) for round in evidence.rounds]
                all_verdicts = (verdict_of(law, evidence) for law in laws or LAWS.values())
                verdicts = [verdict for verdict in all_verdicts if verdict is not None]
        seconds = round(time.perf_counter() - started, 4)
        return Result(self.subject.name, *case, verdicts, answers, seconds, self._called)

    def traffic(self, case: Case) -> Traffic | None:
        """Return the wire excerpt of a case that was run, or None if the case was not run."""
        rounds = self._rounds.get(case)
        return None if rounds is None else wire_excerpts(case, rounds)

    def rounds(self, case: Case, chunking: str | None = None) -> list[CaseRound]:
        """Return the subject's answers in a case, round by round. Raises InvalidAnswer, UnstableAnswer and OutOfScope.

        ``chunking``: how to split the bytes, or a cut of `conformance.cases.broken`; None: as recorded.
        """
        if chunking is not None:  # one law looks at each split, once
            return list(self._read(case, chunking))
        rounds = self._rounds.pop(case, None)
        if rounds is None:
            rounds = list(self._read(case, None))
            self._make_room(_size(rounds))
        self._rounds[case] = rounds
        return rounds

    def _make_room(self, size: int) -> None:
        """Clear the answers used least recently, until this many bytes of responses can be kept beside them."""
        for case in reversed(list(self._rounds)):
            size += _size(self._rounds[case])
            if size > _KEPT_BYTES and case != self._judged:
                del self._rounds[case]

    def evidence(self, case: Case) -> Evidence:
        """Return the evidence for the laws. Raises InvalidAnswer, UnstableAnswer and OutOfScope."""
        surfaces = scenarios()[case.scenario].surfaces
        rounds = self.rounds(case)
        self._requests.clear()
        return Evidence(
            case, self.subject, rounds, surfaces, self._sibling, self._next_request, exhaustive=self._exhaustive
        )

    def _sibling(self, case: Case, chunking: str | None) -> list[CaseRound] | None:
        scenario = scenarios()[case.scenario]
        if case.surface not in scenario.surfaces or case.mode not in scenario.modes(case.surface):
            return None
        if self.unsupported(case):
            return None
        try:
            return self.rounds(case, chunking)
        except OutOfScope:
            if chunking is None:
                return None
            raise UnstableAnswer("the subject is unstable: it supports the same bytes in other pieces only") from None

    def _read(self, case: Case, chunking: str | None) -> Iterator[CaseRound]:
        surface = SURFACES[case.surface]
        scenario = scenarios()[case.scenario]
        recorded = responses(case.scenario, case.surface, case.mode)
        limit = scenario.file.limit if "select" in self.subject.claims else None
        for number, response in enumerate(recorded):
            pieces: list[bytes] | None = response.pieces
            if chunking is not None:
                pieces = repieced(response, chunking, f"{case.scenario}/{case.surface}/{number}")
            if pieces is None:
                continue
            exchange = SubjectExchange(
                wire=surface.wire,
                provider=response.provider or surface.provider,
                stream=response.stream,
                pieces=pieces,
                policy=case.policy,
                limit=limit,
                request=response.request,
                status=response.status,
            )
            expected = scenario.expected(case.surface, number, stream=case.stream)
            if "runs" in self.subject.claims:
                yield self._run_agent(CaseRound(number, exchange, expected, SubjectAnswer()), case)
                continue
            answer = _read_once(self.subject, exchange)
            if chunking is None and self._twice and not same_answer(_read_once(self.subject, exchange), answer):
                raise UnstableAnswer("the subject is unstable: it gave two different answers to the same bytes")
            if answer.unsupported:
                raise OutOfScope(answer.unsupported)
            last = number + 1 == len(recorded)
            following = (scenario.file.continues or None) if last else recorded[number + 1].request
            yield CaseRound(number, exchange, expected, answer, following)

    def _run_agent(self, round: CaseRound, case: Case) -> CaseRound:
        """Return the round with the agent's answer and the requests that it sent after the response."""
        final = responses(_FINAL, case.surface, case.mode)[0].pieces
        answers, sent = [], []
        for _ in range(2 if self._twice else 1):
            exchange = replace(round.exchange, tools=offered_tools(round.exchange.request, round.expected), final=final)
            answers.append(_read_once(self.subject, exchange))
            sent = list(getattr(self.subject, "sent", []))
        if len({_comparable_runs(answer) for answer in answers}) > 1:
            raise UnstableAnswer("the agent is unstable: it ran different tools for the same bytes")
        if answers[-1].unsupported:
            raise OutOfScope(answers[-1].unsupported)
        first = getattr(self.subject, "first", None)
        return replace(round, exchange=exchange, answer=answers[-1], sent=sent, first=first)

    def _next_request(self, follow_up: FollowUp) -> Any:
        key = id(follow_up.exchange), follow_up.to, follow_up.provider
        if key in self._requests:
            return self._requests[key]
        try:
            body = self.subject.next_request(follow_up)  # type: ignore[attr-defined]
        except _OF_THE_HARNESS:
            raise
        except (Exception, SystemExit) as error:
            raise RefusedRequest(f"next_request raised {_describe(error)}") from error
        parse_request(body)  # raises InvalidRequest
        self._requests[key] = body
        return body


def _size(rounds: Iterable[CaseRound]) -> int:
    return sum(len(piece) for round in rounds for piece in round.exchange.pieces)


def _read_once(subject: Subject, exchange: SubjectExchange) -> SubjectAnswer:
    """Read one response with the subject. An exception that the subject raises becomes an answer with an error."""
    try:
        answer = subject.read(exchange)
    except _OF_THE_HARNESS:
        raise
    except (Exception, SystemExit) as error:
        return SubjectAnswer(error=_describe(error), complete=False)
    return parse_answer(answer)


def _comparable_runs(answer: SubjectAnswer) -> tuple[str, ...]:
    """Return the runs in any order: an agent may start them at the same time."""
    return *sorted(map(str, answer.acted)), *(["failed"] if answer.error is not None else [])


#: Errors that do not come from the subject's own code. Any other error of a subject is its answer, also an error of
#: the normalizer, because subjects may use it.
_OF_THE_HARNESS = (InvalidAnswer, MissingExtra, UnknownSubject)


def _describe(error: BaseException) -> str:
    """Return the type and the text of an error that a subject raised. Its text may raise an error, too."""
    try:
        return f"{type(error).__name__}: {error}"
    except Exception:
        return type(error).__name__


def _provider(case: Case) -> str:
    """Return the provider of the responses in a case."""
    bodies = scenarios()[case.scenario].file.bodies
    providers = (body.provider for body in bodies if (body.surface, body.stream) == (case.surface, case.stream))
    return next(providers, None) or SURFACES[case.surface].provider


def verdict_of(law: Law, evidence: Evidence) -> Verdict | None:
    """Return the verdict of one law, or None if it does not apply.

    A refused response is one failure, under `conservation`. The other laws check the rounds that the subject read.
    """
    try:
        judged = law_for(law, evidence.subject.claims)
        if judged is None or not judged.applies(evidence):
            return None
        law = judged
        if missing := law.claims - evidence.subject.claims:
            return Verdict(law.id, "unsupported", f"the subject does not claim {', '.join(sorted(missing))}")
        read = readable(law, evidence)
        failure = next(law.check(read), None) if read.rounds else None
        if failure is None and len(read.rounds) < len(evidence.rounds):
            return Verdict(law.id, "unsupported", REFUSED)
    except Unjudged as unjudged:
        return Verdict(law.id, "unsupported", str(unjudged))
    except InvalidAnswer as error:
        failure = Failure(0, str(error), effect=error.effect)
    except ToolparityError as error:
        return Verdict(law.id, "error", str(error))
    except RecursionError:
        failure = Failure(0, "the answer is nested too deeply to be compared", effect="altered")
    except Exception as error:  # a defect in one law must not stop the other cases
        return Verdict(law.id, "error", f"the check failed: {type(error).__name__}: {error}")
    if failure is None:
        return Verdict(law.id, "pass")
    expected, got = ("" if side is None else brief(side) for side in (failure.expected, failure.got))
    return Verdict(law.id, "fail", brief(failure.reason), failure.round, expected, got, failure.effect)


def _reported_answer(answer: SubjectAnswer) -> SubjectReport:
    """Return the part of an answer that a report shows."""
    acted, dropped, rejected = (call_texts(calls or ()) for calls in (answer.acted, answer.dropped, answer.rejected))
    warnings = [brief(line) for line in answer.warnings]
    return SubjectReport(
        acted, dropped, rejected, warnings, list(answer.findings), answer.stop or "", brief(answer.error or "")
    )
