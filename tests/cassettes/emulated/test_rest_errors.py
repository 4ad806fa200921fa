"""The emulated HTTP endpoints of OpenAI and xAI refuse as the providers do, in HTTP and in the SDK."""

from __future__ import annotations

import json
from typing import Any

import httpx2
import openai
import pytest

from tests.cassettes.emulated.callers import REST_SURFACES, Sdk, answered, opening, resource
from tests.cassettes.emulated.script_library import TEXT
from toolparity import normalize
from toolparity.cassettes.emulated.openai_rest import error
from toolparity.cassettes.emulated.script_player import ProviderRefusal
from toolparity.cassettes.emulated.servers import Servers
from toolparity.cassettes.surfaces import SURFACES, Surface
from toolparity.normalizer.wires.openai_chat.rules import RULES as CHAT_RULES
from toolparity.normalizer.wires.openai_responses.rules import RULES as RESPONSES_RULES

each_surface = pytest.mark.parametrize("surface", REST_SURFACES, ids=lambda surface: surface.name)
PATHS = {"openai.chat": "/chat/completions", "openai.responses": "/responses"}
JSON = {"authorization": "Bearer any", "content-type": "application/json"}


def post(servers: Servers, surface: Surface, content: Any, headers: dict[str, str] = JSON) -> httpx2.Response:
    data = content if isinstance(content, bytes) else json.dumps(content).encode()
    return httpx2.post(servers.base(surface) + PATHS[surface.wire], content=data, headers=headers)


def message(surface: Surface, response: httpx2.Response) -> str:
    """The message of an error, whose body must have the provider's members."""
    body = response.json()
    assert response.headers["content-type"] == "application/json"
    if surface.provider == "xai":
        assert (sorted(body), type(body["code"])) == (["code", "error"], str)
        return str(body["error"])
    assert list(body) == ["error"]
    assert list(body["error"]) == ["message", "type", "param", "code"]
    return str(body["error"]["message"])


@each_surface
def test_a_scripted_refusal_is_raised_by_the_sdk_and_read_by_the_normalizer(openai_sdk: Sdk, surface: Surface) -> None:
    for id, raised, status, wait in (
        ("rate_limit", openai.RateLimitError, 429, "3"),
        ("overloaded", openai.InternalServerError, 503, None),
        ("server_error", openai.InternalServerError, 500, None),
    ):
        for stream in (False, True):
            with pytest.raises(raised) as caught:
                resource(openai_sdk(surface), surface).create(**opening(surface, id, stream=stream))
            response = caught.value.response
            assert (response.status_code, response.headers.get("retry-after")) == (status, wait)
            read = normalize(response.content, surface.wire, provider=surface.provider, status=status).error
            assert read is not None
            assert (read.message, read.retryable) == (message(surface, response), True)


@each_surface
def test_the_sdk_retries_a_refusal_by_itself(servers: Servers, surface: Surface) -> None:
    sent: list[Any] = []
    with (
        httpx2.Client(event_hooks={"request": [sent.append]}) as client,
        openai.OpenAI(base_url=servers.base(surface), api_key="any", max_retries=1, http_client=client) as sdk,
        pytest.raises(openai.InternalServerError),
    ):
        resource(sdk, surface).create(**opening(surface, "overloaded"))
    assert len(sent) == 2


@each_surface
def test_a_missing_and_an_unknown_key_are_refused_without_showing_the_key(servers: Servers, surface: Surface) -> None:
    body = opening(surface, "text-only")
    missing = post(servers, surface, body, {"content-type": "application/json"})
    assert (missing.status_code, "API key" in message(surface, missing)) == (401, True)
    unknown = post(servers, surface, body, {**JSON, "authorization": "Bearer invalid-key-0123456789"})
    assert unknown.status_code == (401 if surface.provider == "openai" else 400)
    assert message(surface, unknown).startswith("Incorrect API key provided: in")
    assert "key-01234" not in unknown.text


