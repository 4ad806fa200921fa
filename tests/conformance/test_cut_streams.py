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
    evidence = Judge(Reference(), twice=False).evidence(case)
    most = max(len(response.pieces) for response in responses(case.scenario, case.surface, "stream"))
    for number in range(0, most, 1 + most // MOST):
        assert list(broken_failures(evidence, f"cut:{number}", "after an event")) == []


def test_a_cut_stream_is_the_beginning_of_the_stream_without_its_end() -> None:
    for surface in ("openai.chat", "openai.responses", "anthropic.messages", "xai.grpc"):
        (response, *_) = responses("unicode-normal-forms", surface, "stream")
        for cut in CUTS:
            pieces = repieced(response, cut, "seed")
            if pieces is None:
                assert SURFACES[surface].by_messages
                assert cut in ("cut:inside", "cut:character")
                continue
            assert not any(map(oracle(SURFACES[surface].wire).finishes, pieces))
            whole, begun = b"".join(response.pieces), b"".join(pieces)
            assert whole.startswith(begun)
            assert whole != begun
            if cut == "cut:character":
                with pytest.raises(UnicodeDecodeError, match="unexpected end of data"):
                    begun.decode()


def test_a_stream_without_an_end_and_a_plain_body_are_not_cut() -> None:
    (endless,), (plain, *_) = (
        responses("breaks-off", "openai.chat", "stream"),
        responses("single-call", "openai.chat", "plain"),
    )
    assert repieced(endless, "cut:between", "a") is None
    assert repieced(plain, "cut:first", "a") is None
    assert broken("openai.chat", [b"data: {}\n\n"], "cut:first", "a") is None


class Careless(Reference):
    """The reference, which takes every stream for a whole one."""

    def __init__(self, change: Callable[[dict[str, Any]], object]) -> None:
        self._change = change

    def read(self, exchange: SubjectExchange) -> dict[str, Any]:
        form = super().read(exchange)
        if not form["response"]["complete"]:
            self._change(form)
        return form


def _run(form: dict[str, Any]) -> None:
    form["selection"]["kept"], form["selection"]["rejected"] = form["selection"]["rejected"], []


#: Change of the answer to a broken stream -> the effect of the failure.
OVERLOOKED: list[tuple[Callable[[dict[str, Any]], object], str]] = [
    (lambda form: form["response"].update(complete=True), "misreported"),
    (_run, "executed"),
    (lambda form: [block.update(text="Other words.") for block in blocks(form) if block["type"] == "text"], "altered"),
    (lambda form: [call.update(arguments={"x": 1}, arguments_text='{"x":1}') for call in calls(form)], "altered"),
]


@pytest.mark.parametrize(("change", "effect"), OVERLOOKED)
def test_each_way_to_overlook_a_break_fails_with_its_effect(
    change: Callable[[dict[str, Any]], object], effect: str
) -> None:
    (verdict,) = Judge(Careless(change)).result(BROKEN, [LAWS["any-cut"]]).verdicts
    assert (verdict.outcome, verdict.effect) == ("fail", effect)
