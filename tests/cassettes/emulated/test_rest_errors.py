"""How the emulated HTTP endpoints refuse: status, headers and body in the provider's shape, and what the SDK raises."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import httpx2
import openai
import pytest

from tests.cassettes.emulated.callers import SURFACES_HERE, heard, opening, resource
from tests.cassettes.emulated.extra import EXTRA
from toolparity import normalize
from toolparity.cassettes.emulated.openai_rest import error
from toolparity.cassettes.emulated.script_player import ProviderRefusal
from toolparity.cassettes.emulated.servers import Servers
from toolparity.cassettes.scripts import scripts
from toolparity.cassettes.surfaces import SURFACES, Surface
from toolparity.normalizer.wires.openai_chat.rules import RULES as CHAT_RULES
from toolparity.normalizer.wires.openai_responses.rules import RULES as RESPONSES_RULES
from toolparity.normalizer.wires.rule import Rule

Sdk = Callable[[Surface], openai.OpenAI]
here = pytest.mark.parametrize("surface", SURFACES_HERE, ids=lambda surface: surface.name)
PATHS = {"openai.chat": "/chat/completions", "openai.responses": "/responses"}
JSON = {"authorization": "Bearer any", "content-type": "application/json"}


def posted(servers: Servers, surface: Surface, content: bytes, headers: dict[str, str]) -> httpx2.Response:
    return httpx2.post(servers.base(surface) + PATHS[surface.wire], content=content, headers=headers)


def words(surface: Surface, response: httpx2.Response) -> str:
    """The error's words; holds the body to the provider's shape on the way."""
    body = response.json()
    assert response.headers["content-type"] == "application/json"
    if surface.provider == "xai":
        assert sorted(body) == ["code", "error"]
        assert isinstance(body["code"], str)
        return str(body["error"])
    assert list(body) == ["error"]
    assert list(body["error"]) == ["message", "type", "param", "code"]
    return str(body["error"]["message"])


@pytest.mark.thorough(keep=1, per="{surface.name}")
@here
@pytest.mark.parametrize(
    ("script", "raised", "status"),
    [
        ("error-rate-limit", openai.RateLimitError, 429),
        ("at-once-rate-limit", openai.RateLimitError, 429),
        ("at-once-overloaded", openai.InternalServerError, 503),
        ("at-once-server-error", openai.InternalServerError, 500),
    ],
)
@pytest.mark.parametrize("stream", [False, True], ids=["plain", "streamed"])
def test_a_scripted_refusal_is_raised_by_the_sdk_and_read_by_the_normalizer(
    sdk: Sdk, surface: Surface, script: str, raised: type[openai.APIStatusError], status: int, stream: bool
) -> None:
    played = {**scripts(), **EXTRA}[script]
    with pytest.raises(raised) as told:
        resource(sdk(surface), surface).create(**opening(surface, played, stream=stream))
    response = told.value.response
    assert response.status_code == status
    wait = played.rounds[0].fault.retry_after  # type: ignore[union-attr]
    assert response.headers.get("retry-after") == (str(wait) if wait else None)
    read = normalize(response.content, surface.wire, provider=surface.provider, status=status).error
    assert read is not None
    assert read.message == words(surface, response)
    assert read.retryable


@here
def test_the_sdk_tries_again_by_itself_where_it_is_told_how_long_to_wait(servers: Servers, surface: Surface) -> None:
    asked = []
    with (
        httpx2.Client(event_hooks={"request": [asked.append]}) as client,
        openai.OpenAI(base_url=servers.base(surface), api_key="any", max_retries=1, http_client=client) as eager,
        pytest.raises(openai.InternalServerError),
    ):
        resource(eager, surface).create(**opening(surface, EXTRA["at-once-overloaded"]))
    assert len(asked) == 2


@here
def test_a_caller_without_a_key_is_refused(servers: Servers, surface: Surface) -> None:
    body = json.dumps(opening(surface, scripts()["text-only"])).encode()
    response = posted(servers, surface, body, {"content-type": "application/json"})
    assert response.status_code == 401
    assert "API key" in words(surface, response)


@here
def test_a_key_that_nobody_knows_is_refused_without_telling_it(servers: Servers, surface: Surface) -> None:
    body = json.dumps(opening(surface, scripts()["text-only"])).encode()
    response = posted(servers, surface, body, {**JSON, "authorization": "Bearer invalid-key-0123456789"})
    told = words(surface, response)
    assert response.status_code == (401 if surface.provider == "openai" else 400)
    assert told.startswith("Incorrect API key provided: in")
    assert "key-01234" not in told
    with openai.OpenAI(base_url=servers.base(surface), api_key="invalid", max_retries=0) as stranger:
        with pytest.raises(openai.APIStatusError) as raised:
            resource(stranger, surface).create(**opening(surface, scripts()["text-only"]))
        assert raised.value.status_code == response.status_code


@pytest.mark.thorough(keep=1, per="{surface.name}")
@here
@pytest.mark.parametrize("content", [b"", b"{", b"[]", b'"text"', b"\xff\xfe{}", b"{}" + b"]", b"[" * 100_000])
def test_a_body_that_is_no_json_object_is_refused(servers: Servers, surface: Surface, content: bytes) -> None:
    response = posted(servers, surface, content, JSON)
    assert response.status_code == 400
    assert "JSON body of your request" in words(surface, response)


@here
@pytest.mark.parametrize(
    "content", [b"{}", b'{"model": 7}', b'{"messages": 1, "input": 1}', b'{"model": null, "tools": {}}']
)
def test_a_body_that_asks_nothing_is_refused(servers: Servers, surface: Surface, content: bytes) -> None:
    response = posted(servers, surface, content, JSON)
    assert response.status_code == 400
    assert words(surface, response)


@pytest.mark.thorough(keep=50)
@here
@pytest.mark.parametrize(
    "member",
    ["stream_options", "include", "reasoning", "text", "metadata", "tools", "messages", "input", "tool_choice"],
)
@pytest.mark.parametrize("value", [7, "x", [7], {"x": 7}, [[]], True], ids=repr)
def test_a_member_of_a_strange_type_is_refused_or_read_and_never_a_crash(
    servers: Servers, surface: Surface, member: str, value: Any
) -> None:
    body = {**opening(surface, scripts()["single-call"]), member: value}
    response = posted(servers, surface, json.dumps(body).encode(), JSON)
    assert response.status_code in (200, 400)
    if response.status_code == 400:
        assert words(surface, response)


@here
def test_another_content_than_json_is_refused(servers: Servers, surface: Surface) -> None:
    response = posted(servers, surface, b"{}", {**JSON, "content-type": "text/plain"})
    assert response.status_code == 400
    assert "Unsupported content type: 'text/plain'" in words(surface, response)


@here
def test_a_path_that_is_none_is_not_found(servers: Servers, surface: Surface) -> None:
    response = httpx2.post(servers.base(surface) + "/nothing", content=b"{}", headers=JSON)
    assert response.status_code == 404
    assert words(surface, response) == "Invalid URL (POST /v1/nothing)"
    response = httpx2.put(servers.base(surface) + PATHS[surface.wire], content=b"{}", headers=JSON)
    assert response.status_code == 405
    assert "PUT" in words(surface, response)


@here
def test_words_that_begin_no_script_are_refused_by_name(sdk: Sdk, surface: Surface) -> None:
    body = opening(surface, scripts()["text-only"])
    body["messages" if surface.wire == "openai.chat" else "input"] = [{"role": "user", "content": "Who goes there?"}]
    with pytest.raises(openai.BadRequestError) as told:
        resource(sdk(surface), surface).create(**body)
    assert "'Who goes there?'" in words(surface, told.value.response)


def refusal(sdk: Sdk, name: str, body: dict[str, Any]) -> dict[str, Any]:
    """The error object with which OpenAI answers a body."""
    with pytest.raises(openai.APIStatusError) as told:
        resource(sdk(SURFACES[name]), SURFACES[name]).create(**body)
    error: dict[str, Any] = told.value.response.json()["error"]
    return {"status": told.value.status_code, **error}


CALL = {"id": "call_1", "type": "function", "function": {"name": "get_weather", "arguments": "{}"}}


@pytest.mark.thorough(keep=36)
@pytest.mark.parametrize("rule", [*CHAT_RULES, *RESPONSES_RULES], ids=lambda rule: rule.id)
def test_openai_refuses_with_the_status_and_the_type_of_the_broken_rule(rule: Rule) -> None:
    told = {"status": rule.status, "error_type": rule.error_type, "rule": rule.id, "path": "tools[0]"}
    status, _, body = error(ProviderRefusal("invalid_request", "7 of them", **told))
    assert status == rule.status
    assert body["error"]["type"] == rule.error_type
    assert body["error"]["message"]
    assert "{" not in body["error"]["message"]


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        (
            "openai.chat",
            {
                "status": 404,
                "message": "The model `claude-5` does not exist or you do not have access to it.",
                "type": "invalid_request_error",
                "param": None,
                "code": "model_not_found",
            },
        ),
        (
            "openai.responses",
            {
                "status": 400,
                "message": "The requested model 'claude-5' does not exist.",
                "type": "invalid_request_error",
                "param": "model",
                "code": "model_not_found",
            },
        ),
    ],
)
def test_openai_does_not_know_the_models_of_others(sdk: Sdk, name: str, expected: dict[str, Any]) -> None:
    body = {**opening(SURFACES[name], scripts()["text-only"]), "model": "claude-5"}
    assert refusal(sdk, name, body) == expected


@here
def test_a_request_names_a_model(servers: Servers, surface: Surface) -> None:
    body = opening(surface, scripts()["text-only"])
    del body["model"]
    response = posted(servers, surface, json.dumps(body).encode(), JSON)
    assert response.status_code == 400
    assert "model" in words(surface, response)


@pytest.mark.parametrize(
    ("messages", "expected"),
    [
        (
            [{"role": "assistant", "content": None, "tool_calls": [CALL]}, {"role": "user", "content": "Well?"}],
            {
                "status": 400,
                "message": "An assistant message with 'tool_calls' must be followed by tool messages responding to "
                "each 'tool_call_id'. The following tool_call_ids did not have response messages: call_1",
                "type": "invalid_request_error",
                "param": "messages",
                "code": None,
            },
        ),
        (
            [{"role": "tool", "tool_call_id": "call_9", "content": "dry"}],
            {
                "status": 400,
                "message": "Invalid parameter: messages with role 'tool' must be a response to a preceeding message "
                "with 'tool_calls'.",
                "type": "invalid_request_error",
                "param": "messages",
                "code": None,
            },
        ),
    ],
    ids=["call without a result", "result without a call"],
)
def test_openai_refuses_a_broken_history_in_its_own_words(
    sdk: Sdk, messages: list[Any], expected: dict[str, Any]
) -> None:
    body = opening(SURFACES["openai.chat"], scripts()["single-call"])
    body["messages"] = [*body["messages"], *messages]
    assert refusal(sdk, "openai.chat", body) == expected


def test_openai_responses_refuses_an_unanswered_call_and_a_limit_that_is_too_small(sdk: Sdk) -> None:
    surface = SURFACES["openai.responses"]
    body = opening(surface, scripts()["single-call"])
    call = {"type": "function_call", "call_id": "call_1", "name": "get_weather", "arguments": "{}"}
    assert refusal(sdk, "openai.responses", {**body, "input": [*body["input"], call]}) == {
        "status": 400,
        "message": "No tool output found for function call call_1.",
        "type": "invalid_request_error",
        "param": "input",
        "code": None,
    }
    assert refusal(sdk, "openai.responses", {**body, "max_output_tokens": 10}) == {
        "status": 400,
        "message": "Invalid 'max_output_tokens': integer below minimum value. "
        "Expected a value >= 16, but got 10 instead.",
        "type": "invalid_request_error",
        "param": "max_output_tokens",
        "code": "integer_below_min_value",
    }


def test_openai_refuses_to_build_on_an_answer_that_it_does_not_know(sdk: Sdk) -> None:
    body = {"model": "gpt-5-mini", "input": "Go on.", "previous_response_id": "resp_0"}
    assert refusal(sdk, "openai.responses", body) == {
        "status": 400,
        "message": "Previous response with id 'resp_0' not found.",
        "type": "invalid_request_error",
        "param": "previous_response_id",
        "code": "previous_response_not_found",
    }


@pytest.mark.thorough(keep=9)
@here
@pytest.mark.parametrize("after", [0, 1, 2])
@pytest.mark.parametrize("kind", ["rate-limit", "overloaded", "server-error"])
def test_an_error_in_mid_stream_is_raised_by_the_sdk_and_leaves_nothing_to_run(
    sdk: Sdk, surface: Surface, kind: str, after: int
) -> None:
    script = EXTRA[f"{kind}-{after}"]
    body = opening(surface, script, stream=True)
    response = heard(sdk(surface), surface, body).response
    assert response.error is not None
    with pytest.raises(openai.APIError) as told:
        list(resource(sdk(surface), surface).create(**body))
    assert not isinstance(told.value, openai.APIConnectionError)
    text = response.choices[0].text if response.choices else ""
    assert text == ("Let me look." if after else "")
    with pytest.raises(openai.APIStatusError):
        heard(sdk(surface), surface, opening(surface, script))


@here
@pytest.mark.parametrize("after", [0, 1, 2])
def test_a_stream_that_is_cut_ends_without_its_end(sdk: Sdk, surface: Surface, after: int) -> None:
    answer = heard(sdk(surface), surface, opening(surface, EXTRA[f"cut-{after}"], stream=True))
    assert not answer.response.complete
    assert b"[DONE]" not in answer.data
    assert b'finish_reason":"' not in answer.data
    assert b"response.completed" not in answer.data


@pytest.mark.thorough(keep=1, per="{surface.name}")
@here
@pytest.mark.parametrize("stream", [False, True], ids=["plain", "streamed"])
@pytest.mark.parametrize("after", [0, 1, 2])
def test_a_connection_that_breaks_is_an_error_of_the_network(
    sdk: Sdk, surface: Surface, after: int, stream: bool
) -> None:
    with pytest.raises((httpx2.TransportError, openai.APIConnectionError)):
        heard(sdk(surface), surface, opening(surface, EXTRA[f"reset-{after}"], stream=stream))
    after_all = heard(sdk(surface), surface, opening(surface, scripts()["text-only"], stream=stream))
    assert after_all.response.complete


@here
def test_a_plain_answer_that_is_cut_is_half_a_body(sdk: Sdk, surface: Surface) -> None:
    with pytest.raises((httpx2.TransportError, openai.APIConnectionError)):
        heard(sdk(surface), surface, opening(surface, EXTRA["cut-1"]))
