"""Responses with several choices: each request is compared with the choice that it continues."""

from __future__ import annotations

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


def test_the_calls_of_the_continued_choice_alone_are_judged() -> None:
    for choices, number in (((FIRST, SECOND), 0), ((FIRST, SECOND), 1), ((TEXT, SECOND), 1)):
        kept, other = choices[number][0]["tool_calls"]
        report = audited(CHAT.wire, asked(*choices), continued(choices[number], kept["id"], other["id"]))
        figures = report.wires[CHAT.wire]
        unjudged = {"other-choice": 2} if choices[0] is FIRST else {}
        assert (codes(report), figures.answered, figures.unjudged) == ([], 2, unjudged)
        report = audited(CHAT.wire, asked(*choices), continued(choices[number], kept["id"]))
        assert [(finding.code, finding.call_id) for finding in report.findings] == [("dropped-in-fact", other["id"])]


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
