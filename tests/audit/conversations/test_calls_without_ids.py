"""Calls without ids: the history of the next request is matched with the response by position.

Most calls of Gemini have none, and clients of Ollama leave out those that the server gave.
"""

from __future__ import annotations

import json
from itertools import combinations
from typing import Any

import pytest

from tests.audit.conversations.built import Body
from toolparity import Wire, normalize
from toolparity.audit.conversations import ConversationAudit, ConversationReport
from toolparity.audit.conversations.records import ExchangeRecord, record
from toolparity.normalizer.requests import read_request, write_request

WIRE: Wire = "google.gemini"
CALLS = [{"functionCall": {"name": "f", "args": {"x": number}}} for number in (1, 2)]
ASKED = {"role": "user", "parts": [{"text": "hi"}]}
RESULTS = [{"functionResponse": {"name": "f", "response": {"output": text}}} for text in ("one", "two")]


def exchange(contents: list[Any], response_id: str, calls: list[Any] = CALLS) -> ExchangeRecord:
    parts = calls or [{"text": "Done."}]
    candidate = {"content": {"role": "model", "parts": parts}, "finishReason": "STOP"}
    body = {"candidates": [candidate], "responseId": response_id, "modelVersion": "m"}
    request = read_request({"contents": contents}, WIRE)
    return record(response_id, WIRE, request, normalize(json.dumps(body), WIRE))


def gemini(rounds: int) -> list[ExchangeRecord]:
    """Return the records of a conversation whose first round has two calls, and each other round one."""
    contents, records = [ASKED], []
    for number in range(rounds + 1):
        calls, results = (CALLS, RESULTS) if not number else ([CALLS[0]], [RESULTS[number % 2]])
        records.append(exchange(list(contents), f"r{number}", calls if number < rounds else []))
        contents += [{"role": "model", "parts": calls}, {"role": "user", "parts": results}]
    return records


def audited(records: list[ExchangeRecord]) -> ConversationReport:
    audit = ConversationAudit()
    for one in records:
        audit.add(one)
    return audit.finish()


def test_a_conversation_without_ids_is_linked_and_its_lost_exchanges_accuse_no_correct_agent() -> None:
    records = gemini(3)
    report = audited(records)
    figures = report.wires[WIRE]
    assert (report.findings, figures.linked, figures.calls, figures.answered) == ([], 3, 4, 4)
    for kept in [*combinations(records, 2), *combinations(records, 3)]:
        assert audited([*kept]).findings == []


def test_a_result_of_no_call_is_a_second_one_of_its_tool_or_has_no_id() -> None:
    for results, code, message in (
        ([*RESULTS, RESULTS[1]], "answered-twice", "_0_1) has a further result"),
        ([RESULTS[0], {"functionResponse": {"name": "g", "response": {}}}], "unknown-call-answered", "names no id"),
    ):
        history = [ASKED, {"role": "model", "parts": CALLS}, {"role": "user", "parts": results}]
        [found] = audited([exchange([ASKED], "r1"), exchange(history, "r2", [])]).findings
        assert found.code == code
        assert message in found.message
        written = write_request(read_request({"contents": history}, WIRE), "openai.chat")
        assert "a result that belongs to no call" in [loss.message for loss in written.losses]


#: A server of Ollama gives ids to calls, and its clients leave them out.
CITY_QUESTION: Body = {"role": "user", "content": "Is it dry?"}


def ollama_call(city: str, **id: str) -> Body:
    return id | {"function": {"name": "get_weather", "arguments": {"city": city}}}


def ollama_exchange(*history: Body, calls: list[Body] | None = None) -> ExchangeRecord:
    message = {"role": "assistant", "content": "", "tool_calls": calls or []}
    body = {"model": "m", "created_at": f"{len(history)}", "message": message, "done": True, "done_reason": "stop"}
    request = read_request({"model": "m", "messages": [CITY_QUESTION, *history]}, "ollama.chat")
    return record(str(len(history)), "ollama.chat", request, normalize(json.dumps(body), "ollama.chat"))


def ollama_history(cities: list[str], results: list[str]) -> list[Body]:
    turn = {"role": "assistant", "tool_calls": [ollama_call(city) for city in cities]}
    return [turn, *({"role": "tool", "tool_name": "get_weather", "content": text} for text in results)]


@pytest.mark.parametrize(
    ("cities", "results", "expected"),
    [
        (["Faro", "Porto"], ["dry", "wet"], []),
        (["Porto", "Faro"], ["wet", "dry"], []),
        (["Faro", "Porto"], ["dry"], ["dropped-in-fact"]),
    ],
)
def test_an_agent_that_leaves_the_ids_out_is_judged(cities: list[str], results: list[str], expected: list[str]) -> None:
    calls = [ollama_call("Faro", id="call_a1b2c3d4"), ollama_call("Porto", id="call_e5f6g7h8")]
    history = ollama_history(cities, results)
    again = ollama_exchange(*history, calls=[ollama_call("Faro", id="call_i9j0k1l2")])
    last = ollama_exchange(*history, *ollama_history(["Faro"], ["dry"]))
    report = audited([ollama_exchange(calls=calls), again, last])
    figures = report.wires["ollama.chat"]
    assert [finding.code for finding in report.findings] == expected
    assert (figures.linked, figures.calls, figures.answered) == (2, 3, 3 - len(expected))
    assert figures.unjudged == {}


@pytest.mark.parametrize(("cities", "results"), [(["Faro"], ["dry"]), (["Faro", "Lagos"], ["dry", "wet"])])
def test_other_calls_without_ids_are_only_noted(cities: list[str], results: list[str]) -> None:
    calls = [ollama_call("Faro", id="call_a1b2c3d4"), ollama_call("Porto", id="call_e5f6g7h8")]
    report = audited([ollama_exchange(calls=calls), ollama_exchange(*ollama_history(cities, results))])
    assert [finding.code for finding in report.findings] == ["calls-differ"]
    assert report.wires["ollama.chat"].unjudged == {"ambiguous": 2}


def test_a_call_of_gemini_that_is_left_out_is_the_one_that_is_named() -> None:
    calls: list[Body] = [{"functionCall": {"name": "f", "args": {"x": number}}} for number in range(3)]
    calls[0]["thoughtSignature"] = "c2lnbmVkQnlHZW1pbmk="
    asked, kept = exchange([ASKED], "r1", calls), [calls[0], calls[2]]
    for results, expected in ((RESULTS, []), ([*RESULTS, RESULTS[1]], ["answered-twice"])):
        history = [ASKED, {"role": "model", "parts": kept}, {"role": "user", "parts": results}]
        report = audited([asked, exchange(history, "r2", [])])
        assert sorted(finding.code for finding in report.findings) == [*expected, "dropped-in-fact"]
        (dropped,) = [finding for finding in report.findings if finding.code == "dropped-in-fact"]
        assert "_0_1) was dropped: the history omits it" in dropped.message
