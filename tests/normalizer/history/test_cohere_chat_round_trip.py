"""Recorded requests of Cohere, read and written back, say what they said; those of version 1 become version 2."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.normalizer.history.cohere_chat_meaning import meaning
from tests.normalizer.recorded.rows import Row, rows
from toolparity.normalizer.conversation import Assistant, JsonPart, System, ToolResults, User
from toolparity.normalizer.requests import check_request, read_request, write_request

WIRE = "cohere.chat"
CALL = {"id": "f_1", "type": "function", "function": {"name": "f", "arguments": '{"x": 1}'}}
V1: dict[str, Any] = {
    "model": "command-r",
    "preamble": "Be brief.",
    "chat_history": [
        {"role": "USER", "message": "Hello"},
        {"role": "CHATBOT", "message": "I will ask.", "tool_calls": [{"name": "sales", "parameters": {"day": "1"}}]},
        {
            "role": "TOOL",
            "tool_results": [{"call": {"name": "sales", "parameters": {"day": "1"}}, "outputs": [{"n": 3}]}],
        },
        {"role": "CHATBOT", "message": "Three."},
    ],
    "message": "And yesterday?",
    "tools": [
        {
            "name": "sales",
            "description": "Sales of a day.",
            "parameter_definitions": {
                "day": {"type": "str", "description": "The day.", "required": True},
                "shops": {"type": "List[int]"},
            },
        }
    ],
    "connectors": [{"id": "web-search"}],
    "temperature": 0.3,
}


def is_v1(row: Row) -> bool:
    return "messages" not in row.request


def test_recorded_requests_mean_the_same_when_read_and_written(
    recordings: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    found = [row for row in rows(recordings, WIRE) if not is_v1(row)]
    for row in found:
        written = write_request(read_request(row.request, WIRE, provider="cohere"))
        assert meaning(written.body) == meaning(row.request), row.id
        assert written.losses == [], row.id
    assert len(found) >= 85
    with capsys.disabled():
        print(f"\n  {WIRE}: {len(found)} of {len(found)} requests of version 2 equal", end="")


def test_what_was_answered_keeps_the_rules_before_and_after(recordings: Path) -> None:
    for row in rows(recordings, WIRE):
        if row.failed:
            continue
        assert check_request(row.request, WIRE) == [], row.id
        body = write_request(read_request(row.request, WIRE, provider="cohere")).body
        unnamed = is_v1(row) and "model" not in row.request  # version 1 had a default
        assert [found.rule for found in check_request(body, WIRE)] == ["model-present"] * unnamed, row.id


def test_a_request_of_version_1_becomes_one_of_version_2() -> None:
    request = read_request(V1, WIRE)
    assert [type(message) for message in request.messages] == [System, User, Assistant, ToolResults, Assistant, User]
    encoded = write_request(request)
    assert check_request(encoded.body, WIRE) == []
    messages = encoded.body["messages"]
    assert [message["role"] for message in messages] == ["system", "user", "assistant", "tool", "assistant", "user"]
    (call,) = messages[2]["tool_calls"]
    assert json.loads(call["function"]["arguments"]) == {"day": "1"}
    assert messages[3]["tool_call_id"] == call["id"]
    assert messages[3]["content"] == [{"type": "document", "document": {"data": {"n": 3}}}]
    (tool,) = encoded.body["tools"]
    assert tool["function"]["parameters"] == {
        "type": "object",
        "properties": {
            "day": {"type": "string", "description": "The day."},
            "shops": {"type": "array", "items": {"type": "integer"}},
        },
        "required": ["day"],
    }
    assert [(loss.code, loss.message.split()[0]) for loss in encoded.losses] == [("param", "connectors")]


def test_results_of_version_1_without_their_calls_get_them() -> None:
    result = {"call": {"name": "sales", "parameters": {}}, "outputs": [{"n": 3}]}
    request = read_request({"message": "How many?", "tool_results": [result, result]}, WIRE)
    assert [type(message) for message in request.messages] == [User, Assistant, ToolResults]
    assistant, results = request.messages[1:]
    assert isinstance(assistant, Assistant)
    assert isinstance(results, ToolResults)
    assert [call.id for call in assistant.response.calls] == [answer.call_id for answer in results.results]
    assert len({answer.call_id for answer in results.results}) == 2


def test_documents_go_back_as_they_were_and_elsewhere_as_json() -> None:
    document = {"id": "d", "data": {"title": "t", "text": "x"}}
    body = {
        "model": "m",
        "messages": [
            {"role": "user", "content": "hi"},
            {"role": "assistant", "tool_plan": "I will look.", "tool_calls": [CALL]},
            {"role": "tool", "tool_call_id": "f_1", "content": [{"type": "document", "document": document}]},
        ],
    }
    request = read_request(body, WIRE)
    results = request.messages[-1]
    assert isinstance(results, ToolResults)
    (part,) = results.results[0].parts
    assert isinstance(part, JsonPart)
    assert part.value == document
    assert write_request(request).body == body
    other = write_request(request, "openai.chat")
    assert json.loads(other.body["messages"][-1]["content"]) == document
    assert [loss.code for loss in other.losses] == ["reasoning"]


def test_citations_go_back_to_the_message_they_came_from() -> None:
    citations = [
        {"start": 0, "end": 1, "text": "I", "type": "PLAN"},
        {"start": 0, "end": 2, "text": "hm", "content_index": 0, "type": "THINKING_CONTENT"},
        {"start": 0, "end": 3, "text": "Yes", "content_index": 1, "type": "TEXT_CONTENT"},
    ]
    message = {
        "role": "assistant",
        "tool_plan": "I will look.",
        "content": [{"type": "thinking", "thinking": "hm"}, {"type": "text", "text": "Yes."}],
        "citations": citations,
    }
    body = {"model": "m", "messages": [{"role": "user", "content": "hi"}, message]}
    assert write_request(read_request(body, WIRE)).body == body


def test_strict_tools_concern_all_tools() -> None:
    tool = {"type": "function", "function": {"name": "f", "parameters": {"type": "object", "properties": {}}}}
    body = {"model": "m", "messages": [{"role": "user", "content": "hi"}], "tools": [tool], "strict_tools": True}
    request = read_request(body, WIRE)
    assert [definition.strict for definition in request.tools] == [True]
    assert write_request(request).body == body


@pytest.mark.parametrize("form", [dict, str, bytes], ids=["parsed", "text", "bytes"])
def test_every_form_of_a_request_is_read_alike(form: type) -> None:
    body = {
        "model": "m",
        "messages": [
            {"role": "user", "content": "hi"},
            {"role": "assistant", "tool_calls": [CALL]},
            {"role": "tool", "tool_call_id": "f_1", "content": "ok"},
        ],
    }
    text = json.dumps(body)
    given = body if form is dict else text if form is str else text.encode()
    assert write_request(read_request(given, WIRE)).body == body
