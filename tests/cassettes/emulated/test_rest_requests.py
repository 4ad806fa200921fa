"""The emulated HTTP endpoints of OpenAI and xAI answer what a request asks for, and refuse as the providers do."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from typing import Any, NamedTuple

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

Sdk = Callable[[Surface], openai.OpenAI]
REST_SURFACES = [SURFACES[name] for name in ("openai.chat", "openai.responses", "xai.chat", "xai.responses")]
each_surface = pytest.mark.parametrize("surface", REST_SURFACES, ids=lambda surface: surface.name)
OPENAI_CHAT, OPENAI_RESPONSES, XAI_CHAT, XAI_RESPONSES = REST_SURFACES
on_responses = pytest.mark.parametrize("surface", [OPENAI_RESPONSES, XAI_RESPONSES], ids=lambda surface: surface.name)
THOUGHT = "Let me see first."
PATHS = {"openai.chat": "/chat/completions", "openai.responses": "/responses"}
JSON = {"authorization": "Bearer any", "content-type": "application/json"}


@pytest.fixture(scope="module")
def openai_sdk(servers: Servers) -> Iterator[Sdk]:
    """OpenAI's SDK for a surface, unpatched and without retries."""
    with ExitStack() as stack:
        clients = {
            surface.name: stack.enter_context(
                openai.OpenAI(base_url=servers.base(surface), api_key="any", max_retries=0)
            )
            for surface in REST_SURFACES
        }
        yield lambda surface: clients[surface.name]


class Answered(NamedTuple):
    """The bytes that an emulated provider sent, and the response that the normalizer reads in them."""

    data: bytes
    response: Response


def resource(client: Any, surface: Surface) -> Any:
    """Return the part of the SDK that sends requests of the surface."""
    return client.chat.completions if surface.wire == "openai.chat" else client.responses


def opening(surface: Surface, id: str, *, stream: bool = False, **members: Any) -> dict[str, Any]:
    """Return the body that begins a script."""
    script = LIBRARY.get(id) or scripts()[id]
    return {**next(conversation(script, surface, stream=stream)), **members}


def answered(client: openai.OpenAI, surface: Surface, body: dict[str, Any]) -> Answered:
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
def test_calls_are_made_as_the_request_allows(openai_sdk: Sdk, surface: Surface, stream: bool) -> None:
    for members, count in (
        ({"tool_choice": "none"}, 0),
        ({"parallel_tool_calls": False}, 1),
        ({"parallel_tool_calls": True}, 2),
        ({"tool_choice": "auto"}, 2),
    ):
        body = opening(surface, "calls", stream=stream, **members)
        (choice,) = answered(openai_sdk(surface), surface, body).response.choices
        assert [call.arguments for call in choice.calls] == [{"what": "a"}, {"what": "b"}][:count]
        assert (choice.text, choice.stop.reason) == (TEXT, "tool_calls" if count else "end_turn")


@each_surface
def test_answers_name_the_snapshot_of_the_model_and_carry_the_providers_headers(
    openai_sdk: Sdk, surface: Surface
) -> None:
    asked, snapshot = {"openai": ("gpt-4.1", "gpt-4.1-2025-04-14"), "xai": ("grok-4", "grok-4-0709")}[surface.provider]
    body = opening(surface, "text-only", model=asked)
    assert answered(openai_sdk(surface), surface, body).response.model == snapshot
    raw = resource(openai_sdk(surface), surface).with_raw_response.create(**body)
    assert raw.headers["content-type"] == "application/json"
    assert raw.headers["x-ratelimit-remaining-requests"].isdigit()
    if surface.provider == "openai":
        assert (raw.request_id[:4], raw.headers["openai-version"]) == ("req_", "2020-10-01")
        assert raw.headers["openai-processing-ms"].isdigit()
    else:
        assert (len(raw.request_id), "openai-version" in raw.headers) == (36, False)


def test_a_stream_has_usage_and_padding_as_its_options_say(openai_sdk: Sdk) -> None:
    for surface in (OPENAI_CHAT, XAI_CHAT):
        body = opening(surface, "calls", stream=True)
        *_, last = asked = events(answered(openai_sdk(surface), surface, body))
        assert (last["choices"], last["usage"]["total_tokens"] > 0) == ([], True)
        del body["stream_options"]
        without = events(answered(openai_sdk(surface), surface, body))
        assert not any("usage" in chunk for chunk in without)
        assert len(without) == len(asked) - 1
    for surface in (OPENAI_CHAT, OPENAI_RESPONSES):
        for options, padded in (({}, True), ({"include_obfuscation": False}, False)):
            body = opening(surface, "calls", stream=True, stream_options=options)
            found = events(answered(openai_sdk(surface), surface, body))
            assert any("obfuscation" in event for event in found) is padded


