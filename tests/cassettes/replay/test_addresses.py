"""Every wire is served where its provider has it, and refuses as its provider does."""

from __future__ import annotations

import base64
import json
import re
from typing import Any

import openai
import pytest

from toolparity.cassettes.replay.addresses import addresses
from toolparity.cassettes.replay.response_index import ResponseIndex
from toolparity.cassettes.surfaces import SURFACES

from .conftest import Server, answer_body, sent_body

_BEDROCK_ID = "us.anthropic.claude-haiku-4-5-20251001-v1%3A0"
_VERTEX = "/v1/projects/a-project/locations/us-central1/publishers"
_GEMINI = "models/gemini-3-flash-preview"
#: Surface -> addresses without and with a stream, as the providers document them.
ADDRESSES: dict[str, tuple[list[str], list[str]]] = {
    "openai.chat": (
        ["/v1/chat/completions", "/openai/deployments/any-name/chat/completions?api-version=2024-10-21"],
        ["/openai/v1/chat/completions", "/azure/openai/deployments/any-name/chat/completions?api-version=2024-10-21"],
    ),
    "openai.responses": (["/v1/responses"], ["/openai/responses?api-version=2025-03-01-preview"]),
    "anthropic.messages": (
        ["/v1/messages", f"{_VERTEX}/anthropic/models/claude-haiku-4-5@20251001:rawPredict"],
        ["/anthropic/v1/messages", f"/vertex{_VERTEX}/anthropic/models/claude-haiku-4-5:streamRawPredict"],
    ),
    "google.gemini": (
        [f"/v1beta/{_GEMINI}:generateContent?key=any", f"{_VERTEX}/google/{_GEMINI}:generateContent"],
        [f"/v1beta/{_GEMINI}:streamGenerateContent?alt=sse", f"/google/v1/{_GEMINI}:streamGenerateContent?alt=sse"],
    ),
    "google.interactions": (["/v1beta/interactions"], ["/google/v1/interactions"]),
    "bedrock.converse": (
        [f"/model/{_BEDROCK_ID}/converse", "/model/arn%3Aaws%3Abedrock%3Aus-east-1%3A1%3Aprompt-router%2Fx/converse"],
        [f"/bedrock/model/{_BEDROCK_ID}/converse-stream"],
    ),
    "ollama.chat": (["/api/chat"], ["/ollama/api/chat"]),
    "cohere.chat": (["/v2/chat"], ["/cohere/v2/chat"]),
    "xai.chat": (["/v1/chat/completions"], ["/xai/v1/chat/completions"]),
    "xai.responses": ([], ["/v1/responses"]),
}


def test_a_recorded_request_gets_its_response_at_the_address_of_the_provider(server: Server) -> None:
    for surface, (plain, streamed) in ADDRESSES.items():
        for path, stream in [*((path, False) for path in plain), *((path, True) for path in streamed)]:
            answer = server.post(path, sent_body(surface, stream))
            assert (answer.status, answer.body) == (200, answer_body(surface, stream)), path
            assert server.journal.entries[0].surface == surface


def test_every_address_of_the_table_answers(server: Server, index: ResponseIndex) -> None:
    asked = 0
    for address in addresses(index.surfaces):
        path = re.sub(r"{\w+(:path)?}", "x", address.path)
        for surface in address.surfaces:
            for stream in (False, True) if address.stream is None else (address.stream,):
                answer = server.post(path, sent_body(surface.name, stream))
                assert answer.status == 200, (address.path, answer.body)
                entry = server.journal.entries[0]
                assert entry.surface == surface.name
                assert entry.cassette == answer.headers["x-toolparity-cassette"]
                asked += 1
    assert asked >= 60


def test_claude_on_bedrock_streams_the_recorded_events_in_an_aws_event_stream(server: Server) -> None:
    body = json.loads(sent_body("anthropic.messages", True))
    del body["model"], body["stream"]
    body["anthropic_version"] = "bedrock-2023-05-31"
    answer = server.post(f"/model/{_BEDROCK_ID}/invoke-with-response-stream", json.dumps(body).encode())
    assert answer.headers["content-type"] == "application/vnd.amazon.eventstream"
    sent = answer_body("anthropic.messages", True).decode()
    payloads = [line.removeprefix("data: ") for line in sent.splitlines() if line.startswith("data: ")]
    found = re.findall(rb'\{"bytes":"([^"]+)"\}', answer.body)
    assert [base64.b64decode(chunk).decode() for chunk in found] == payloads


def test_claude_on_bedrock_refuses_in_the_form_of_bedrock(server: Server) -> None:
    body = {"anthropic_version": "bedrock-2023-05-31", "max_tokens": 9, "messages": []}
    answer = server.post(f"/model/{_BEDROCK_ID}/invoke", json.dumps(body).encode())
    assert answer.status == 400
    assert answer.json.keys() == {"message"}
    assert answer.headers["x-amzn-errortype"].startswith("ValidationException")


@pytest.mark.parametrize(
    ("path", "headers", "names"),
    [
        ("/v1/models", {}, lambda body: [entry["id"] for entry in body["data"]]),
        ("/v1/models", {"anthropic_version": "2023-06-01"}, lambda body: [body["first_id"]]),
        ("/v1/models", {"x_fern_language": "JavaScript"}, lambda body: [entry["name"] for entry in body["models"]]),
        ("/v1beta/models", {}, lambda body: [entry["name"].split("/")[1] for entry in body["models"]]),
        ("/openai/models", {}, lambda body: [entry["id"] for entry in body["data"]]),
        ("/api/tags", {}, lambda body: [entry["model"] for entry in body["models"]]),
        ("/foundation-models", {}, lambda body: [entry["modelId"] for entry in body["modelSummaries"]]),
        ("/xai/v1/models", {}, lambda body: [entry["id"] for entry in body["data"]]),
    ],
)
def test_the_models_are_listed_in_the_providers_form(server: Server, path: str, headers: dict[str, str], names) -> None:  # type: ignore[no-untyped-def]
    answer = server.request("GET", path, **headers)
    models = {surface.model for surface in SURFACES.values()}
    listed = names(answer.json)
    assert listed
    assert set(listed) <= models


def test_an_unknown_path_names_the_nearest_addresses(server: Server) -> None:
    answer = server.post("/v1/chat/completion", b"{}")
    assert answer.status == 404
    assert "The nearest addresses are /v1/chat/completions" in answer.json["error"]["message"]
    message = server.post("/bedrock/model/x/convers", b"{}").json["message"]
    assert message.startswith("Invalid URL (POST /model/x/convers)")


def test_a_wrong_method_names_the_right_one(server: Server) -> None:
    answer = server.request("GET", "/v1/chat/completions")
    assert (answer.status, answer.headers["allow"]) == (405, "POST")
    assert "This address takes POST" in answer.json["error"]["message"]


# The rules of requests

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
