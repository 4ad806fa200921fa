"""What an emulated provider reads in a request: choices of tools, what it keeps between requests, what it echoes."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import openai
import pytest

from tests.cassettes.emulated.callers import SURFACES_HERE, heard, opening, resource
from tests.cassettes.emulated.extra import EXTRA
from tests.cassettes.emulated.fidelity import payloads
from toolparity import Response
from toolparity.cassettes.emulated.script_player import tokens
from toolparity.cassettes.emulated.servers import running
from toolparity.cassettes.scripts import scripts
from toolparity.cassettes.surfaces import SURFACES, Surface
from toolparity.normalizer.model import Reasoning, ServerToolCall

Sdk = Callable[[Surface], openai.OpenAI]
here = pytest.mark.parametrize("surface", SURFACES_HERE, ids=lambda surface: surface.name)
responses = pytest.mark.parametrize(
    "surface", [SURFACES["openai.responses"], SURFACES["xai.responses"]], ids=lambda surface: surface.name
)


def thoughts(response: Response) -> list[Reasoning]:
    return [block for block in response.choices[0].blocks if isinstance(block, Reasoning)]


THREE = scripts()["parallel-three"]


@pytest.mark.thorough(keep=1, per="{surface.name}")
@here
@pytest.mark.parametrize("stream", [False, True], ids=["plain", "streamed"])
@pytest.mark.parametrize(
    ("asked", "made"),
    [
        ({"tool_choice": "none"}, 0),
        ({"parallel_tool_calls": False}, 1),
        ({"parallel_tool_calls": True}, 3),
        ({"tool_choice": "auto"}, 3),
    ],
    ids=["none", "one at a time", "several at once", "auto"],
)
def test_calls_are_made_as_the_request_allows(
    sdk: Sdk, surface: Surface, asked: dict[str, Any], made: int, stream: bool
) -> None:
    response = heard(sdk(surface), surface, opening(surface, THREE, stream=stream, **asked)).response
    assert [call.arguments_text for call in response.choices[0].calls] == [call.text for call in THREE.rounds[0].calls][
        :made
    ]
    assert response.choices[0].text == "I will look at both cities and at your calendar."
    assert response.choices[0].stop.reason == ("tool_calls" if made else "end_turn")


@here
def test_who_is_asked_answers(sdk: Sdk, surface: Surface) -> None:
    snapshot = {"openai": ("gpt-4.1", "gpt-4.1-2025-04-14"), "xai": ("grok-4", "grok-4-0709")}[surface.provider]
    body = {**opening(surface, scripts()["text-only"]), "model": snapshot[0]}
    assert heard(sdk(surface), surface, body).response.model == snapshot[1]


@pytest.mark.parametrize("surface", [SURFACES["openai.chat"], SURFACES["xai.chat"]], ids=lambda s: s.name)
def test_usage_comes_in_a_chat_stream_only_where_it_is_asked_for(sdk: Sdk, surface: Surface) -> None:
    body = opening(surface, THREE, stream=True)
    asked = [chunk for _, chunk in payloads(heard(sdk(surface), surface, body).data)]
    del body["stream_options"]
    unasked = [chunk for _, chunk in payloads(heard(sdk(surface), surface, body).data)]
    assert asked[-1]["choices"] == []
    assert asked[-1]["usage"]["total_tokens"] > 0
    assert all("usage" not in chunk for chunk in unasked)
    assert len(unasked) == len(asked) - 1


@pytest.mark.parametrize("surface", [SURFACES["openai.chat"], SURFACES["openai.responses"]], ids=lambda s: s.name)
def test_openai_fills_deltas_up_unless_told_not_to(sdk: Sdk, surface: Surface) -> None:
    body = opening(surface, THREE, stream=True)
    filled = [event for _, event in payloads(heard(sdk(surface), surface, body).data) if "obfuscation" in event]
    bare = {**body, "stream_options": {**body.get("stream_options", {}), "include_obfuscation": False}}
    plain = [event for _, event in payloads(heard(sdk(surface), surface, bare).data) if "obfuscation" in event]
    assert len(filled) > 10
    assert plain == []


@here
@pytest.mark.parametrize(("id", "most"), [("characters", 1), ("whole", 99)])
def test_streams_are_cut_as_the_script_says(sdk: Sdk, surface: Surface, id: str, most: int) -> None:
    script = EXTRA[id]
    answer = heard(sdk(surface), surface, opening(surface, script, stream=True))
    words = []
    for event, payload in payloads(answer.data):
        if event == "chunk" and payload["choices"]:
            words.append(payload["choices"][0]["delta"].get("content") or "")
        elif event == "response.output_text.delta":
            words.append(payload["delta"])
    cut = [piece for piece in words if piece]
    text = script.rounds[0].parts[0].text  # type: ignore[union-attr]
    assert "".join(cut) == text
    assert max(map(len, cut)) <= most
    assert len(cut) == (len(text) if most == 1 else 1)


def test_ids_and_places_in_the_stream_are_the_scripts_where_it_has_some(sdk: Sdk) -> None:
    for name in ("openai.chat", "xai.chat"):
        answer = heard(sdk(SURFACES[name]), SURFACES[name], opening(SURFACES[name], EXTRA["ids"], stream=True))
        heads = [
            call
            for _, chunk in payloads(answer.data)
            for choice in chunk["choices"]
            for call in choice["delta"].get("tool_calls", ())
            if "id" in call
        ]
        assert [(call["id"], call["index"]) for call in heads] == [("call-ä", 3)]
        assert [call.id for call in answer.response.choices[0].calls] == ["call-ä"]


@pytest.mark.parametrize("stream", [False, True], ids=["plain", "streamed"])
def test_reasoning_is_shown_where_the_surface_shows_it(sdk: Sdk, stream: bool) -> None:
    script, shown = EXTRA["thinks"], {}
    for surface in SURFACES_HERE:
        response = heard(sdk(surface), surface, opening(surface, script, stream=stream)).response
        shown[surface.name] = [thought.text for thought in thoughts(response)]
        assert response.usage is not None
        assert response.usage.reasoning_tokens == tokens("The weather decides.")
        assert response.usage.output_tokens is not None
        assert response.usage.output_tokens > response.usage.reasoning_tokens
    assert shown == {
        "openai.chat": [],
        "openai.responses": [""],
        "xai.chat": ["The weather decides."],
        "xai.responses": ["The weather decides."],
    }


def test_openai_shows_the_words_and_the_sealed_form_of_reasoning_where_asked(sdk: Sdk) -> None:
    surface = SURFACES["openai.responses"]
    more = {"reasoning": {"summary": "auto"}, "include": ["reasoning.encrypted_content"]}
    for stream in (False, True):
        response = heard(sdk(surface), surface, opening(surface, EXTRA["thinks"], stream=stream, **more)).response
        thought = thoughts(response)[0]
        assert thought.text == "The weather decides."
        assert thought.encrypted is not None
        assert thought.encrypted.startswith("gAAAAAB")


@responses
def test_a_server_call_is_told_with_what_it_found(sdk: Sdk, surface: Surface) -> None:
    script = scripts()["server-search"]
    more = {"include": ["web_search_call.action.sources"]}
    answer = heard(sdk(surface), surface, opening(surface, script, **more))
    body = json.loads(answer.data)
    search = next(item for item in body["output"] if item["type"] == "web_search_call")
    message = next(item for item in body["output"] if item["type"] == "message")
    urls = ["https://example.com/bridge", "https://example.org/history"]
    assert search["status"] == "completed"
    assert [source["url"] for source in search["action"]["sources"]] == urls
    assert [note["url"] for note in message["content"][0]["annotations"]] == urls


@responses
def test_a_stream_announces_each_citation_that_the_message_holds(sdk: Sdk, surface: Surface) -> None:
    answer = heard(sdk(surface), surface, opening(surface, scripts()["server-search"], stream=True))
    events = [event for _, event in payloads(answer.data)]
    announced = [event for event in events if event["type"] == "response.output_text.annotation.added"]
    message = events[-1]["response"]["output"][-1]
    assert len(announced) == 2
    assert [event["annotation"] for event in announced] == message["content"][0]["annotations"]
    assert [event["annotation_index"] for event in announced] == [0, 1]
    assert {event["item_id"] for event in announced} == {message["id"]}


@pytest.mark.parametrize("stream", [False, True], ids=["plain", "streamed"])
def test_reasoning_is_part_of_the_completion_tokens_at_openai_and_not_at_xai(sdk: Sdk, stream: bool) -> None:
    thought = tokens("The weather decides.")
    for surface in (SURFACES["openai.chat"], SURFACES["xai.chat"]):
        answer = heard(sdk(surface), surface, opening(surface, EXTRA["thinks"], stream=stream))
        body = [payload for _, payload in payloads(answer.data)][-1] if stream else json.loads(answer.data)
        usage = body["usage"]
        beside = thought if surface.provider == "xai" else 0
        assert usage["completion_tokens_details"]["reasoning_tokens"] == thought
        assert usage["total_tokens"] == usage["prompt_tokens"] + usage["completion_tokens"] + beside


@responses
def test_code_that_the_provider_runs_is_told_with_its_output(sdk: Sdk, surface: Surface) -> None:
    body = opening(surface, EXTRA["code"], include=["code_interpreter_call.outputs"])
    items = json.loads(heard(sdk(surface), surface, body).data)["output"]
    ran = next(item for item in items if item["type"] == "code_interpreter_call")
    assert ran["code"] == "print(6 * 7)"
    assert ran["outputs"] == [{"type": "logs", "logs": "42\n"}]


def test_a_search_on_x_looks_like_a_custom_call_and_nobody_has_to_answer_it(sdk: Sdk) -> None:
    surface = SURFACES["xai.responses"]
    for stream in (False, True):
        answer = heard(sdk(surface), surface, opening(surface, EXTRA["x-search"], stream=stream))
        assert b'"name":"x_keyword_search"' in answer.data
        assert b'"type":"custom_tool_call"' in answer.data
        assert answer.response.choices[0].calls == []
        blocks = answer.response.choices[0].blocks
        assert [block.tool for block in blocks if isinstance(block, ServerToolCall)] == ["x_search"]


def test_xai_returns_what_its_tools_found_sealed_where_asked(sdk: Sdk) -> None:
    surface = SURFACES["xai.responses"]
    body = opening(surface, scripts()["server-search"], include=["reasoning.encrypted_content"])
    items = json.loads(heard(sdk(surface), surface, body).data)["output"]
    sealed = [item for item in items if item["id"].startswith("tco_")]
    assert len(sealed) == 1
    assert sealed[0]["encrypted_content"].startswith(sealed[0]["id"] + "_")


@responses
def test_an_answer_that_is_kept_can_be_built_on_and_asked_for_again(sdk: Sdk, surface: Surface) -> None:
    script = scripts()["single-call"]
    first = sdk(surface).responses.create(**opening(surface, script))
    call = next(item for item in first.output if item.type == "function_call")
    given: Any = [{"type": "function_call_output", "call_id": call.call_id, "output": "dry"}]
    second = sdk(surface).responses.create(model=surface.model, input=given, previous_response_id=first.id)
    assert second.output_text == "No umbrella needed: Lisbon stays dry tomorrow, with 24 degrees."
    assert second.previous_response_id == first.id
    again = sdk(surface).responses.retrieve(first.id)
    assert again.to_dict() == first.to_dict()


@responses
def test_an_answer_that_is_not_kept_is_forgotten(surface: Surface) -> None:
    with running() as fresh, openai.OpenAI(base_url=fresh.base(surface), api_key="any", max_retries=0) as sdk:
        first = sdk.responses.create(**opening(surface, scripts()["text-only"], store=False))
        with pytest.raises(openai.NotFoundError):
            sdk.responses.retrieve(first.id)
        with pytest.raises(openai.APIStatusError) as told:
            sdk.responses.create(model=surface.model, input="Go on.", previous_response_id=first.id)
        assert f"Previous response with id '{first.id}' not found." in told.value.response.text


def test_tools_are_echoed_as_the_provider_understood_them(sdk: Sdk) -> None:
    surface = SURFACES["openai.responses"]
    body = opening(surface, scripts()["single-call"])
    echoed = []
    for strict in (None, False):
        body["tools"][0]["strict"] = strict
        tool = sdk(surface).responses.create(**body).tools[0]
        assert tool.type == "function"
        echoed.append((tool.strict, "additionalProperties" in (tool.parameters or {})))
    assert echoed == [(True, True), (False, False)]


@here
def test_headers_are_those_of_the_provider(sdk: Sdk, surface: Surface) -> None:
    raw = resource(sdk(surface), surface).with_raw_response.create(**opening(surface, scripts()["text-only"]))
    assert raw.headers["content-type"] == "application/json"
    assert raw.headers["x-ratelimit-remaining-requests"].isdigit()
    if surface.provider == "openai":
        assert raw.request_id.startswith("req_")
        assert raw.headers["openai-version"] == "2020-10-01"
        assert raw.headers["openai-processing-ms"].isdigit()
    else:
        assert len(raw.request_id) == 36
        assert "openai-version" not in raw.headers