@each_surface
def test_calls_have_the_ids_and_indexes_of_the_script(openai_sdk: Sdk, surface: Surface) -> None:
    answer = answered(openai_sdk(surface), surface, opening(surface, "own-index", stream=True))
    assert [call.id for call in answer.response.calls] == ["call-ä"]
    if surface.wire == "openai.chat":
        deltas = [choice["delta"] for event in events(answer) for choice in event["choices"]]
        heads = [call for delta in deltas for call in delta.get("tool_calls", ()) if "id" in call]
        assert [(call["id"], call["index"]) for call in heads] == [("call-ä", 3)]


@pytest.mark.parametrize("stream", [False, True], ids=["plain", "streamed"])
def test_reasoning_is_counted_and_shown_as_the_request_asks(openai_sdk: Sdk, stream: bool) -> None:
    asked = {"reasoning": {"summary": "auto"}, "include": ["reasoning.encrypted_content"]}
    nothing: dict[str, Any] = {"reasoning": {}, "include": []}
    for surface, members, shown in (
        (OPENAI_RESPONSES, nothing, ("", False)),
        (OPENAI_RESPONSES, asked, (THOUGHT, True)),
        (XAI_RESPONSES, nothing, (THOUGHT, False)),
    ):
        body = opening(surface, "thinks", stream=stream, **members)
        response = answered(openai_sdk(surface), surface, body).response
        (found,) = (block for block in response.choices[0].blocks if isinstance(block, Reasoning))
        assert (found.text, (found.encrypted or "").startswith("gAAAAAB")) == shown
        assert response.usage is not None
        assert response.usage.reasoning_tokens == tokens(THOUGHT) < (response.usage.output_tokens or 0)


@on_responses
def test_a_server_call_shows_its_results(openai_sdk: Sdk, surface: Surface) -> None:
    def output(id: str, *include: str) -> list[dict[str, Any]]:
        body = opening(surface, id, include=list(include))
        found: list[dict[str, Any]] = json.loads(answered(openai_sdk(surface), surface, body).data)["output"]
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
def test_only_a_stored_answer_can_be_continued_and_read_again(openai_sdk: Sdk, surface: Surface) -> None:
    sdk = openai_sdk(surface)
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


def test_tools_are_echoed_as_openai_reads_them(openai_sdk: Sdk) -> None:
    surface = SURFACES["openai.responses"]
    body = opening(surface, "single-call")
    for strict, expected in ((None, (True, True)), (False, (False, False))):
        body["tools"][0]["strict"] = strict
        (tool,) = openai_sdk(surface).responses.create(**body).tools
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
def test_a_missing_and_an_unknown_key_are_refused_without_showing_the_key(servers: Servers, surface: Surface) -> None:
    body = opening(surface, "text-only")
    missing = post(servers, surface, body, {"content-type": "application/json"})
    assert (missing.status_code, "API key" in message(surface, missing)) == (401, True)
    unknown = post(servers, surface, body, {**JSON, "authorization": "Bearer invalid-key-0123456789"})
    assert unknown.status_code == (401 if surface.provider == "openai" else 400)
    assert message(surface, unknown).startswith("Incorrect API key provided: in")
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
_QUESTION = {"role": "user", "content": "What is the weather like?"}
#: What is wrong -> the surface, the changed members, and the status, param, code and message of the refusal.
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
}


@pytest.mark.parametrize("case", REFUSALS)
def test_openai_refuses_with_its_own_message(openai_sdk: Sdk, case: str) -> None:
    name, members, expected = REFUSALS[case]
    with pytest.raises(openai.APIStatusError) as caught:
        resource(openai_sdk(SURFACES[name]), SURFACES[name]).create(**opening(SURFACES[name], "single-call", **members))
    found = caught.value.response.json()["error"]
    assert f"{caught.value.status_code} {found['param']} {found['code']}: {found['message']}".startswith(expected)
    assert found["type"] == "invalid_request_error"


@pytest.mark.thorough(keep=1, per="{surface.name}")
@each_surface
@pytest.mark.parametrize("after", [0, 1, 2])
@pytest.mark.parametrize("kind", ["rate_limit", "overloaded", "server_error"])
def test_an_error_in_a_stream_is_raised_by_the_sdk(openai_sdk: Sdk, surface: Surface, kind: str, after: int) -> None:
    create, id = resource(openai_sdk(surface), surface).create, f"{kind}-{after}"
    with pytest.raises(openai.APIError) as caught:
        list(create(**opening(surface, id, stream=True)))
    assert not isinstance(caught.value, openai.APIConnectionError)
    with pytest.raises(openai.APIStatusError):
        create(**opening(surface, id))
    for broken, stream in ((f"reset-{after}", True), (f"reset-{after}", False), (f"cut-{after}", False)):
        with pytest.raises((httpx2.TransportError, openai.APIConnectionError)):
            answered(openai_sdk(surface), surface, opening(surface, broken, stream=stream))
