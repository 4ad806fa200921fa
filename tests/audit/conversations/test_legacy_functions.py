"""Conversations with the legacy `function_call`, which has no id: its place and its name show which result it has."""

from __future__ import annotations

import json
from typing import Any

from tests.audit.conversations.built import CHAT, QUESTION, Body, Exchange, audited, codes

OTHER: Body = {"role": "user", "content": "Never mind."}
ANSWER: list[Body] = [{"role": "assistant", "content": "Dry."}]


def turn(name: str = "look_up2B4c8", **arguments: Any) -> Body:
    function = {"name": name, "arguments": json.dumps(arguments)}
    return {"role": "assistant", "content": None, "function_call": function}


def result(content: str = "dry", name: str = "look_up2B4c8") -> Body:
    return {"role": "function", "name": name, "content": content}


def called(history: list[Body], **arguments: Any) -> Exchange:
    response = CHAT.response([turn(**arguments)])
    response["choices"][0]["finish_reason"] = "function_call"
    return CHAT.request(*history), response


def ended(*history: Body) -> Exchange:
    return CHAT.request(*history), CHAT.response(ANSWER)


def test_a_call_is_judged() -> None:
    made, answer = turn(city="Faro"), result()
    other = [called([OTHER], city="Lagos"), ended(OTHER, turn(city="Lagos"), answer)]
    for following, expected in (
        ([made, answer], []),
        ([made, answer, OTHER], []),
        ([made, *ANSWER, OTHER], ["dropped-in-fact"]),
        ([made, OTHER], []),  # the text can be the result
        ([made, answer, answer], ["answered-twice"]),
        ([made, result(name="other")], ["unknown-call-answered"]),
        ([turn(city="Porto"), answer], ["calls-differ"]),
        ([made, OTHER, answer], ["answered-out-of-order"]),
        ([OTHER], []),
    ):
        report = audited(CHAT.wire, *other, called([QUESTION], city="Faro"), ended(QUESTION, *following))
        assert codes(report) == expected


def test_each_round_is_judged_alone_and_a_call_that_repeats_itself_is_reported() -> None:
    history, exchanges = [QUESTION], []
    for number in range(3):
        exchanges.append(called(history, number=number))
        history = [*history, turn(number=number), result(f"result {number}") if number != 1 else OTHER]
    report = audited(CHAT.wire, *exchanges, ended(*history))
    figures = report.wires[CHAT.wire]
    assert (codes(report), figures.answered, figures.accused) == (["dropped-in-fact"], 2, 1)
    same = [turn(city="Faro"), result()]
    repeated = [called([QUESTION, *same * number], city="Faro") for number in range(3)]
    assert codes(audited(CHAT.wire, *repeated, ended(QUESTION, *same * 3))) == ["repeated-call"]


def test_conversations_with_the_same_call_are_kept_apart() -> None:
    questions: list[Body] = [{"role": "user", "content": f"Is it dry in town {number}?"} for number in range(12)]
    ends = [ended(q, turn(city="Faro"), ANSWER[0] if n == 3 else result()) for n, q in enumerate(questions)]
    report = audited(CHAT.wire, *(called([q], city="Faro") for q in questions), *ends)
    assert [(f.code, f.response_place) for f in report.findings] == [("dropped-in-fact", "3")]
    assert report.wires[CHAT.wire].answered == 11


def test_a_history_may_be_rewritten_to_tool_calls() -> None:
    rewritten = [*CHAT.turn(CHAT.call("call_a1B2c3D4", city="Faro")), CHAT.result("call_a1B2c3D4")]
    rewritten[0]["tool_calls"][0]["function"]["name"] = "look_up2B4c8"
    report = audited(CHAT.wire, called([QUESTION], city="Faro"), ended(QUESTION, *rewritten))
    assert (codes(report), report.wires[CHAT.wire].unjudged) == ([], {"ids-replaced": 1})
