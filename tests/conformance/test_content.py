"""The laws `content` and `any-cut`: an oracle reads each answer again, and streams are cut where they may break."""

from __future__ import annotations

import ast
import copy
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.support.thoroughness import sampled
from toolparity.cassettes.surfaces import SURFACES
from toolparity.conformance.cases.broken import CUTS, broken
from toolparity.conformance.cases.case import Case
from toolparity.conformance.cases.scenarios import scenarios
from toolparity.conformance.cases.traffic import repieced, responses
from toolparity.conformance.known_bad.mutate import blocks, calls
from toolparity.conformance.laws import LAWS
from toolparity.conformance.laws.broken import broken_failures
from toolparity.conformance.oracle import oracle
from toolparity.conformance.oracle import responses as oracles
from toolparity.conformance.runner.judge import CaseFilter, Judge
from toolparity.conformance.subjects import SubjectExchange
from toolparity.conformance.subjects.reference import Reference
from toolparity.reports.results import Verdict

CONTENT = LAWS["content"]


class Changed(Reference):
    """The reference, whose answers a function changes: those to complete responses, or those to broken ones."""

    def __init__(self, change: Callable[[Any], object], *, broken: bool = False) -> None:
        self._change, self._broken = change, broken

    def read(self, exchange: SubjectExchange) -> dict[str, Any]:
        form = copy.deepcopy(super().read(exchange))
        if form["response"]["complete"] is not self._broken:
            self._change(form)
        return form


def verdict(change: Callable[[Any], object], scenario: str, surface: str = "openai.chat") -> Verdict:
    case = Case(scenario, surface, "plain", "all")
    return Judge(Changed(change), twice=False).result(case, [CONTENT]).verdicts[0]


def exchange_ids(form: Any) -> None:
    first, second, *_ = form["selection"]["kept"]
    first["id"], second["id"] = second["id"], first["id"]


def test_a_changed_member_is_a_failure() -> None:
    """What the generated known-bad subjects do not change: a member that two others have, or that a wire lacks."""
    for change, scenario, effect in [
        (exchange_ids, "parallel-three", "misreported"),
        (lambda form: form["response"]["usage"].update(cache_write_tokens=0), "text-only", "misreported"),
        (lambda form: form["response"].update(extra={"mood": "x"}), "refusal", "duplicated"),
        (lambda form: form["response"].pop("extra"), "text-only", "misreported"),
    ]:
        found = verdict(change, scenario)
        assert (found.outcome, found.effect) == ("fail", effect), (scenario, found)
    assert "canonical form" in found.reason, "a form without members is a failure and not an error"


def test_a_lost_error_is_shown_without_the_members_that_the_wire_does_not_decide() -> None:
    """An error of `ollama.chat` is a text alone, so that its type is free."""
    found = verdict(lambda form: form["response"].update(error=None), "error-rate-limit", "ollama.chat")
    assert (found.outcome, found.reason) == ("fail", "error is missing")
    assert '"message":' in found.expected
    assert '"type":' not in found.expected


@pytest.mark.thorough(keep=9)
@pytest.mark.parametrize("scenario", sampled(list(scenarios()), 24))
def test_the_reference_keeps_the_law(scenario: str) -> None:
    judge = Judge(Reference(), twice=False)
    cases = CaseFilter(scenarios=(scenario,)).cases()
    failed = [(case, found) for case in cases for found in judge.result(case, [CONTENT]).verdicts]
    assert [entry for entry in failed if entry[1].outcome in ("fail", "error")] == []


def test_most_responses_have_a_reading() -> None:
    """The law is about regular traffic; an oracle that refuses everything would judge nothing."""
    judge = Judge(Reference(), twice=False)
    cases = list(CaseFilter(scenarios=("single-call", "*-thinking", "server-*"), policies=("all",)).cases())
    readings = sum(all(oracles.read(round.exchange) for round in judge.rounds(case)) for case in cases)
    assert readings == len(cases) > 40


def test_the_oracle_calls_no_reader_of_the_normalizer() -> None:
    allowed = {"toolparity.normalizer", "toolparity.normalizer.wires.registry"}
    for path in Path(oracles.__file__).parent.glob("*.py"):
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            if isinstance(node, ast.ImportFrom) and str(node.module).startswith("toolparity.normalizer"):
                assert node.module in allowed, path
                assert {alias.name for alias in node.names} <= {"json_codec", "spec"}, path


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
    (verdict,) = Judge(Changed(change, broken=True)).result(BROKEN, [LAWS["any-cut"]]).verdicts
    assert (verdict.outcome, verdict.effect) == ("fail", effect)
