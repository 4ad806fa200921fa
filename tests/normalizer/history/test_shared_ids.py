"""Calls of a history that share an id or have none: each keeps the answer that is there for it (ID-09, ID-14)."""

from __future__ import annotations

from typing import Any

import pytest

from tests.normalizer.history.conversations import PROVIDERS
from tests.normalizer.history.views import results
from toolparity.normalizer.conversation import Encoded, TextPart, ToolResults
from toolparity.normalizer.requests import check_request, read_request, write_request

Body = dict[str, Any]
ASKED: Body = {"role": "user", "content": "hi"}


def responses(*ids: str, name: str = "f") -> Body:
    calls = [{"type": "function_call", "call_id": id, "name": name, "arguments": "{}"} for id in ids]
    outputs = [{"type": "function_call_output", "call_id": id, "output": f"R{n}"} for n, id in enumerate(ids)]
    return {"model": "m", "input": [ASKED, *calls, *outputs]}


def anthropic(*ids: str) -> Body:
    calls = [{"type": "tool_use", "id": id, "name": f"f{n}", "input": {}} for n, id in enumerate(ids)]
    answers = [{"type": "tool_result", "tool_use_id": id, "content": f"R{n}"} for n, id in enumerate(ids)]
    messages = [ASKED, {"role": "assistant", "content": calls}, {"role": "user", "content": answers}]
    return {"model": "m", "max_tokens": 9, "messages": messages}


def xai(*ids: str) -> Body:
    calls = [{"id": id, "type": 1, "function": {"name": f"f{n}", "arguments": "{}"}} for n, id in enumerate(ids)]
    answers = [{"role": "ROLE_TOOL", "content": [{"text": f"R{n}"}], "tool_call_id": id} for n, id in enumerate(ids)]
    said = {"role": "ROLE_ASSISTANT", "content": [{"text": ""}], "tool_calls": calls}
    return {"model": "m", "messages": [{"role": "ROLE_USER", "content": [{"text": "hi"}]}, said, *answers]}


def ollama(*ids: str) -> Body:
    calls = [{"id": id, "function": {"name": f"f{n}", "arguments": {}}} for n, id in enumerate(ids)]
    answers = [{"role": "tool", "content": f"R{n}", "tool_call_id": id} for n, id in enumerate(ids)]
    return {"model": "m", "messages": [ASKED, {"role": "assistant", "content": "", "tool_calls": calls}, *answers]}


def interactions(*ids: str) -> Body:
    calls = [{"type": "function_call", "id": id, "name": f"f{n}", "arguments": {}} for n, id in enumerate(ids)]
    answers = [
        {"type": "function_result", "call_id": id, "name": f"f{n}", "result": f"R{n}"} for n, id in enumerate(ids)
    ]
    asked = {"type": "user_input", "content": [{"type": "text", "text": "hi"}]}
    return {"model": "m", "input": [asked, *calls, *answers]}


SHARED = {
    "openai.responses": responses("a", "a"),
    "anthropic.messages": anthropic("a", "a"),
    "xai.grpc": xai("a", "a"),
    "ollama.chat": ollama("a", "a"),
    "google.interactions": interactions("a", "a"),
}
EMPTY = {
    "openai.responses": responses("", ""),
    "anthropic.messages": anthropic("", ""),
    "xai.grpc": xai("", ""),
    "ollama.chat": ollama("", ""),
    "google.interactions": interactions("", ""),
}


def words_of(turn: ToolResults) -> list[str]:
    return [part.text for result in turn.results for part in result.parts if isinstance(part, TextPart)]


@pytest.mark.thorough(keep=2, per="{target}")
@pytest.mark.parametrize("target", PROVIDERS)
@pytest.mark.parametrize("given", [SHARED, EMPTY], ids=["shared", "empty"])
@pytest.mark.parametrize("source", SHARED)
def test_every_call_keeps_its_own_answer_on_every_wire(source: str, given: dict[str, Body], target: str) -> None:
    request = read_request(given[source], source, provider=PROVIDERS[source])
    answers = request.messages[-1]
    assert isinstance(answers, ToolResults)
    assert words_of(answers) == ["R0", "R1"]
    written: Encoded = write_request(request, target, provider=PROVIDERS[target])
    told = results(target, written.body)
    assert [text for _, text in told] == ["R0", "R1"]
    assert len({id for id, _ in told}) == 2
    assert {loss.code for loss in written.losses} <= {"param", "default"}
    assert check_request(written.body, target, provider=PROVIDERS[target]) == []


def test_the_very_same_call_twice_is_two_calls_of_a_history() -> None:
    request = read_request(responses("a", "a"), "openai.responses", provider="openai")
    written = write_request(request)
    calls = [item["call_id"] for item in written.body["input"] if item.get("type") == "function_call"]
    assert [id for id, _ in results("openai.responses", written.body)] == calls
    assert len(set(calls)) == 2
    assert written.losses == []


def test_a_call_without_an_answer_among_those_that_share_an_id_is_told() -> None:
    body = responses("a", "a", name="g")
    del body["input"][-1]
    written = write_request(read_request(body, "openai.responses", provider="openai"))
    told = [text for _, text in results("openai.responses", written.body)]
    assert told[0] == "R0"
    assert "not executed" in told[1]
    assert [loss.code for loss in written.losses] == ["answered"]
