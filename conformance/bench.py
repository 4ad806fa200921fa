"""The bench: one subject, the cases it can be put to, and the verdicts of the laws.

    scenario x surface x mode x policy -> Case -> what stands on the wire -> the subject's answers -> Evidence
    -> each law that applies -> Verdict

Answers are asked for once and kept: laws that compare siblings (streamed and plain, two providers) find them here.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from fnmatch import fnmatchcase
from typing import Any

from msgspec import Struct

from cassettes.surfaces import SURFACES
from normalizer.errors import BadAnswer, ToolparityError
from normalizer.policies import POLICIES
from reports.results import Verdict, brief

from .answer import Answer, answer
from .checks import LAWS, Failure, Law
from .evidence import Case, Evidence, Round
from .scenarios import scenarios
from .subjects import Ask, Subject
from .traffic import Answered, answers, cut


class Choice(Struct, frozen=True):
    """Which cases to run: patterns of scenarios, and names; empty: all."""

    scenarios: tuple[str, ...] = ()
    providers: tuple[str, ...] = ()
    wires: tuple[str, ...] = ()
    policies: tuple[str, ...] = ()
    modes: tuple[str, ...] = ()

    def cases(self) -> Iterator[Case]:
        """Every case, scenario by scenario."""
        for id, scenario in scenarios().items():
            if self.scenarios and not any(fnmatchcase(id, pattern) for pattern in self.scenarios):
                continue
            for name in scenario.surfaces:
                surface = SURFACES[name]
                if self.providers and surface.provider not in self.providers:
                    continue
                if self.wires and surface.wire not in self.wires and name not in self.wires:
                    continue
                for mode in scenario.modes(name):
                    if self.modes and mode not in self.modes:
                        continue
                    for policy in POLICIES:
                        if not self.policies or policy in self.policies:
                            yield Case(id, name, mode, policy)


class Unstable(Exception):
    """The subject gave two answers to one question."""


class Bench:
    """Puts a subject to cases. ``twice``: ask everything twice, and report answers that disagree."""

    def __init__(self, subject: Subject, *, twice: bool = True) -> None:
        self.subject = subject
        self._twice = twice
        self._kept: dict[tuple[Case, str | None], list[Round]] = {}

    def forget(self) -> None:
        """Let go of the answers that are kept: the cases of a scenario compare with each other, and with no others."""
        self._kept.clear()

    def supports(self, case: Case) -> str:
        """Why the subject is not put to a case; "" where it is."""
        wire = SURFACES[case.surface].wire
        if self.subject.wires is not None and wire not in self.subject.wires:
            return f"it does not read {wire}"
        if case.stream and "stream" not in self.subject.claims:
            return "it does not claim to read streams"
        if case.policy != "all" and "select" not in self.subject.claims:
            return "it does not claim to act under policies"
        return ""

    def verdicts(self, case: Case) -> list[Verdict]:
        """One verdict for each law that applies to the case; one of the harness where there is no telling."""
        if why := self.supports(case):
            return [self._verdict(case, "conservation", "unsupported", reason=why)]
        try:
            evidence = self._evidence(case)
        except Unstable as error:
            return [self._verdict(case, "conservation", "fail", reason=str(error))]
        except BadAnswer as error:
            return [self._verdict(case, "conservation", "fail", reason=f"its answer cannot be read: {error}")]
        except ToolparityError as error:
            return [self._verdict(case, "conservation", "error", reason=str(error))]
        return [verdict for law in LAWS.values() if (verdict := self._judge(law, evidence)) is not None]

    def _judge(self, law: Law, evidence: Evidence) -> Verdict | None:
        case = evidence.case
        try:
            if not law.applies(evidence):
                return None
            if lacking := law.claims - self.subject.claims:
                why = f"it does not claim {', '.join(sorted(lacking))}"
                return self._verdict(case, law.id, "unsupported", reason=why, level=law.level)
            failure = next(law.check(evidence), None)
        except (BadAnswer, Unstable) as error:
            failure = Failure(0, str(error))
        except ToolparityError as error:
            return self._verdict(case, law.id, "error", reason=str(error), level=law.level)
        if failure is None:
            return self._verdict(case, law.id, "pass", level=law.level)
        pieces = evidence.rounds[failure.round].ask.pieces if failure.round < len(evidence.rounds) else []
        return self._verdict(
            case,
            law.id,
            "fail",
            reason=failure.reason,
            level=law.level,
            round=failure.round,
            expected="" if failure.expected is None else brief(failure.expected),
            got="" if failure.got is None else brief(failure.got),
            excerpt=b"".join(pieces)[:600].decode("utf-8", "replace"),
        )

    def _verdict(self, case: Case, check: str, outcome: Any, **told: Any) -> Verdict:
        repeat = (
            f"toolparity check {self.subject.name} --scenario {case.scenario} --surface {case.surface}"
            f" --mode {case.mode} --policy {case.policy}"
        )
        if outcome == "pass":
            repeat = ""
        return Verdict(self.subject.name, *case, check, outcome, repeat=repeat, **told)

    def _evidence(self, case: Case) -> Evidence:
        return Evidence(
            case,
            self.subject,
            self._rounds(case, None),
            scenarios()[case.scenario].surfaces,
            self._sibling,
            self._make,
        )

    def _sibling(self, case: Case, how: str | None) -> list[Round] | None:
        scenario = scenarios()[case.scenario]
        if case.surface not in scenario.surfaces or case.mode not in scenario.modes(case.surface):
            return None
        return None if self.supports(case) else self._rounds(case, how)

    def rounds(self, case: Case) -> list[Round]:
        """What the subject said of a case, round by round. Raises BadAnswer and Unstable."""
        return self._rounds(case, None)

    def _rounds(self, case: Case, how: str | None) -> list[Round]:
        found = self._kept.get((case, how))
        if found is None:
            found = self._kept[case, how] = list(self._read(case, how))
        return found

    def _read(self, case: Case, how: str | None) -> Iterator[Round]:
        surface = SURFACES[case.surface]
        scenario = scenarios()[case.scenario]
        told = answers(case.scenario, case.surface, case.mode)
        for number, answered in enumerate(told):
            ask = Ask(
                wire=surface.wire,
                provider=answered.provider or surface.provider,
                stream=answered.stream,
                pieces=_pieces(answered, how, surface.wire),
                policy=case.policy,
                limit=scenario.situation.limit,
                request=answered.request,
                status=answered.status,
            )
            expected = scenario.expected(case.surface, number, stream=case.stream)
            following = told[number + 1].request if number + 1 < len(told) else scenario.situation.goes_on or None
            yield Round(number, ask, expected, self._ask(ask, how is None), following)

    def _ask(self, ask: Ask, first: bool) -> Answer:
        given = _given(self.subject, ask)
        if first and self._twice and _given(self.subject, ask) != given:
            raise Unstable("it is unstable: asked twice, it gave two answers to the same bytes")
        return given

    def _make(self, ask: Any) -> Any:
        try:
            return self.subject.next_request(ask)  # type: ignore[attr-defined]
        except ToolparityError:
            raise
        except Exception as error:
            raise BadAnswer(f"next_request raised {type(error).__name__}: {error}") from error


def _given(subject: Subject, ask: Ask) -> Answer:
    """What the subject says. An exception of its own is an answer: that it cannot read this."""
    try:
        given = subject.read(ask)
    except ToolparityError:
        raise
    except Exception as error:
        return Answer(error=f"{type(error).__name__}: {error}", complete=False)
    return answer(given)


def _pieces(answered: Answered, how: str | None, wire: str) -> list[bytes]:
    # Messages of gRPC are not cut: the network does not show through there.
    return answered.pieces if how is None or wire == "xai.grpc" else cut(answered.pieces, how)


def run(subject: Subject, cases: Iterable[Case], *, twice: bool = True) -> Iterator[Verdict]:
    """The verdicts of all cases, case by case."""
    bench = Bench(subject, twice=twice)
    for case in cases:
        yield from bench.verdicts(case)
