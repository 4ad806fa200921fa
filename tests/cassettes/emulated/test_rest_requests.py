"""The emulated providers of OpenAI and xAI answer what a request asks for, store answers, and echo tools."""

from __future__ import annotations

import json
from typing import Any

import openai
import pytest

from tests.cassettes.emulated.callers import REST_SURFACES, Answered, Sdk, answered, opening, resource
from tests.cassettes.emulated.fidelity import payloads
from tests.cassettes.emulated.script_library import TEXT
from toolparity.cassettes.emulated.script_player import tokens
from toolparity.cassettes.emulated.servers import running
from toolparity.cassettes.surfaces import SURFACES, Surface
from toolparity.normalizer.model import Reasoning, ServerToolCall

each_surface = pytest.mark.parametrize("surface", REST_SURFACES, ids=lambda surface: surface.name)
OPENAI_CHAT, OPENAI_RESPONSES, XAI_CHAT, XAI_RESPONSES = REST_SURFACES
on_responses = pytest.mark.parametrize("surface", [OPENAI_RESPONSES, XAI_RESPONSES], ids=lambda surface: surface.name)
THOUGHT = "Let me see first."


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
        assert raw.request_id.startswith("req_")
        assert raw.headers["openai-version"] == "2020-10-01"
        assert raw.headers["openai-processing-ms"].isdigit()
    else:
        assert len(raw.request_id) == 36
        assert "openai-version" not in raw.headers


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
def test_a_stream_has_the_pieces_ids_and_indexes_of_the_script(openai_sdk: Sdk, surface: Surface) -> None:
    for id, pieces in (("characters", list(TEXT)), ("whole", [TEXT])):
        found = events(answered(openai_sdk(surface), surface, opening(surface, id, stream=True)))
        if surface.wire == "openai.chat":
            texts = [choice["delta"].get("content") for event in found for choice in event["choices"]]
        else:
            texts = [event["delta"] for event in found if event["type"] == "response.output_text.delta"]
        assert [text for text in texts if text] == pieces
    answer = answered(openai_sdk(surface), surface, opening(surface, "own-index", stream=True))
    assert [call.id for call in answer.response.calls] == ["call-ä"]
    if surface.wire == "openai.chat":
        deltas = [choice["delta"] for event in events(answer) for choice in event["choices"]]
        heads = [call for delta in deltas for call in delta.get("tool_calls", ()) if "id" in call]
        assert [(call["id"], call["index"]) for call in heads] == [("call-ä", 3)]


@pytest.mark.parametrize("stream", [False, True], ids=["plain", "streamed"])
def test_reasoning_is_counted_everywhere_and_shown_as_the_surface_does(openai_sdk: Sdk, stream: bool) -> None:
    asked = {"reasoning": {"summary": "auto"}, "include": ["reasoning.encrypted_content"]}
    for surface, members, shown in (
        (OPENAI_CHAT, {}, []),
        (OPENAI_RESPONSES, {"reasoning": {}, "include": []}, [("", False)]),
        (OPENAI_RESPONSES, asked, [(THOUGHT, True)]),
        (XAI_CHAT, {}, [(THOUGHT, False)]),
        (XAI_RESPONSES, {"include": []}, [(THOUGHT, False)]),
    ):
        answer = answered(openai_sdk(surface), surface, opening(surface, "thinks", stream=stream, **members))
        found = [block for block in answer.response.choices[0].blocks if isinstance(block, Reasoning)]
        assert [(one.text, (one.encrypted or "").startswith("gAAAAAB")) for one in found] == shown
        usage = answer.response.usage
        assert usage is not None
        assert usage.reasoning_tokens == tokens(THOUGHT) < (usage.output_tokens or 0)
        if surface.wire == "openai.chat":  # whose completion tokens include the reasoning at OpenAI, and not at xAI
            raw = (events(answer)[-1] if stream else json.loads(answer.data))["usage"]
            beside = tokens(THOUGHT) if surface.provider == "xai" else 0
            assert raw["total_tokens"] == raw["prompt_tokens"] + raw["completion_tokens"] + beside


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
    found = events(answered(openai_sdk(surface), surface, opening(surface, "searches", stream=True)))
    assert [event["sequence_number"] for event in found] == list(range(len(found)))
    announced = [event for event in found if event["type"] == "response.output_text.annotation.added"]
    message = found[-1]["response"]["output"][-1]
    assert [event["annotation"] for event in announced] == message["content"][0]["annotations"]
    assert [(event["annotation_index"], event["item_id"]) for event in announced] == [
        (n, message["id"]) for n in (0, 1)
    ]


def test_a_search_on_x_looks_like_a_custom_call_that_the_caller_need_not_answer(openai_sdk: Sdk) -> None:
    for stream in (False, True):
        body = opening(XAI_RESPONSES, "reads-x", stream=stream)
        answer = answered(openai_sdk(XAI_RESPONSES), XAI_RESPONSES, body)
        assert b'"name":"x_keyword_search"' in answer.data
        assert b'"type":"custom_tool_call"' in answer.data
        assert answer.response.calls == []
        blocks = answer.response.choices[0].blocks
        assert [block.tool for block in blocks if isinstance(block, ServerToolCall)] == ["x_search"]


@on_responses
def test_a_stored_answer_can_be_continued_and_read_again(openai_sdk: Sdk, surface: Surface) -> None:
    sdk = openai_sdk(surface)
    first = sdk.responses.create(**opening(surface, "single-call"))
    call = next(item for item in first.output if item.type == "function_call")
    result: Any = [{"type": "function_call_output", "call_id": call.call_id, "output": "dry"}]
    second = sdk.responses.create(model=surface.model, input=result, previous_response_id=first.id)
    assert second.output_text == "No umbrella needed: Lisbon stays dry tomorrow, with 24 degrees."
    assert second.previous_response_id == first.id
    assert sdk.responses.retrieve(first.id).to_dict() == first.to_dict()


@on_responses
def test_an_answer_that_is_not_stored_is_forgotten(surface: Surface) -> None:
    with running() as servers, openai.OpenAI(base_url=servers.base(surface), api_key="any", max_retries=0) as sdk:
        first = sdk.responses.create(**opening(surface, "text-only", store=False))
        with pytest.raises(openai.NotFoundError):
            sdk.responses.retrieve(first.id)
        with pytest.raises(openai.APIStatusError) as caught:
            sdk.responses.create(model=surface.model, input="Continue.", previous_response_id=first.id)
        assert f"Previous response with id '{first.id}' not found." in caught.value.response.text


def test_tools_are_echoed_as_openai_reads_them(openai_sdk: Sdk) -> None:
    surface = SURFACES["openai.responses"]
    body = opening(surface, "single-call")
    for strict, expected in ((None, (True, True)), (False, (False, False))):
        body["tools"][0]["strict"] = strict
        (tool,) = openai_sdk(surface).responses.create(**body).tools
        assert tool.type == "function"
        assert (tool.strict, "additionalProperties" in (tool.parameters or {})) == expected
