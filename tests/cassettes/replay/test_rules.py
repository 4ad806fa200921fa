"""A request that its provider would refuse is refused as the provider does, and one without a response says why."""

from __future__ import annotations

import json
from typing import Any

import openai
import pytest

from .conftest import Server, sent_body

TOOL = {"role": "tool", "tool_call_id": "call_1", "content": "21"}
OUTPUT = {"type": "function_call_output", "call_id": "call_1", "output": "21"}
RESULT = {"type": "tool_result", "tool_use_id": "toolu_1", "content": "21"}
CONVERSE = {"toolResult": {"toolUseId": "t", "content": [{"text": "21"}]}}
GEMINI = {"functionResponse": {"name": "f", "response": {"a": 1}}}


def user(part: Any) -> list[dict[str, Any]]:
    return [{"role": "user", "content": [part]}]


#: Address -> a body with a result but no call, and the words of the refusal. Sources: the request rules of each wire.
ORPHANS: dict[str, tuple[dict[str, Any], str]] = {
    "/v1/chat/completions": (
        {"model": "gpt-5-mini", "messages": [TOOL]},
        "must be a response to a preceeding message with 'tool_calls'",
    ),
    "/v1/responses": (
        {"model": "gpt-5-mini", "input": [OUTPUT]},
        "No tool call found for function call output with call_id call_1",
    ),
    "/v1/messages": (
        {"model": "claude-haiku-4-5", "max_tokens": 9, "messages": user(RESULT)},
        "there is no call toolu_1 for this result",
    ),
    "/model/us.anthropic.claude-haiku-4-5-20251001-v1%3A0/converse": ({"messages": user(CONVERSE)}, ""),
    "/v1beta/models/gemini-3-flash-preview:generateContent": ({"contents": [{"role": "user", "parts": [GEMINI]}]}, ""),
    "/v2/chat": ({"model": "command-a-03-2025", "messages": [TOOL]}, ""),
}


@pytest.mark.parametrize("path", ORPHANS)
def test_a_result_without_a_call_is_refused(server: Server, path: str) -> None:
    body, words = ORPHANS[path]
    for prefix in ("", "/scenario/text-only"):
        answer = server.post(prefix + path, json.dumps(body).encode())
        assert answer.status == 400
        assert words in answer.body.decode()
        assert "the request breaks the rule " in str(server.journal.entries[0].why)


def test_the_sdk_raises_the_providers_error(server: Server) -> None:
    client = openai.OpenAI(base_url=f"{server.url}/v1", api_key="any", max_retries=0)
    with pytest.raises(openai.BadRequestError, match="must be a response to a preceeding message") as refused:
        client.chat.completions.create(**ORPHANS["/v1/chat/completions"][0])
    assert refused.value.param == "messages"


def test_a_request_that_is_not_recorded_names_the_nearest(server: Server) -> None:
    body = json.loads(sent_body("openai.chat", False))
    body["messages"][-1]["content"] = "Something else"
    answer = server.post("/v1/chat/completions", json.dumps(body).encode())
    assert answer.status == 404
    message = answer.json["error"]["message"]
    assert "The nearest request, openai/openai.chat/parallel-three.yaml#1, differs in messages[" in message
    assert server.journal.entries[0].why == message
