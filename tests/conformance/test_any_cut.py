"""The law `any-cut`: streams are cut where they may break, and only a subject that notices keeps the law."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from toolparity.cassettes.surfaces import SURFACES
from toolparity.conformance.cases.broken import CUTS, broken
from toolparity.conformance.cases.case import Case
from toolparity.conformance.cases.scenarios import scenarios
from toolparity.conformance.cases.traffic import repieced, responses
from toolparity.conformance.known_bad.mutate import blocks, calls
from toolparity.conformance.laws import LAWS
from toolparity.conformance.laws.broken import broken_failures
from toolparity.conformance.oracle import oracle
from toolparity.conformance.runner.judge import Judge
from toolparity.conformance.subjects import SubjectExchange
from toolparity.conformance.subjects.reference import Reference
from toolparity.reports.results import Verdict

#: A long stream is cut after this many events at most, and a longer one at the same number of places.
MOST = 60
CASES = [
    Case(id, surface, "stream", "all")
    for id, one in scenarios().items()
    for surface in one.surfaces
    if "stream" in one.modes(surface)
]
BROKEN = Case("text-then-two-calls", "openai.chat", "stream", "all")


@pytest.mark.thorough(keep=15)
@pytest.mark.parametrize("case", CASES, ids=[case.id for case in CASES])
def test_the_reference_notices_a_break_after_every_event(case: Case) -> None:
    judge = Judge(Reference(), twice=False)
    evidence = judge.evidence(case)
    most = max(len(response.pieces) for response in responses(case.scenario, case.surface, "stream"))
    for number in range(0, most, 1 + most // MOST):
        assert list(broken_failures(evidence, f"cut:{number}", "after an event")) == []


@pytest.mark.parametrize("surface", ["openai.chat", "openai.responses", "anthropic.messages", "xai.grpc"])
@pytest.mark.parametrize("cut", CUTS)
def test_a_cut_stream_is_the_beginning_of_the_stream_without_its_end(surface: str, cut: str) -> None:
    (response, *_) = responses("unicode-normal-forms", surface, "stream")
    wire = SURFACES[surface].wire
    pieces = repieced(response, cut, "seed")
    if pieces is None:
        assert SURFACES[surface].by_messages
        assert cut in ("cut:inside", "cut:character")
        return
    assert not any(map(oracle(wire).finishes, pieces))
    whole, begun = b"".join(response.pieces), b"".join(pieces)
    assert whole.startswith(begun)
    assert whole != begun
    if cut == "cut:character":
        with pytest.raises(UnicodeDecodeError, match="unexpected end of data"):
            begun.decode()


def test_the_place_of_a_cut_follows_from_the_seed() -> None:
    (response,) = responses("hundreds-of-pieces", "openai.chat", "stream")
    places = {len(repieced(response, "cut:between", f"seed {number}") or []) for number in range(30)}
    assert len(places) > 10
    assert repieced(response, "cut:between", "a") == repieced(response, "cut:between", "a")


def test_a_stream_without_an_end_and_a_plain_body_are_not_cut() -> None:
    (response,) = responses("breaks-off", "openai.chat", "stream")
    assert repieced(response, "cut:between", "a") is None
    assert broken("openai.chat", [b"data: {}\n\n"], "cut:first", "a") is None
    (plain, *_) = responses("single-call", "openai.chat", "plain")
    assert repieced(plain, "cut:first", "a") is None


class Careless(Reference):
    """The reference, which takes every stream for a whole one."""

    name = "careless"

    def __init__(self, change: Callable[[dict[str, Any]], None]) -> None:
        self._change = change

    def read(self, exchange: SubjectExchange) -> dict[str, Any]:
        form = super().read(exchange)
        if not form["response"]["complete"]:
            self._change(form)
        return form


class Accumulator:
    """A subject that runs nothing, and returns what it collected."""

    name, version, wires = "accumulator", "1", None
    claims = frozenset(("stream", "text", "stop"))

    def __init__(self, **members: Any) -> None:
        self._members = members

    def read(self, exchange: SubjectExchange) -> dict[str, Any]:
        return {"calls": [], "text": "", **self._members}


def judged(subject: Any) -> Verdict:
    (verdict,) = Judge(subject).result(BROKEN, [LAWS["any-cut"]]).verdicts
    return verdict


def _complete(form: dict[str, Any]) -> None:
    form["response"]["complete"] = True


def _other_text(form: dict[str, Any]) -> None:
    for block in blocks(form):
        if block["type"] == "text":
            block["text"] = "Other words."


def _run(form: dict[str, Any]) -> None:
    form["selection"]["kept"], form["selection"]["rejected"] = form["selection"]["rejected"], []


def _other_arguments(form: dict[str, Any]) -> None:
    for call in calls(form):
        call["arguments"], call["arguments_text"] = {"x": 1}, '{"x":1}'


@pytest.mark.parametrize(
    ("change", "effect"),
    [(_complete, "misreported"), (_run, "executed"), (_other_text, "altered"), (_other_arguments, "altered")],
)
def test_each_way_to_overlook_a_break_fails_with_its_effect(
    change: Callable[[dict[str, Any]], None], effect: str
) -> None:
    verdict = judged(Careless(change))
    assert (verdict.outcome, verdict.effect) == ("fail", effect)


@pytest.mark.parametrize(
    ("members", "outcome"),
    [
        ({"complete": False}, "pass"),
        ({"stop": "unknown"}, "pass"),
        ({"stop": None}, "pass"),
        ({"error": "the stream ended early"}, "pass"),
        ({"stop": "end_turn"}, "fail"),
        ({"complete": True, "stop": "unknown"}, "fail"),
    ],
)
def test_an_accumulator_keeps_the_law_if_its_caller_can_know(members: dict[str, Any], outcome: str) -> None:
    assert judged(Accumulator(**members)).outcome == outcome


def test_a_stop_reason_that_no_answer_has_shows_no_break() -> None:
    class Silent(Accumulator):
        claims = frozenset(("stream",))

    assert (judged(Silent()).outcome, judged(Silent()).effect) == ("fail", "misreported")
    assert judged(Silent(stop="unknown")).outcome == "pass"
