"""Calls of a history that share an id or have none: each keeps the result that is there for it (ID-09, ID-14)."""

from __future__ import annotations

from typing import Any

import pytest

from tests.normalizer.history.conversations import PROVIDERS
from tests.normalizer.history.views import results
from toolparity.normalizer.requests import check_request, read_request, write_request

Body = dict[str, Any]
ASKED: Body = {"role": "user", "content": "hi"}


def responses(id: str, name: str = "f") -> Body:
    calls = [{"type": "function_call", "call_id": id, "name": name, "arguments": "{}"}] * 2
    outputs = [{"type": "function_call_output", "call_id": id, "output": text} for text in ("R0", "R1")]
    return {"model": "m", "input": [ASKED, *calls, *outputs]}


def anthropic(id: str) -> Body:
    calls = [{"type": "tool_use", "id": id, "name": name, "input": {}} for name in ("f0", "f1")]
    answers = [{"type": "tool_result", "tool_use_id": id, "content": text} for text in ("R0", "R1")]
    messages = [ASKED, {"role": "assistant", "content": calls}, {"role": "user", "content": answers}]
    return {"model": "m", "max_tokens": 9, "messages": messages}


def xai(id: str) -> Body:
    calls = [{"id": id, "type": 1, "function": {"name": name, "arguments": "{}"}} for name in ("f0", "f1")]
    answers = [{"role": "ROLE_TOOL", "content": [{"text": text}], "tool_call_id": id} for text in ("R0", "R1")]
    called = {"role": "ROLE_ASSISTANT", "content": [{"text": ""}], "tool_calls": calls}
    return {"model": "m", "messages": [{"role": "ROLE_USER", "content": [{"text": "hi"}]}, called, *answers]}


def ollama(id: str) -> Body:
    calls = [{"id": id, "function": {"name": name, "arguments": {}}} for name in ("f0", "f1")]
    answers = [{"role": "tool", "content": text, "tool_call_id": id} for text in ("R0", "R1")]
    return {"model": "m", "messages": [ASKED, {"role": "assistant", "content": "", "tool_calls": calls}, *answers]}


def interactions(id: str) -> Body:
    calls = [{"type": "function_call", "id": id, "name": name, "arguments": {}} for name in ("f0", "f1")]
    answers = [{"type": "function_result", "call_id": id, "name": f"f{n}", "result": f"R{n}"} for n in range(2)]
    return {
        "model": "m",
        "input": [{"type": "user_input", "content": [{"type": "text", "text": "hi"}]}, *calls, *answers],
    }


SOURCES = {"openai.responses": responses, "anthropic.messages": anthropic, "xai.grpc": xai, "ollama.chat": ollama}
SOURCES |= {"google.interactions": interactions}


@pytest.mark.thorough(keep=2, per="{target}")
@pytest.mark.parametrize("target", PROVIDERS)
@pytest.mark.parametrize("id", ["a", ""], ids=["shared", "empty"])
@pytest.mark.parametrize("source", SOURCES)
def test_every_call_keeps_its_result_on_every_wire(source: str, id: str, target: str) -> None:
    request = read_request(SOURCES[source](id), source, provider=PROVIDERS[source])
    written = write_request(request, target, provider=PROVIDERS[target])
    found = results(target, written.body)
    assert [text for _, text in found] == ["R0", "R1"]
    assert len({id for id, _ in found}) == 2
    assert {loss.code for loss in written.losses} <= {"param", "default"}
    assert check_request(written.body, target, provider=PROVIDERS[target]) == []


def test_a_call_without_a_result_among_those_that_share_an_id_is_reported() -> None:
    body = responses("a", name="g")
    del body["input"][-1]
    written = write_request(read_request(body, "openai.responses", provider="openai"))
    first, second = results("openai.responses", written.body)
    assert first[1] == "R0"
    assert "not executed" in second[1]
    assert [loss.code for loss in written.losses] == ["answered"]