@each_surface
def test_a_body_that_is_not_a_request_is_refused(servers: Servers, surface: Surface) -> None:
    for content in (b"", b"{", b"[]", b'"text"', b"\xff\xfe{}", b"{}]", b"[" * 100_000):
        response = post(servers, surface, content)
        assert (response.status_code, "JSON body of your request" in message(surface, response)) == (400, True), content
    nameless = opening(surface, "text-only")
    del nameless["model"]
    bodies: list[Any] = [{}, {"model": 7}, {"messages": 1, "input": 1}, {"model": None, "tools": {}}, nameless]
    for body in bodies:
        response = post(servers, surface, body)
        assert (response.status_code, message(surface, response) != "") == (400, True), body
    response = post(servers, surface, b"{}", {**JSON, "content-type": "text/plain"})
    assert (response.status_code, "'text/plain'" in message(surface, response)) == (400, True)


@each_surface
def test_a_member_of_another_type_is_refused_or_read_and_never_a_crash(servers: Servers, surface: Surface) -> None:
    names = ["stream_options", "include", "reasoning", "text", "metadata", "tools", "messages", "input", "tool_choice"]
    values: list[Any] = [7, "x", [7], {"x": 7}, [[]], True]
    for name in names:
        for value in values:
            response = post(servers, surface, {**opening(surface, "single-call"), name: value})
            assert response.status_code == 200 or message(surface, response), (name, value)
            assert response.status_code in (200, 400), (name, value)


@each_surface
def test_an_unknown_path_or_method_is_not_found(servers: Servers, surface: Surface) -> None:
    response = httpx2.post(servers.base(surface) + "/nothing", content=b"{}", headers=JSON)
    assert (response.status_code, message(surface, response)) == (404, "Invalid URL (POST /v1/nothing)")
    response = httpx2.put(servers.base(surface) + PATHS[surface.wire], content=b"{}", headers=JSON)
    assert (response.status_code, "PUT" in message(surface, response)) == (405, True)


@each_surface
def test_a_question_that_begins_no_script_is_quoted_in_the_refusal(openai_sdk: Sdk, surface: Surface) -> None:
    name = "messages" if surface.wire == "openai.chat" else "input"
    question: dict[str, Any] = {name: [{"role": "user", "content": "Which way?"}]}
    body = opening(surface, "text-only", **question)
    with pytest.raises(openai.BadRequestError) as caught:
        resource(openai_sdk(surface), surface).create(**body)
    assert "'Which way?'" in message(surface, caught.value.response)


def test_openai_refuses_with_the_status_and_the_type_of_the_broken_rule() -> None:
    for rule in (*CHAT_RULES, *RESPONSES_RULES):
        details: dict[str, Any] = {"status": rule.status, "error_type": rule.error_type, "rule": rule.id}
        status, _, body = error(ProviderRefusal("invalid_request", "7 of them", path="tools[0]", **details))
        assert (status, body["error"]["type"]) == (rule.status, rule.error_type), rule.id
        assert body["error"]["message"], rule.id
        assert "{" not in body["error"]["message"], rule.id


