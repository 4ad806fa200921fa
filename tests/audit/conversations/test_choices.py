"""Responses with several choices: each request is compared with the choice that it continues."""

from __future__ import annotations

import pytest

from tests.audit.conversations.built import CHAT, ONE, QUESTION, THREE, TWO, Body, Exchange, audited, codes

FIRST = CHAT.turn(CHAT.call(ONE, x=1), CHAT.call(TWO, x=2))
SECOND = CHAT.turn(CHAT.call(THREE, x=3), CHAT.call("call_m3N4o5P6", x=4))
TEXT: list[Body] = [{"role": "assistant", "content": "It is dry."}]


def continued(choice: list[Body], *answered: str) -> Exchange:
    """Return the exchange that continues a choice with results for these ids."""
    results = [CHAT.result(id) for id in answered]
    return CHAT.request(QUESTION, *choice, *results, {"role": "user", "content": "So?"}), CHAT.response(TEXT)


def asked(*choices: list[Body]) -> Exchange:
    return CHAT.request(QUESTION, n=len(choices)), CHAT.response(*choices)


@pytest.mark.parametrize("number", [0, 1])
def test_the_calls_of_the_other_choices_are_not_judged(number: int) -> None:
    choice, ids = [(FIRST, (ONE, TWO)), (SECOND, (THREE, "call_m3N4o5P6"))][number]
    report = audited(CHAT.wire, asked(FIRST, SECOND), continued(choice, *ids))
    figures = report.wires[CHAT.wire]
    assert (codes(report), figures.answered, figures.unjudged) == ([], 2, {"other-choice": 2})


@pytest.mark.parametrize(("choices", "number"), [((FIRST, SECOND), 0), ((FIRST, SECOND), 1), ((TEXT, SECOND), 1)])
def test_a_call_of_any_choice_is_convicted(choices: tuple[list[Body], ...], number: int) -> None:
    choice = choices[number]
    kept, lost = choice[0]["tool_calls"]
    report = audited(CHAT.wire, asked(*choices), continued(choice, kept["id"]))
    assert [(finding.code, finding.call_id) for finding in report.findings] == [("dropped-in-fact", lost["id"])]


def test_a_choice_that_the_application_changes_is_compared_with_itself() -> None:
    changed = CHAT.turn(CHAT.call(THREE, x=5), *SECOND[0]["tool_calls"][1:])
    report = audited(CHAT.wire, asked(FIRST, SECOND), continued(changed, THREE, "call_m3N4o5P6"))
    assert codes(report) == ["arguments-altered"]


def test_several_choices_may_be_continued() -> None:
    both = audited(
        CHAT.wire, asked(FIRST, SECOND), continued(SECOND, THREE, "call_m3N4o5P6"), continued(FIRST, ONE, TWO)
    )
    assert (codes(both), both.wires[CHAT.wire].answered) == ([], 4)
    one_dropped = audited(CHAT.wire, asked(FIRST, SECOND), continued(SECOND, THREE), continued(FIRST, ONE, TWO))
    assert codes(one_dropped) == ["dropped-in-fact"]


def test_counted_ids_lead_to_the_choice_with_the_same_calls() -> None:
    first = CHAT.turn(CHAT.call("call_0"), CHAT.call("call_1", x=1))
    second = CHAT.turn(CHAT.call("call_0"))
    report = audited(CHAT.wire, asked(first, second), continued(second, "call_0"))
    assert (codes(report), report.wires[CHAT.wire].unjudged) == ([], {"other-choice": 2})


def test_a_choice_that_a_filter_cut_need_not_be_answered() -> None:
    question, response = asked(FIRST, SECOND)
    response["choices"][1]["finish_reason"] = "content_filter"
    report = audited(CHAT.wire, (question, response), continued(SECOND, THREE))
    assert (codes(report), report.wires[CHAT.wire].unjudged) == ([], {"other-choice": 2, "unfinished": 1})


def test_a_choice_that_the_newest_exchange_first_shows_is_judged() -> None:
    report = audited(CHAT.wire, continued(SECOND, THREE), asked(FIRST, SECOND))
    assert codes(report) == ["dropped-in-fact"]
