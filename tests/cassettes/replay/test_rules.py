"""A request that its provider would refuse is refused as the provider does, and one without a response says why."""

from __future__ import annotations

import json
from typing import Any

import openai
import pytest

from .conftest import Server, answer_body, sent_body

#: Address, a body with a result but no call, and the words of the refusal. Sources: the request rules of each wire.
ORPHANS: list[tuple[str, dict[str, Any], str]] = [
    (
        "/v1/chat/completions",
        {"model": "gpt-5-mini", "messages": [{"role": "tool", "tool_call_id": "call_1", "content": "21"}]},
        "must be a response to a preceeding message with 'tool_calls'",
    ),
    (
        "/v1/responses",
        {"model": "gpt-5-mini", "input": [{"type": "function_call_output", "call_id": "call_1", "output": "21"}]},
        "No tool call found for function call output with call_id call_1",
    ),
    (
        "/v1/messages",
        {
            "model": "claude-haiku-4-5",
            "max_tokens": 9,
            "messages": [
                {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "toolu_1", "content": "21"}]}
            ],
        },
        "there is no call toolu_1 for this result",
    ),
    (
        "/model/us.anthropic.claude-haiku-4-5-20251001-v1%3A0/converse",
        {
            "messages": [
                {"role": "user", "content": [{"toolResult": {"toolUseId": "t", "content": [{"text": "21"}]}}]},
            ]
        },
        "",
    ),
    (
        "/v1beta/models/gemini-3-flash-preview:generateContent",
        {"contents": [{"role": "user", "parts": [{"functionResponse": {"name": "f", "response": {"a": 1}}}]}]},
        "",
    ),
    (
        "/v2/chat",
        {
            "model": "command-a-03-2025",
            "messages": [{"role": "tool", "tool_call_id": "c", "content": "21"}],
        },
        "",
    ),
]


@pytest.mark.parametrize("prefix", ["", "/scenario/text-only"])
@pytest.mark.parametrize(("path", "body", "words"), ORPHANS, ids=[path for path, _, _ in ORPHANS])
def test_a_result_without_a_call_is_refused(
    server: Server, path: str, body: dict[str, Any], words: str, prefix: str
) -> None:
    answer = server.post(prefix + path, json.dumps(body).encode())
    assert answer.status == 400
    assert words in answer.body.decode()
    assert "the request breaks the rule " in str(server.journal.entries[0].why)


def test_the_sdk_raises_the_providers_error(server: Server) -> None:
    client = openai.OpenAI(base_url=f"{server.url}/v1", api_key="any", max_retries=0)
    with pytest.raises(openai.BadRequestError, match="must be a response to a preceeding message") as refused:
        client.chat.completions.create(**ORPHANS[0][1])
    assert refused.value.param == "messages"


def test_a_recorded_request_wins_over_the_rules(server: Server) -> None:
    body = sent_body("openai.chat", False)
    assert server.post("/v1/chat/completions", body).body == answer_body("openai.chat", False)


def test_a_request_that_is_not_recorded_names_the_nearest(server: Server) -> None:
    body = json.loads(sent_body("openai.chat", False))
    body["messages"][-1]["content"] = "Something else"
    answer = server.post("/v1/chat/completions", json.dumps(body).encode())
    assert answer.status == 404
    message = answer.json["error"]["message"]
    assert "The nearest request, openai/openai.chat/parallel-three.yaml#1, differs in messages[" in message
    assert server.journal.entries[0].why == message