_CALL = {"id": "call_1", "type": "function", "function": {"name": "get_weather", "arguments": "{}"}}
_ITEM = {"type": "function_call", "call_id": "call_1", "name": "get_weather", "arguments": "{}"}
_QUESTION = {"role": "user", "content": "What is the weather like?"}
#: What is wrong -> the surface, the changed members, and the status, message, param and code of the refusal.
REFUSALS: dict[str, tuple[str, dict[str, Any], tuple[int, str, str | None, str | None]]] = {
    "a model of another provider, on Chat Completions": (
        "openai.chat",
        {"model": "claude-5"},
        (404, "The model `claude-5` does not exist or you do not have access to it.", None, "model_not_found"),
    ),
    "a model of another provider, on Responses": (
        "openai.responses",
        {"model": "claude-5"},
        (400, "The requested model 'claude-5' does not exist.", "model", "model_not_found"),
    ),
    "a call without a result, on Chat Completions": (
        "openai.chat",
        {"messages": [_QUESTION, {"role": "assistant", "content": None, "tool_calls": [_CALL]}, _QUESTION]},
        (
            400,
            "An assistant message with 'tool_calls' must be followed by tool messages responding to each "
            "'tool_call_id'. The following tool_call_ids did not have response messages: call_1",
            "messages",
            None,
        ),
    ),
    "a result without a call": (
        "openai.chat",
        {"messages": [_QUESTION, {"role": "tool", "tool_call_id": "call_9", "content": "dry"}]},
        (
            400,
            "Invalid parameter: messages with role 'tool' must be a response to a preceeding message with "
            "'tool_calls'.",
            "messages",
            None,
        ),
    ),
    "a call without a result, on Responses": (
        "openai.responses",
        {"input": [_QUESTION, _ITEM]},
        (400, "No tool output found for function call call_1.", "input", None),
    ),
    "a limit that is too small": (
        "openai.responses",
        {"max_output_tokens": 10},
        (
            400,
            "Invalid 'max_output_tokens': integer below minimum value. Expected a value >= 16, but got 10 instead.",
            "max_output_tokens",
            "integer_below_min_value",
        ),
    ),
    "an answer that is not stored": (
        "openai.responses",
        {"previous_response_id": "resp_0"},
        (
            400,
            "Previous response with id 'resp_0' not found.",
            "previous_response_id",
            "previous_response_not_found",
        ),
    ),
}


@pytest.mark.parametrize("case", REFUSALS)
def test_openai_refuses_with_its_own_message(openai_sdk: Sdk, case: str) -> None:
    name, members, expected = REFUSALS[case]
    with pytest.raises(openai.APIStatusError) as caught:
        resource(openai_sdk(SURFACES[name]), SURFACES[name]).create(**opening(SURFACES[name], "single-call", **members))
    found = caught.value.response.json()["error"]
    assert (caught.value.status_code, found["message"], found["param"], found["code"]) == expected
    assert found["type"] == "invalid_request_error"


@pytest.mark.thorough(keep=1, per="{surface.name}")
@each_surface
@pytest.mark.parametrize("after", [0, 1, 2])
@pytest.mark.parametrize("kind", ["rate_limit", "overloaded", "server_error"])
def test_an_error_during_a_stream_is_raised_by_the_sdk_and_leaves_no_call(
    openai_sdk: Sdk, surface: Surface, kind: str, after: int
) -> None:
    body = opening(surface, f"{kind}-{after}", stream=True)
    response = answered(openai_sdk(surface), surface, body).response
    assert response.error is not None
    assert response.text == (TEXT if after else "")
    with pytest.raises(openai.APIError) as caught:
        list(resource(openai_sdk(surface), surface).create(**body))
    assert not isinstance(caught.value, openai.APIConnectionError)
    with pytest.raises(openai.APIStatusError):
        answered(openai_sdk(surface), surface, opening(surface, f"{kind}-{after}"))


@each_surface
@pytest.mark.parametrize("after", [0, 1, 2])
def test_a_cut_stream_has_no_end_and_a_reset_one_is_a_network_error(
    openai_sdk: Sdk, surface: Surface, after: int
) -> None:
    answer = answered(openai_sdk(surface), surface, opening(surface, f"cut-{after}", stream=True))
    assert not answer.response.complete
    assert not any(end in answer.data for end in (b"[DONE]", b'finish_reason":"', b"response.completed"))
    for id, stream in ((f"reset-{after}", True), (f"reset-{after}", False), (f"cut-{after}", False)):
        with pytest.raises((httpx2.TransportError, openai.APIConnectionError)):
            answered(openai_sdk(surface), surface, opening(surface, id, stream=stream))
    assert answered(openai_sdk(surface), surface, opening(surface, "text-only")).response.complete
