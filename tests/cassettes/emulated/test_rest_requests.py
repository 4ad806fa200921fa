"""The emulated HTTP endpoints of OpenAI, xAI and Anthropic answer what a request asks for, and refuse as they do."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from typing import Any, NamedTuple

import anthropic
import httpx2
import openai
import pytest

from tests.cassettes.emulated.fidelity import payloads
from tests.cassettes.emulated.script_library import LIBRARY, TEXT
from toolparity import Response, StreamDecoder, normalize
from toolparity.cassettes.emulated.openai_rest import error
from toolparity.cassettes.emulated.script_player import ProviderRefusal, tokens
from toolparity.cassettes.emulated.servers import Servers
from toolparity.cassettes.recorder.script_driver import conversation
from toolparity.cassettes.scripts import scripts
from toolparity.cassettes.surfaces import SURFACES, Surface
from toolparity.normalizer.model import Reasoning
from toolparity.normalizer.wires.openai_chat.rules import RULES as CHAT_RULES
from toolparity.normalizer.wires.openai_responses.rules import RULES as RESPONSES_RULES

Sdk = Callable[[Surface], Any]
REST_SURFACES = [SURFACES[name] for name in ("openai.chat", "openai.responses", "xai.chat", "xai.responses")]
each_surface = pytest.mark.parametrize("surface", REST_SURFACES, ids=lambda surface: surface.name)
OPENAI_CHAT, OPENAI_RESPONSES, XAI_CHAT, XAI_RESPONSES = REST_SURFACES
on_responses = pytest.mark.parametrize("surface", [OPENAI_RESPONSES, XAI_RESPONSES], ids=lambda surface: surface.name)
THOUGHT = "Let me see first."
ANTHROPIC = SURFACES["anthropic.messages"]
each_provider = pytest.mark.parametrize("surface", [*REST_SURFACES, ANTHROPIC], ids=lambda surface: surface.name)
PATHS = {
    "openai.chat": "/chat/completions",
    "openai.responses": "/responses",
    "anthropic.messages": "/v1/messages",
}
REQUEST_ID = "req_011C[1-9A-HJ-NP-Za-km-z]{20}"
JSON = {"authorization": "Bearer any", "content-type": "application/json"}


@pytest.fixture(scope="module")
def sdk_of(servers: Servers) -> Iterator[Sdk]:
    """The SDK for a surface, unpatched and without retries."""
    with ExitStack() as stack:
        clients = {
            surface.name: stack.enter_context(kind(base_url=servers.base(surface), api_key="any", max_retries=0))
            for kind, surfaces in ((openai.OpenAI, REST_SURFACES), (anthropic.Anthropic, [ANTHROPIC]))
            for surface in surfaces
        }
        yield lambda surface: clients[surface.name]


class Answered(NamedTuple):
    """The bytes that an emulated provider sent, and the response that the normalizer reads in them."""

    data: bytes
    response: Response


def resource(client: Any, surface: Surface) -> Any:
    """Return the part of the SDK that sends requests of the surface."""
    if surface is ANTHROPIC:
        return client.messages
    return client.chat.completions if surface.wire == "openai.chat" else client.responses


def opening(surface: Surface, id: str, *, stream: bool = False, **members: Any) -> dict[str, Any]:
    """Return the body that begins a script."""
    script = LIBRARY.get(id) or scripts()[id]
    return {**next(conversation(script, surface, stream=stream)), **members}


def answered(client: Any, surface: Surface, body: dict[str, Any]) -> Answered:
    """Send a body through the SDK. Raises what the SDK raises."""
    raw = resource(client, surface).with_raw_response.create(**body)
    if not body.get("stream"):
        data = raw.http_response.read()
        return Answered(data, normalize(data, surface.wire, provider=surface.provider))
    decoder = StreamDecoder(surface.wire, provider=surface.provider)
    data = b""
    for piece in raw.http_response.iter_raw():
        decoder.feed(piece)
        data += piece
    return Answered(data, decoder.finish())


def events(answer: Answered) -> list[dict[str, Any]]:
    return [event for _, event in payloads(answer.data)]


@each_surface
@pytest.mark.parametrize("stream", [False, True], ids=["plain", "streamed"])
def test_calls_are_made_as_the_request_allows(sdk_of: Sdk, surface: Surface, stream: bool) -> None:
    for members, count in (
        ({"tool_choice": "none"}, 0),
        ({"parallel_tool_calls": False}, 1),
        ({"parallel_tool_calls": True}, 2),
        ({"tool_choice": "auto"}, 2),
    ):
        body = opening(surface, "calls", stream=stream, **members)
        (choice,) = answered(sdk_of(surface), surface, body).response.choices
        assert [call.arguments for call in choice.calls] == [{"what": "a"}, {"what": "b"}][:count]
        assert (choice.text, choice.stop.reason) == (TEXT, "tool_calls" if count else "end_turn")


@each_surface
def test_answers_name_the_snapshot_of_the_model_and_carry_the_providers_headers(sdk_of: Sdk, surface: Surface) -> None:
    asked, snapshot = {"openai": ("gpt-4.1", "gpt-4.1-2025-04-14"), "xai": ("grok-4", "grok-4-0709")}[surface.provider]
    body = opening(surface, "text-only", model=asked)
    assert answered(sdk_of(surface), surface, body).response.model == snapshot
    raw = resource(sdk_of(surface), surface).with_raw_response.create(**body)
    assert raw.headers["content-type"] == "application/json"
    assert raw.headers["x-ratelimit-remaining-requests"].isdigit()
    if surface.provider == "openai":
        assert (raw.request_id[:4], raw.headers["openai-version"]) == ("req_", "2020-10-01")
        assert raw.headers["openai-processing-ms"].isdigit()
    else:
        assert (len(raw.request_id), "openai-version" in raw.headers) == (36, False)


def test_a_stream_has_usage_and_padding_as_its_options_say(sdk_of: Sdk) -> None:
    for surface in (OPENAI_CHAT, XAI_CHAT):
        body = opening(surface, "calls", stream=True)
        *_, last = asked = events(answered(sdk_of(surface), surface, body))
        assert (last["choices"], last["usage"]["total_tokens"] > 0) == ([], True)
        del body["stream_options"]
        without = events(answered(sdk_of(surface), surface, body))
        assert not any("usage" in chunk for chunk in without)
        assert len(without) == len(asked) - 1
    for surface in (OPENAI_CHAT, OPENAI_RESPONSES):
        for options, padded in (({}, True), ({"include_obfuscation": False}, False)):
            body = opening(surface, "calls", stream=True, stream_options=options)
            found = events(answered(sdk_of(surface), surface, body))
            assert any("obfuscation" in event for event in found) is padded


@each_surface
def test_calls_have_the_ids_and_indexes_of_the_script(sdk_of: Sdk, surface: Surface) -> None:
    answer = answered(sdk_of(surface), surface, opening(surface, "own-index", stream=True))
    assert [call.id for call in answer.response.calls] == ["call-ä"]
    if surface.wire == "openai.chat":
        deltas = [choice["delta"] for event in events(answer) for choice in event["choices"]]
        heads = [call for delta in deltas for call in delta.get("tool_calls", ()) if "id" in call]
        assert [(call["id"], call["index"]) for call in heads] == [("call-ä", 3)]


@pytest.mark.parametrize("stream", [False, True], ids=["plain", "streamed"])
def test_reasoning_is_counted_and_shown_as_the_request_asks(sdk_of: Sdk, stream: bool) -> None:
    asked = {"reasoning": {"summary": "auto"}, "include": ["reasoning.encrypted_content"]}
    nothing: dict[str, Any] = {"reasoning": {}, "include": []}
    for surface, members, shown in (
        (OPENAI_RESPONSES, nothing, ("", False)),
        (OPENAI_RESPONSES, asked, (THOUGHT, True)),
        (XAI_RESPONSES, nothing, (THOUGHT, False)),
    ):
        body = opening(surface, "thinks", stream=stream, **members)
        response = answered(sdk_of(surface), surface, body).response
        (found,) = (block for block in response.choices[0].blocks if isinstance(block, Reasoning))
        assert (found.text, (found.encrypted or "").startswith("gAAAAAB")) == shown
        assert response.usage is not None
        assert response.usage.reasoning_tokens == tokens(THOUGHT) < (response.usage.output_tokens or 0)


@on_responses
def test_a_server_call_shows_its_results(sdk_of: Sdk, surface: Surface) -> None:
    def output(id: str, *include: str) -> list[dict[str, Any]]:
        body = opening(surface, id, include=list(include))
        found: list[dict[str, Any]] = json.loads(answered(sdk_of(surface), surface, body).data)["output"]
        return found

    urls = ["https://example.com/a", "https://example.org/b"]
    search, message = output("searches", "web_search_call.action.sources")[-2:]
    assert (search["type"], search["status"]) == ("web_search_call", "completed")
    assert [source["url"] for source in search["action"]["sources"]] == urls
    assert [note["url"] for note in message["content"][0]["annotations"]] == urls
    (ran,) = (one for one in output("runs", "code_interpreter_call.outputs") if one["type"] == "code_interpreter_call")
    assert (ran["code"], ran["outputs"]) == ("print(2+2)", [{"type": "logs", "logs": "4\n"}])
    sealed = [one for one in output("searches", "reasoning.encrypted_content") if one["id"].startswith("tco_")]
    assert len(sealed) == (1 if surface is XAI_RESPONSES else 0)
    assert all(one["encrypted_content"].startswith(f"{one['id']}_") for one in sealed)


@on_responses
def test_only_a_stored_answer_can_be_continued_and_read_again(sdk_of: Sdk, surface: Surface) -> None:
    sdk = sdk_of(surface)
    first = sdk.responses.create(**opening(surface, "single-call"))
    call = next(item for item in first.output if item.type == "function_call")
    result: Any = [{"type": "function_call_output", "call_id": call.call_id, "output": "dry"}]
    second = sdk.responses.create(model=surface.model, input=result, previous_response_id=first.id)
    assert second.output_text == "No umbrella needed: Lisbon stays dry tomorrow, with 24 degrees."
    assert second.previous_response_id == first.id
    assert sdk.responses.retrieve(first.id).to_dict() == first.to_dict()
    forgotten = sdk.responses.create(**opening(surface, "words", store=False)).id
    with pytest.raises(openai.NotFoundError):
        sdk.responses.retrieve(forgotten)
    with pytest.raises(openai.APIStatusError) as caught:
        sdk.responses.create(model=surface.model, input="Continue.", previous_response_id=forgotten)
    assert f"Previous response with id '{forgotten}' not found." in caught.value.response.text


def test_tools_are_echoed_as_openai_reads_them(sdk_of: Sdk) -> None:
    surface = SURFACES["openai.responses"]
    body = opening(surface, "single-call")
    for strict, expected in ((None, (True, True)), (False, (False, False))):
        body["tools"][0]["strict"] = strict
        (tool,) = sdk_of(surface).responses.create(**body).tools
        assert tool.type == "function"
        assert (tool.strict, "additionalProperties" in (tool.parameters or {})) == expected


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
    assert list(body) == (["type", "error", "request_id"] if surface is ANTHROPIC else ["error"])
    if surface is ANTHROPIC:
        assert re.fullmatch(REQUEST_ID, response.headers["request-id"])
        assert (response.headers["request-id"], body["error"].keys()) == (body["request_id"], {"type", "message"})
    else:
        assert list(body["error"]) == ["message", "type", "param", "code"]
    return str(body["error"]["message"])


@each_provider
def test_a_scripted_refusal_is_raised_by_the_sdk_and_read_by_the_normalizer(sdk_of: Sdk, surface: Surface) -> None:
    sdk: Any = anthropic if surface is ANTHROPIC else openai
    for id, raised, status, wait, type in (
        ("rate_limit", sdk.RateLimitError, 429, "3", "rate_limit_error"),
        ("overloaded", sdk.InternalServerError, 529 if surface is ANTHROPIC else 503, None, "overloaded_error"),
        ("server_error", sdk.InternalServerError, 500, None, "api_error"),
        ("authentication", sdk.AuthenticationError, 401, None, "authentication_error"),
    ):
        for stream in (False, True):
            with pytest.raises(raised) as caught:
                resource(sdk_of(surface), surface).create(**opening(surface, id, stream=stream))
            response = caught.value.response
            assert (response.status_code, response.headers.get("retry-after")) == (status, wait)
            read = normalize(response.content, surface.wire, provider=surface.provider, status=status).error
            assert read is not None
            assert (read.message, read.retryable) == (message(surface, response), status != 401)
            assert surface is not ANTHROPIC or caught.value.type == type


@each_provider
def test_a_missing_and_an_unknown_key_are_refused_without_showing_the_key(servers: Servers, surface: Surface) -> None:
    body, named = opening(surface, "text-only"), "x-api-key" if surface is ANTHROPIC else "authorization"
    missing = post(servers, surface, body, {"content-type": "application/json"})
    assert (missing.status_code, message(surface, missing) != "") == (401, True)
    unknown = post(servers, surface, body, {"content-type": "application/json", named: "Bearer invalid-key-0123456789"})
    assert unknown.status_code == (400 if surface.provider == "xai" else 401)
    refused = "invalid x-api-key" if surface is ANTHROPIC else "Incorrect API key provided: in"
    assert message(surface, unknown).startswith(refused)
    assert "key-01234" not in unknown.text


@each_surface
def test_a_body_that_is_not_a_request_or_begins_no_script_is_refused(servers: Servers, surface: Surface) -> None:
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
    member = "messages" if surface.wire == "openai.chat" else "input"
    other = {**opening(surface, "text-only"), member: [{"role": "user", "content": "Which way?"}]}
    response = post(servers, surface, other)
    assert (response.status_code, "'Which way?'" in message(surface, response)) == (400, True)


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


def test_openai_refuses_with_the_status_and_the_type_of_the_broken_rule() -> None:
    for rule in (*CHAT_RULES, *RESPONSES_RULES):
        details: dict[str, Any] = {"status": rule.status, "error_type": rule.error_type, "rule": rule.id}
        status, _, body = error(ProviderRefusal("invalid_request", "7 of them", path="tools[0]", **details))
        assert (status, body["error"]["type"]) == (rule.status, rule.error_type), rule.id
        assert body["error"]["message"], rule.id
        assert "{" not in body["error"]["message"], rule.id


_CALL = {"id": "call_1", "type": "function", "function": {"name": "get_weather", "arguments": "{}"}}
_ITEM = {"type": "function_call", "call_id": "call_1", "name": "get_weather", "arguments": "{}"}
_USE = {"type": "tool_use", "id": "toolu_1", "name": "get_weather", "input": {}}
_PLAY = {"role": "user", "content": "Play words."}
_QUESTION = {"role": "user", "content": "What is the weather like?"}
#: What is wrong -> the surface, the changed members, and the refusal: status, param and code (or type), message.
REFUSALS: dict[str, tuple[str, dict[str, Any], str]] = {
    "a model of another provider, on Chat Completions": (
        "openai.chat",
        {"model": "claude-5"},
        "404 None model_not_found: The model `claude-5` does not exist or you do not have access to it.",
    ),
    "a model of another provider, on Responses": (
        "openai.responses",
        {"model": "claude-5"},
        "400 model model_not_found: The requested model 'claude-5' does not exist.",
    ),
    "a call without a result, on Chat Completions": (
        "openai.chat",
        {"messages": [_QUESTION, {"role": "assistant", "content": None, "tool_calls": [_CALL]}, _QUESTION]},
        "400 messages None: An assistant message with 'tool_calls' must be followed by tool messages responding to",
    ),
    "a result without a call": (
        "openai.chat",
        {"messages": [_QUESTION, {"role": "tool", "tool_call_id": "call_9", "content": "dry"}]},
        "400 messages None: Invalid parameter: messages with role 'tool' must be a response to a preceeding message",
    ),
    "a call without a result, on Responses": (
        "openai.responses",
        {"input": [_QUESTION, _ITEM]},
        "400 input None: No tool output found for function call call_1.",
    ),
    "a limit that is too small": (
        "openai.responses",
        {"max_output_tokens": 10},
        "400 max_output_tokens integer_below_min_value: Invalid 'max_output_tokens': integer below minimum value. "
        "Expected a value >= 16, but got 10 instead.",
    ),
    **{
        f"{what}, on Messages": ("anthropic.messages", members, expected)
        for what, members, expected in (
            ("an unknown model", {"model": "no-such-model"}, "404 not_found_error: model: no-such-model"),
            ("no limit", {"max_tokens": 0}, "400 invalid_request_error: max_tokens: "),
            ("messages that are not a list", {"messages": "text"}, "400 invalid_request_error: messages: expected"),
            (
                "a call without a result",
                {"messages": [_QUESTION, {"role": "assistant", "content": [_USE]}, _QUESTION]},
                "400 invalid_request_error: messages.1.content.0: call toolu_1 has no result",
            ),
            (
                "an unknown beginning",
                {"messages": [{**_QUESTION, "content": "Hm."}]},
                "400 invalid_request_error: messages: no script begins with these words: 'Hm.'",
            ),
            (
                "a question after the script's end",
                {"messages": [_PLAY, {"role": "assistant", "content": "Just words."}, _PLAY]},
                "400 invalid_request_error: the script words has only 1 rounds",
            ),
        )
    },
}


@pytest.mark.parametrize("case", REFUSALS)
def test_openai_and_anthropic_refuse_with_their_own_messages(sdk_of: Sdk, case: str) -> None:
    name, members, expected = REFUSALS[case]
    surface, sdk = SURFACES[name], anthropic if name == "anthropic.messages" else openai
    with pytest.raises(sdk.APIStatusError) as caught:
        resource(sdk_of(surface), surface).create(**opening(surface, "single-call", **members))
    error: Any = caught.value
    found = error.response.json()["error"]
    about = found["type"] if surface is ANTHROPIC else f"{found['param']} {found['code']}"
    assert f"{error.status_code} {about}: {found['message']}".startswith(expected)
    assert surface is ANTHROPIC or found["type"] == "invalid_request_error"


@pytest.mark.thorough(keep=1, per="{surface.name}")
@each_provider
@pytest.mark.parametrize("after", [0, 1, 2])
@pytest.mark.parametrize("kind", ["rate_limit", "overloaded", "server_error"])
def test_an_error_in_a_stream_is_raised_by_the_sdk(sdk_of: Sdk, surface: Surface, kind: str, after: int) -> None:
    sdk: Any = anthropic if surface is ANTHROPIC else openai
    create, id = resource(sdk_of(surface), surface).create, f"{kind}-{after}"
    with pytest.raises(sdk.APIError) as caught:
        list(create(**opening(surface, id, stream=True)))
    assert not isinstance(caught.value, sdk.APIConnectionError)
    with pytest.raises(sdk.APIStatusError):
        create(**opening(surface, id))
    for broken, stream in ((f"reset-{after}", True), (f"reset-{after}", False), (f"cut-{after}", False)):
        with pytest.raises((httpx2.TransportError, sdk.APIConnectionError)):
            answered(sdk_of(surface), surface, opening(surface, broken, stream=stream))


# Anthropic's own


THINKING = {"type": "enabled", "budget_tokens": 1024}


def body(id: str, **members: Any) -> dict[str, Any]:
    return opening(ANTHROPIC, id) | {"thinking": {"type": "disabled"}, "max_tokens": 2048} | members


def plain(sdk_of: Sdk, id: str, **members: Any) -> dict[str, Any]:
    made: dict[str, Any] = json.loads(answered(sdk_of(ANTHROPIC), ANTHROPIC, body(id, **members)).data)
    return made


def streamed(sdk_of: Sdk, id: str, **members: Any) -> list[dict[str, Any]]:
    return events(answered(sdk_of(ANTHROPIC), ANTHROPIC, body(id, stream=True, **members)))


def deltas(events: list[dict[str, Any]], type: str, member: str) -> list[str]:
    return [e["delta"][member] for e in events if e["type"] == "content_block_delta" and e["delta"]["type"] == type]


def test_an_answer_has_the_ids_and_members_of_its_model_and_the_limits_in_its_headers(sdk_of: Sdk) -> None:
    newer = plain(sdk_of, "words", model="claude-sonnet-5")
    assert newer["model"] == "claude-sonnet-5"
    assert newer["usage"]["output_tokens_details"] == {"thinking_tokens": 0}
    assert newer["usage"]["inference_geo"] == "global"
    assert plain(sdk_of, "own-id")["content"][0]["id"] == "my-own-1"
    assert plain(sdk_of, "no-object")["content"][0]["input"] == [1, 2]
    *_, cut = events = streamed(sdk_of, "cut-arguments")[:-1]
    assert [e["type"] for e in events if e["type"].startswith("content_block_st")] == ["content_block_start"]
    assert cut["delta"]["stop_reason"] == "max_tokens"
    headers = sdk_of(ANTHROPIC).messages.with_raw_response.create(**body("words")).headers
    assert re.fullmatch(REQUEST_ID, headers["request-id"])
    for name in ("requests", "tokens", "input-tokens", "output-tokens"):
        limit, remaining = (int(headers[f"anthropic-ratelimit-{name}-{end}"]) for end in ("limit", "remaining"))
        assert 0 < remaining <= limit
        assert re.fullmatch(r"2026-\d\d-\d\dT\d\d:\d\d:\d\dZ", headers[f"anthropic-ratelimit-{name}-reset"])


def test_reasoning_is_shown_omitted_or_redacted_on_request(sdk_of: Sdk) -> None:
    assert [block["type"] for block in plain(sdk_of, "thinks")["content"]] == ["text", "tool_use"]
    made = plain(sdk_of, "thinks", thinking=THINKING)
    thought = made["content"][0]
    assert (thought["type"], thought["thinking"]) == ("thinking", "Let me see first.")
    assert made["usage"]["output_tokens_details"]["thinking_tokens"] > 0
    events = streamed(sdk_of, "thinks", thinking=THINKING)
    assert "".join(deltas(events, "thinking_delta", "thinking")) == "Let me see first."
    assert deltas(events, "signature_delta", "signature") == [thought["signature"]]
    omitted = plain(sdk_of, "thinks", thinking={**THINKING, "display": "omitted"})["content"][0]
    assert (omitted["thinking"], len(omitted["signature"]) > 100) == ("", True)
    redacted = plain(sdk_of, "withholds", thinking=THINKING)["content"][0]
    assert redacted == streamed(sdk_of, "withholds", thinking=THINKING)[1]["content_block"]
    assert (redacted["type"], "secret" in json.dumps(redacted)) == ("redacted_thinking", False)


def test_code_runs_in_the_first_version_of_the_tool_and_hosted_tools_can_fail(sdk_of: Sdk) -> None:
    first = [{"type": "code_execution_20250522", "name": "code_execution"}]
    call, result = plain(sdk_of, "runs", tools=first)["content"]
    assert (call["name"], result["type"]) == ("code_execution", "code_execution_tool_result")
    assert call["input"] == {"code": "print(2+2)"}
    for id, kind in (("crashes", "bash_code_execution"), ("finds-nothing", "web_search")):
        failed = plain(sdk_of, id)["content"][1]["content"]
        assert failed == {"type": f"{kind}_tool_result_error", "error_code": "unavailable"}
