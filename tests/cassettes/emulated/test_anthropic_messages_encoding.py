"""The emulated Messages API encodes scripts as Anthropic does, and refuses and breaks off as Anthropic does."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any

import anthropic
import httpx2
import pytest

from tests.cassettes.emulated.script_library import LIBRARY
from toolparity.cassettes.emulated.servers import Servers
from toolparity.cassettes.recorder.script_driver import conversation
from toolparity.cassettes.scripts import scripts
from toolparity.cassettes.surfaces import SURFACES

SURFACE = SURFACES["anthropic.messages"]
THINKING = {"type": "enabled", "budget_tokens": 1024}
_BASE58 = "[1-9A-HJ-NP-Za-km-z]"
REQUEST_ID = f"req_011C{_BASE58}{{20}}"


@pytest.fixture(scope="module")
def sdk(servers: Servers) -> Iterator[anthropic.Anthropic]:
    with client(servers) as made:
        yield made


def client(servers: Servers, **options: Any) -> anthropic.Anthropic:
    return anthropic.Anthropic(base_url=servers.base(SURFACE), **{"api_key": "any", "max_retries": 0, **options})


def body(id: str, **members: Any) -> dict[str, Any]:
    opening = next(conversation(LIBRARY.get(id) or scripts()[id], SURFACE, stream=False))
    return {**opening, "thinking": {"type": "disabled"}, "max_tokens": 2048, **members}


def plain(sdk: anthropic.Anthropic, id: str, **members: Any) -> dict[str, Any]:
    raw = sdk.messages.with_raw_response.create(**body(id, **members))
    made: dict[str, Any] = json.loads(raw.http_response.content)
    return made


def streamed(sdk: anthropic.Anthropic, id: str, **members: Any) -> list[dict[str, Any]]:
    data = sdk.messages.with_raw_response.create(stream=True, **body(id, **members)).http_response.read()
    lines = data.decode().splitlines()
    return [json.loads(line.removeprefix("data: ")) for line in lines if line.startswith("data: ")]


def deltas(events: list[dict[str, Any]], type: str, member: str) -> list[str]:
    return [e["delta"][member] for e in events if e["type"] == "content_block_delta" and e["delta"]["type"] == type]


def test_an_answer_has_the_ids_and_members_of_its_model_and_the_limits_in_its_headers(sdk: anthropic.Anthropic) -> None:
    newer = plain(sdk, "words", model="claude-sonnet-5")
    assert newer["model"] == "claude-sonnet-5"
    assert newer["usage"]["output_tokens_details"] == {"thinking_tokens": 0}
    assert newer["usage"]["inference_geo"] == "global"
    assert plain(sdk, "own-id")["content"][0]["id"] == "my-own-1"
    assert plain(sdk, "no-object")["content"][0]["input"] == [1, 2]
    *_, cut = events = streamed(sdk, "cut-arguments")[:-1]
    assert [e["type"] for e in events if e["type"].startswith("content_block_st")] == ["content_block_start"]
    assert cut["delta"]["stop_reason"] == "max_tokens"
    headers = sdk.messages.with_raw_response.create(**body("words")).headers
    assert re.fullmatch(REQUEST_ID, headers["request-id"])
    for name in ("requests", "tokens", "input-tokens", "output-tokens"):
        limit, remaining = (int(headers[f"anthropic-ratelimit-{name}-{end}"]) for end in ("limit", "remaining"))
        assert 0 < remaining <= limit
        assert re.fullmatch(r"2026-\d\d-\d\dT\d\d:\d\d:\d\dZ", headers[f"anthropic-ratelimit-{name}-reset"])


def test_reasoning_is_shown_omitted_or_redacted_on_request(sdk: anthropic.Anthropic) -> None:
    assert [block["type"] for block in plain(sdk, "thinks")["content"]] == ["text", "tool_use"]
    made = plain(sdk, "thinks", thinking=THINKING)
    thought = made["content"][0]
    assert (thought["type"], thought["thinking"]) == ("thinking", "Let me see first.")
    assert made["usage"]["output_tokens_details"]["thinking_tokens"] > 0
    events = streamed(sdk, "thinks", thinking=THINKING)
    assert "".join(deltas(events, "thinking_delta", "thinking")) == "Let me see first."
    assert deltas(events, "signature_delta", "signature") == [thought["signature"]]
    omitted = plain(sdk, "thinks", thinking={**THINKING, "display": "omitted"})["content"][0]
    assert (omitted["thinking"], len(omitted["signature"]) > 100) == ("", True)
    redacted = plain(sdk, "withholds", thinking=THINKING)["content"][0]
    assert redacted == streamed(sdk, "withholds", thinking=THINKING)[1]["content_block"]
    assert (redacted["type"], "secret" in json.dumps(redacted)) == ("redacted_thinking", False)


def test_code_runs_in_the_first_version_of_the_tool_and_hosted_tools_can_fail(sdk: anthropic.Anthropic) -> None:
    first = [{"type": "code_execution_20250522", "name": "code_execution"}]
    call, result = plain(sdk, "runs", tools=first)["content"]
    assert (call["name"], result["type"]) == ("code_execution", "code_execution_tool_result")
    assert call["input"] == {"code": "print(2+2)"}
    for id, kind in (("crashes", "bash_code_execution"), ("finds-nothing", "web_search")):
        failed = plain(sdk, id)["content"][1]["content"]
        assert failed == {"type": f"{kind}_tool_result_error", "error_code": "unavailable"}


REFUSALS = {
    "rate_limit": (anthropic.RateLimitError, 429, "rate_limit_error"),
    "overloaded": (anthropic.InternalServerError, 529, "overloaded_error"),
    "server_error": (anthropic.InternalServerError, 500, "api_error"),
    "authentication": (anthropic.AuthenticationError, 401, "authentication_error"),
}


@pytest.mark.parametrize("stream", [False, True], ids=["plain", "streamed"])
@pytest.mark.parametrize("kind", REFUSALS)
def test_a_script_refuses_with_anthropics_errors(sdk: anthropic.Anthropic, kind: str, stream: bool) -> None:
    raised, status, type = REFUSALS[kind]
    with pytest.raises(raised) as caught:
        sdk.messages.create(**body(kind), stream=stream)
    error: Any = caught.value
    assert (error.status_code, error.type) == (status, type)
    assert set(error.body) == {"type", "error", "request_id"}
    assert re.fullmatch(REQUEST_ID, error.request_id or "")
    assert error.body["request_id"] == error.request_id
    assert error.response.headers.get("retry-after") == ("3" if kind == "rate_limit" else None)


def test_a_missing_and_an_unknown_key_are_refused(servers: Servers) -> None:
    with (
        client(servers, api_key="invalid-key") as sdk,
        pytest.raises(anthropic.AuthenticationError, match="invalid x-api-key"),
    ):
        sdk.messages.create(**body("words"))
    reply = httpx2.post(f"{servers.base(SURFACE)}/v1/messages", json=body("words"))
    assert (reply.status_code, reply.json()["error"]["type"]) == (401, "authentication_error")


_CALL = {"role": "assistant", "content": [{"type": "tool_use", "id": "toolu_1", "name": "look", "input": {}}]}
_QUESTION = {"role": "user", "content": "Play words."}
#: What is wrong -> the changed members of the request, the type of the error, and a part of its message.
BROKEN: dict[str, tuple[dict[str, Any], str, str]] = {
    "an unknown model": ({"model": "no-such-model"}, "not_found_error", "model: no-such-model"),
    "no limit": ({"max_tokens": 0}, "invalid_request_error", "max_tokens"),
    "messages that are not a list": ({"messages": "text"}, "invalid_request_error", ""),
    "a call without a result": ({"messages": [_QUESTION, _CALL, _QUESTION]}, "invalid_request_error", "messages.1"),
    "an unknown beginning": ({"messages": [{**_QUESTION, "content": "Hm."}]}, "invalid_request_error", "no script"),
    "a question after the script's end": (
        {"messages": [_QUESTION, {"role": "assistant", "content": "Just words."}, _QUESTION]},
        "invalid_request_error",
        "1 rounds",
    ),
}


@pytest.mark.parametrize("case", BROKEN)
def test_a_request_that_breaks_a_rule_is_refused(sdk: anthropic.Anthropic, case: str) -> None:
    members, type, message = BROKEN[case]
    with pytest.raises(anthropic.APIStatusError) as caught:
        sdk.messages.create(**body("words", **members))
    assert (caught.value.type, message in str(caught.value.api_message)) == (type, True)


def test_an_error_during_a_stream_is_raised_by_the_sdk(sdk: anthropic.Anthropic) -> None:
    for id, type in (("overloaded-1", "overloaded_error"), ("server_error-1", "api_error")):
        with sdk.messages.stream(**body(id)) as stream, pytest.raises(anthropic.APIStatusError) as caught:
            list(stream.text_stream)
        assert caught.value.type == type
    with pytest.raises((anthropic.APIConnectionError, httpx2.RemoteProtocolError)):
        list(sdk.messages.create(**body("reset-1"), stream=True))
