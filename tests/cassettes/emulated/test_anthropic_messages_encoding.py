"""How the emulated Messages API spells what scripts say, and how it refuses and breaks."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any

import anthropic
import httpx2
import pytest

from tests.cassettes.emulated.library import LIBRARY
from toolparity import normalize
from toolparity.cassettes.emulated.servers import Servers, running
from toolparity.cassettes.scripts import scripts
from toolparity.cassettes.surfaces import SURFACES

SURFACE = SURFACES["anthropic.messages"]
THINKING = {"type": "enabled", "budget_tokens": 1024}
SEARCH = {"type": "web_search_20250305", "name": "web_search"}
_BASE58 = "[1-9A-HJ-NP-Za-km-z]"


@pytest.fixture(scope="module")
def own() -> Iterator[Servers]:
    with running(LIBRARY) as up:
        yield up


@pytest.fixture(scope="module")
def sdk(own: Servers) -> Iterator[anthropic.Anthropic]:
    with client(own) as made:
        yield made


def client(servers: Servers, **more: Any) -> anthropic.Anthropic:
    return anthropic.Anthropic(base_url=servers.base(SURFACE), **{"api_key": "any", "max_retries": 0, **more})


def body(id: str, **more: Any) -> dict[str, Any]:
    script = LIBRARY[id]
    tools: list[dict[str, Any]] = [
        {"name": tool.name, "description": tool.description, "input_schema": tool.parameters} for tool in script.tools
    ]
    hosted = {"web_search": SEARCH, "code_execution": {"type": "code_execution_20250825", "name": "code_execution"}}
    tools += [hosted[name] for name in script.hosted]
    asked = {"model": SURFACE.model, "max_tokens": 2048, "messages": [{"role": "user", "content": script.ask}]}
    return {**asked, **({"tools": tools} if tools else {}), **more}


def plain(sdk: anthropic.Anthropic, id: str, **more: Any) -> dict[str, Any]:
    raw = sdk.messages.with_raw_response.create(**body(id, **more))
    made: dict[str, Any] = json.loads(raw.http_response.content)
    return made


def streamed(sdk: anthropic.Anthropic, id: str, **more: Any) -> list[dict[str, Any]]:
    raw = sdk.messages.with_raw_response.create(stream=True, **body(id, **more))
    lines = raw.http_response.read().decode().splitlines()
    events = [json.loads(line.removeprefix("data: ")) for line in lines if line.startswith("data: ")]
    names = [line.removeprefix("event: ") for line in lines if line.startswith("event: ")]
    assert names == [event["type"] for event in events]
    return events


def deltas(events: list[dict[str, Any]], type: str, member: str) -> list[str]:
    return [e["delta"][member] for e in events if e["type"] == "content_block_delta" and e["delta"]["type"] == type]


def test_an_answer_carries_ids_the_snapshot_and_the_members_of_the_newest_answers(sdk: anthropic.Anthropic) -> None:
    made = plain(sdk, "calls")
    assert re.fullmatch(f"msg_01{_BASE58}{{22}}", made["id"])
    assert made["model"] == "claude-haiku-4-5-20251001"
    assert [block["type"] for block in made["content"]] == ["text", "tool_use", "tool_use"]
    call = made["content"][1]
    assert re.fullmatch(f"toolu_01{_BASE58}{{22}}", call.pop("id"))
    assert call == {"type": "tool_use", "name": "look", "input": {"what": "a"}, "caller": {"type": "direct"}}
    assert (made["stop_reason"], made["stop_sequence"], made["stop_details"]) == ("tool_use", None, None)
    assert "container" not in made
    assert "server_tool_use" not in made["usage"]


def test_a_newer_model_has_one_name_and_tells_its_thinking_tokens(sdk: anthropic.Anthropic) -> None:
    made = plain(sdk, "said", model="claude-sonnet-5")
    assert made["model"] == "claude-sonnet-5"
    assert made["usage"]["output_tokens_details"] == {"thinking_tokens": 0}
    assert made["usage"]["inference_geo"] == "global"


def test_a_stream_opens_and_closes_its_blocks_one_after_the_other(sdk: anthropic.Anthropic) -> None:
    events = streamed(sdk, "calls")
    types = [event["type"] for event in events if event["type"] != "content_block_delta"]
    assert types[:3] == ["message_start", "content_block_start", "ping"]
    assert types[3:] == [
        "content_block_stop",
        *["content_block_start", "content_block_stop"] * 2,
        "message_delta",
        "message_stop",
    ]
    assert [e["index"] for e in events if e["type"] == "content_block_start"] == [0, 1, 2]
    assert events[0]["message"]["content"] == []
    assert events[0]["message"]["stop_reason"] is None
    assert events[0]["message"]["usage"]["output_tokens"] < events[-2]["usage"]["output_tokens"]


def test_the_input_of_a_call_begins_with_an_empty_piece(sdk: anthropic.Anthropic) -> None:
    assert deltas(streamed(sdk, "own-id"), "input_json_delta", "partial_json")[0] == ""
    assert deltas(streamed(sdk, "nothing"), "input_json_delta", "partial_json") == [""]


def test_a_block_in_which_the_answer_is_cut_is_not_closed(servers: Servers) -> None:
    script = scripts()["truncated-arguments"]
    tools = [{"name": tool.name, "input_schema": tool.parameters} for tool in script.tools]
    asked = {"model": SURFACE.model, "max_tokens": 64, "messages": [{"role": "user", "content": script.ask}]}
    with client(servers) as sdk:
        events = list(sdk.messages.create(**asked, tools=tools, stream=True))
    kinds = [event.type for event in events if event.type in ("content_block_start", "content_block_stop")]
    assert kinds == ["content_block_start", "content_block_stop", "content_block_start"]
    assert events[-2].delta.stop_reason == "max_tokens"


def test_pieces_are_as_the_script_wants_them(sdk: anthropic.Anthropic) -> None:
    assert deltas(streamed(sdk, "letters"), "text_delta", "text") == list("First this.")
    assert deltas(streamed(sdk, "whole"), "text_delta", "text") == ["First this."]
    assert deltas(streamed(sdk, "whole"), "input_json_delta", "partial_json") == [
        "",
        '{"what":"a"}',
        "",
        '{"what":"b"}',
    ]
    assert 1 < len(deltas(streamed(sdk, "calls"), "text_delta", "text")) < len("First this.")


def test_a_scripts_own_id_stands_on_the_wire(sdk: anthropic.Anthropic) -> None:
    assert plain(sdk, "own-id")["content"][0]["id"] == "my-own-1"


def test_reasoning_is_shown_to_those_who_ask(sdk: anthropic.Anthropic) -> None:
    assert [block["type"] for block in plain(sdk, "thinks")["content"]] == ["text", "tool_use"]
    made = plain(sdk, "thinks", thinking=THINKING)
    thought = made["content"][0]
    assert (thought["type"], thought["thinking"]) == ("thinking", "Let me see first.")
    assert made["usage"]["output_tokens_details"]["thinking_tokens"] > 0
    events = streamed(sdk, "thinks", thinking=THINKING)
    assert "".join(deltas(events, "thinking_delta", "thinking")) == "Let me see first."
    assert deltas(events, "signature_delta", "signature") == [thought["signature"]]


def test_reasoning_that_is_omitted_keeps_its_signature(sdk: anthropic.Anthropic) -> None:
    thought = plain(sdk, "thinks", thinking={**THINKING, "display": "omitted"})["content"][0]
    assert thought["thinking"] == ""
    assert len(thought["signature"]) > 100


def test_withheld_reasoning_is_redacted(sdk: anthropic.Anthropic) -> None:
    made = plain(sdk, "withholds", thinking=THINKING)["content"][0]
    start = streamed(sdk, "withholds", thinking=THINKING)[1]["content_block"]
    assert made == start
    assert made["type"] == "redacted_thinking"
    assert "Nobody" not in json.dumps(made)


def test_a_search_stands_before_the_text_that_cites_it(sdk: anthropic.Anthropic) -> None:
    made = plain(sdk, "searches")
    call, result, text, rest = made["content"]
    assert (call["type"], call["name"], call["input"]) == ("server_tool_use", "web_search", {"query": "when"})
    assert re.fullmatch(f"srvtoolu_01{_BASE58}{{22}}", call["id"])
    assert (result["type"], result["tool_use_id"]) == ("web_search_tool_result", call["id"])
    assert [(hit["url"], hit["title"]) for hit in result["content"]] == [
        ("https://example.com/a", "A page"),
        ("https://example.org/b", "Another page"),
    ]
    assert text["citations"][0]["cited_text"] == "It was built in 1758."
    assert "citations" not in rest
    assert made["stop_reason"] == "end_turn"
    assert made["usage"]["server_tool_use"] == {"web_search_requests": 1, "web_fetch_requests": 0}
    cited = [e["delta"]["citation"] for e in streamed(sdk, "searches") if e.get("delta", {}).get("citation")]
    assert cited == text["citations"]


def test_a_search_can_fail(sdk: anthropic.Anthropic) -> None:
    result = plain(sdk, "finds-nothing")["content"][1]
    assert result["content"] == {"type": "web_search_tool_result_error", "error_code": "max_uses_exceeded"}


def test_code_runs_in_a_shell_or_in_the_first_version_of_the_tool(sdk: anthropic.Anthropic) -> None:
    made = plain(sdk, "runs")
    call, result, _ = made["content"]
    assert (call["name"], result["type"]) == ("bash_code_execution", "bash_code_execution_tool_result")
    assert "print(2+2)" in call["input"]["command"]
    assert (result["content"]["stdout"], result["content"]["return_code"]) == ("4\n", 0)
    assert set(made["container"]) == {"id", "expires_at"}
    first = [{"type": "code_execution_20250522", "name": "code_execution"}]
    call, result, _ = plain(sdk, "runs", tools=first)["content"]
    assert (call["name"], result["type"]) == ("code_execution", "code_execution_tool_result")
    assert call["input"] == {"code": "print(2+2)"}
    failed = plain(sdk, "crashes")["content"][1]["content"]
    assert failed == {"type": "bash_code_execution_tool_result_error", "error_code": "unavailable"}


def test_a_refusal_is_told_by_the_stop_and_its_details(sdk: anthropic.Anthropic) -> None:
    made = plain(sdk, "refuses")
    assert (made["stop_reason"], made["stop_details"]["type"]) == ("refusal", "refusal")
    delta = streamed(sdk, "refuses")[-2]["delta"]
    assert (delta["stop_reason"], delta["stop_details"]) == ("refusal", made["stop_details"])


def test_a_pause_is_continued_by_sending_the_answer_back(sdk: anthropic.Anthropic) -> None:
    first = plain(sdk, "pauses")
    assert first["stop_reason"] == "pause_turn"
    asked = body("pauses")["messages"]
    second = plain(sdk, "pauses", messages=[*asked, {"role": "assistant", "content": first["content"]}])
    assert [block["text"] for block in second["content"]] == ["In 1758."]


def test_no_call_is_made_where_calls_are_forbidden_and_one_where_several_are(sdk: anthropic.Anthropic) -> None:
    none = plain(sdk, "calls", tool_choice={"type": "none"})
    assert ([block["type"] for block in none["content"]], none["stop_reason"]) == (["text"], "end_turn")
    one = plain(sdk, "calls", tool_choice={"type": "auto", "disable_parallel_tool_use": True})
    assert [block["input"] for block in one["content"] if block["type"] == "tool_use"] == [{"what": "a"}]


REFUSALS = {
    "rate_limit": (anthropic.RateLimitError, 429, "rate_limit_error"),
    "overloaded": (anthropic.InternalServerError, 529, "overloaded_error"),
    "server_error": (anthropic.InternalServerError, 500, "api_error"),
    "authentication": (anthropic.AuthenticationError, 401, "authentication_error"),
}


@pytest.mark.parametrize("stream", [False, True], ids=["plain", "streamed"])
@pytest.mark.parametrize("kind", REFUSALS)
def test_a_script_refuses_in_anthropics_words(sdk: anthropic.Anthropic, kind: str, stream: bool) -> None:
    raised, status, type = REFUSALS[kind]
    with pytest.raises(raised) as told:
        sdk.messages.create(**body(kind), stream=stream)
    error = told.value
    assert isinstance(error, anthropic.APIStatusError)
    assert (error.status_code, error.type) == (status, type)
    assert isinstance(error.body, dict)
    assert set(error.body) == {"type", "error", "request_id"}
    assert re.fullmatch(f"req_011C{_BASE58}{{20}}", error.request_id or "")
    assert error.body["request_id"] == error.request_id
    assert error.response.headers.get("retry-after") == ("3" if kind == "rate_limit" else None)


def test_the_sdk_tries_again_where_it_is_told_to(own: Servers) -> None:
    waited = []
    with client(own, max_retries=2) as sdk, pytest.MonkeyPatch.context() as patch:
        patch.setattr("time.sleep", waited.append)
        with pytest.raises(anthropic.RateLimitError) as told:
            sdk.messages.create(**body("rate_limit"))
    assert told.value.response.request.headers["x-stainless-retry-count"] == "2"
    assert waited == [3, 3]


def test_a_key_is_needed_and_has_to_be_known(own: Servers) -> None:
    with (
        client(own, api_key="invalid-key") as sdk,
        pytest.raises(anthropic.AuthenticationError, match="invalid x-api-key"),
    ):
        sdk.messages.create(**body("said"))
    reply = httpx2.post(f"{own.base(SURFACE)}/v1/messages", json=body("said"))
    assert (reply.status_code, reply.json()["error"]["type"]) == (401, "authentication_error")


def test_a_model_that_is_not_there_is_not_found(sdk: anthropic.Anthropic) -> None:
    with pytest.raises(anthropic.NotFoundError) as told:
        sdk.messages.create(**body("said", model="no-such-model"))
    assert (told.value.type, told.value.api_message) == ("not_found_error", "model: no-such-model")


BROKEN = {
    "no limit": ({"max_tokens": 0}, "max_tokens"),
    "an unanswered call": (
        {
            "messages": [
                {"role": "user", "content": "Play calls."},
                {"role": "assistant", "content": [{"type": "tool_use", "id": "toolu_1", "name": "look", "input": {}}]},
                {"role": "user", "content": "And?"},
            ]
        },
        "messages.1",
    ),
    "an unknown beginning": ({"messages": [{"role": "user", "content": "Play something else."}]}, "no script"),
}


@pytest.mark.parametrize("case", BROKEN)
def test_a_request_against_the_rules_is_refused(sdk: anthropic.Anthropic, case: str) -> None:
    changed, said = BROKEN[case]
    with pytest.raises(anthropic.BadRequestError) as told:
        sdk.messages.create(**body("calls", **changed))
    assert told.value.type == "invalid_request_error"
    assert said in str(told.value.api_message)


@pytest.mark.parametrize(("id", "type"), [("late-overloaded", "overloaded_error"), ("late-server_error", "api_error")])
def test_an_error_can_come_in_the_midst_of_a_stream(sdk: anthropic.Anthropic, id: str, type: str) -> None:
    heard: list[str] = []
    with sdk.messages.stream(**body(id)) as stream, pytest.raises(anthropic.APIStatusError) as told:
        heard.extend(stream.text_stream)
    assert "".join(heard) == "First this."
    assert told.value.type == type
    response = normalize(raw_bytes(sdk, id), "anthropic.messages")
    assert response.error is not None
    assert response.error.type == type
    assert not response.complete


def test_a_stream_can_end_without_its_last_event(sdk: anthropic.Anthropic) -> None:
    response = normalize(raw_bytes(sdk, "late-cut"), "anthropic.messages")
    assert not response.complete
    assert response.error is None
    assert response.choices[0].text == "First this."


def test_a_connection_can_break(sdk: anthropic.Anthropic) -> None:
    with pytest.raises(httpx2.RemoteProtocolError):
        raw_bytes(sdk, "late-reset")
    with pytest.raises((anthropic.APIConnectionError, httpx2.RemoteProtocolError)):
        list(sdk.messages.create(**body("late-reset"), stream=True))


def raw_bytes(sdk: anthropic.Anthropic, id: str) -> bytes:
    raw = sdk.messages.with_raw_response.create(stream=True, **body(id))
    data: bytes = raw.http_response.read()
    return data


def test_events_are_padded_and_still_json(sdk: anthropic.Anthropic) -> None:
    lines = [line for line in raw_bytes(sdk, "calls").splitlines() if line.startswith(b"data: ")]
    assert any(line.endswith(b" }") for line in lines)
    assert b'data: {"type": "ping"}' in lines


def test_answers_carry_the_limits_in_their_headers(sdk: anthropic.Anthropic) -> None:
    headers = sdk.messages.with_raw_response.create(**body("said")).headers
    assert re.fullmatch(f"req_011C{_BASE58}{{20}}", headers["request-id"])
    for what in ("requests", "tokens", "input-tokens", "output-tokens"):
        limit, remaining = (int(headers[f"anthropic-ratelimit-{what}-{end}"]) for end in ("limit", "remaining"))
        assert 0 < remaining <= limit
        assert re.fullmatch(r"2026-\d\d-\d\dT\d\d:\d\d:\d\dZ", headers[f"anthropic-ratelimit-{what}-reset"])


def test_arguments_that_are_no_object_stand_in_a_plain_body_as_they_are(sdk: anthropic.Anthropic) -> None:
    assert plain(sdk, "no-object")["content"][0]["input"] == [1, 2]
    assert "".join(deltas(streamed(sdk, "no-object"), "input_json_delta", "partial_json")) == "[1,2]"


def test_the_script_ends_where_it_ends(sdk: anthropic.Anthropic) -> None:
    asked = body("said")["messages"]
    more = [*asked, {"role": "assistant", "content": "Just words."}, {"role": "user", "content": "More!"}]
    with pytest.raises(anthropic.BadRequestError, match="1 rounds"):
        sdk.messages.create(**body("said", messages=more))


def test_a_body_that_is_no_request_is_refused_and_breaks_nothing(sdk: anthropic.Anthropic) -> None:
    with pytest.raises(anthropic.BadRequestError):
        sdk.messages.create(**body("said", messages="no list"))
    assert plain(sdk, "said")["content"][0]["text"] == "Just words, some of them."
