"""What changed between two recordings is reported by meaning: fields, calls, stops, token figures; never by words."""

from __future__ import annotations

import copy
import json
from collections.abc import Callable
from typing import Any

import pytest
from vcr.request import Request

from toolparity import normalize
from toolparity.cassettes.errors import UnreadableSource
from toolparity.cassettes.library import files
from toolparity.cassettes.recorder.diff import Outline, RecordingChange, diff, first_difference, outline, render
from toolparity.cassettes.surfaces import SURFACES

Answer = dict[str, Any]


def answer(**more: Any) -> Answer:
    call = {"id": "call_1", "type": "function", "function": {"name": "look", "arguments": '{"at":"it"}'}}
    message = {"role": "assistant", "content": None, "tool_calls": [call]}
    return {
        "id": "chatcmpl-1",
        "object": "chat.completion",
        "created": 1,
        "model": "m",
        "choices": [{"index": 0, "message": message, "finish_reason": "tool_calls"}],
        "usage": {"prompt_tokens": 1, "completion_tokens": 2, "total_tokens": 3},
        **more,
    }


def of(*answers: Answer) -> Outline:
    return outline(pair(one) for one in answers)


def pair(one: Answer, status: int = 200) -> tuple[Request, dict[str, Any]]:
    asked = {"model": "m", "messages": [{"role": "user", "content": "Look"}]}
    request = Request("POST", "https://api.openai.com/v1/chat/completions", json.dumps(asked).encode(), {})
    body = {"string": json.dumps(one).encode()}
    return request, {"status": {"code": status, "message": ""}, "headers": {}, "body": body}


def changed(edit: Callable[[Answer], object]) -> list[str]:
    new = copy.deepcopy(answer())
    edit(new)
    return [str(change) for change in diff(of(answer()), of(new))]


def test_other_words_ids_times_and_arguments_are_no_change() -> None:
    new = answer(
        id="chatcmpl-2",
        created=99,
        model="m-2026",
        usage={"prompt_tokens": 7, "completion_tokens": 8, "total_tokens": 15},
    )
    new["choices"][0]["message"]["tool_calls"][0] = {
        "id": "call_2",
        "type": "function",
        "function": {"name": "look", "arguments": '{"elsewhere":[1]}'},
    }
    assert diff(of(answer()), of(new)) == []


def test_nor_are_other_members_of_arguments_and_schemas() -> None:
    loaded = files.load(files.path_for("anthropic.messages", "single-call", False))
    old = list(zip(loaded.requests, loaded.responses, strict=True))
    new = copy.deepcopy(old)
    body = json.loads(new[0][1]["body"]["string"])
    (call,) = [block for block in body["content"] if block["type"] == "tool_use"]
    call["input"] = {"town": "Lisbon", "days": [1]}
    new[0][1]["body"]["string"] = json.dumps(body).encode()
    assert diff(outline(old), outline(new)) == []
    call["input"] = "Lisbon"
    new[0][1]["body"]["string"] = json.dumps(body).encode()
    assert "~ field anthropic.messages answer: content[].input: object -> string" in map(
        str, diff(outline(old), outline(new))
    )


def test_a_new_field_is_told_with_its_type() -> None:
    assert changed(lambda new: new.update(service_tier="default")) == [
        "+ field openai.chat answer: service_tier: string"
    ]


def test_a_lost_field_is_told() -> None:
    assert changed(lambda new: new.pop("created")) == ["- field openai.chat answer: created: number"]


def test_another_type_is_told() -> None:
    assert changed(lambda new: new.update(created="now")) == ["~ field openai.chat answer: created: number -> string"]


def test_a_field_within_a_list_is_told_once() -> None:
    def refuse(new: Answer) -> None:
        new["choices"][0]["message"]["refusal"] = None

    assert changed(refuse) == ["+ field openai.chat answer: choices[].message.refusal: null"]


def test_a_call_more_is_told() -> None:
    def call(new: Answer) -> None:
        calls = new["choices"][0]["message"]["tool_calls"]
        calls.append({**calls[0], "id": "call_2", "function": {"name": "note", "arguments": "{}"}})

    assert changed(call) == ["+ call exchange 1: note (function)"]


def test_a_call_whose_arguments_are_cut_is_told() -> None:
    def cut(new: Answer) -> None:
        new["choices"][0]["message"]["tool_calls"][0]["function"]["arguments"] = '{"at":'
        new["choices"][0]["finish_reason"] = "length"

    assert changed(cut) == [
        "- call exchange 1: look (function)",
        "+ call exchange 1: look (function, truncated)",
        "~ stop exchange 1: tool_calls (tool_calls) -> max_tokens (length)",
    ]


def test_the_same_calls_in_another_order_are_told_as_that() -> None:
    def calls(*names: str) -> Answer:
        made = answer()
        (one,) = made["choices"][0]["message"]["tool_calls"]
        made["choices"][0]["message"]["tool_calls"] = [
            {**one, "id": f"call_{name}", "function": {"name": name, "arguments": "{}"}} for name in names
        ]
        return made

    (change,) = diff(of(calls("a", "b")), of(calls("b", "a")))
    assert change == RecordingChange(
        "call", "exchange 1, order", "a (function), b (function)", "b (function), a (function)"
    )


def test_a_lost_token_figure_is_told() -> None:
    found = changed(lambda new: new.pop("usage"))
    assert "- usage exchange 1: input_tokens" in found
    assert "- usage exchange 1: output_tokens" in found
    assert "- field openai.chat answer: usage.prompt_tokens: number" in found


def test_another_number_of_exchanges_is_told() -> None:
    assert diff(of(answer()), of(answer(), answer())) == [RecordingChange("exchange", "count", "1", "2")]


def test_an_error_instead_of_an_answer_is_told() -> None:
    error = {"error": {"message": "no", "type": "invalid_request_error", "param": None, "code": None}}
    found = list(map(str, diff(of(answer()), outline([pair(error, 400)]))))
    assert "+ field openai.chat error 400: 6 fields" in found
    assert "~ stop exchange 1: tool_calls (tool_calls) -> error invalid_request_error" in found


def test_a_long_list_is_cut_when_it_is_shown() -> None:
    changes = [RecordingChange("field", f"f{n}", None, "string") for n in range(30)]
    shown = render(changes, most=3).splitlines()
    assert shown == ["+ field f0: string", "+ field f1: string", "+ field f2: string", "  and 27 more"]
    assert render(changes[:1]) == "+ field f0: string"
    assert render([]) == ""


def test_an_exchange_with_nobody_we_know_cannot_be_compared() -> None:
    request, response = pair(answer())
    request.uri = "https://api.example.com/v1/chat/completions"
    with pytest.raises(UnreadableSource, match=r"api\.example\.com"):
        outline([(request, response)])


@pytest.mark.parametrize("name", list(SURFACES))
def test_events_of_a_stream_are_compared_by_their_kind(name: str) -> None:
    loaded = files.load(files.path_for(name, "single-call", True))
    made = outline(zip(loaded.requests, loaded.responses, strict=True))
    kinds = [kind for kind in made.fields if " request" not in kind]
    assert kinds
    assert all(kind.startswith((f"{name} event ", f"{name} chunk")) for kind in kinds)
    assert made.calls == [["get_weather (function)"], []]
    assert all("input_tokens" in figures for figures in made.usage)
    assert diff(made, made) == []


def test_plain_and_streamed_recordings_of_grpc_are_told_apart() -> None:
    plain, streamed = (
        outline(zip(one.requests, one.responses, strict=True))
        for one in (files.load(files.path_for("xai.grpc", "single-call", stream)) for stream in (False, True))
    )
    assert {change.what for change in diff(plain, streamed)} == {"field"}
    assert "xai.grpc answer" in plain.fields
    assert "xai.grpc chunk" in streamed.fields


def test_two_responses_differ_where_the_first_place_says() -> None:
    old, new = (normalize(json.dumps(one), "openai.chat") for one in (answer(), answer(id="other")))
    assert first_difference(old, old) is None
    assert first_difference(old, new) == 'id is "other", and the recorded bytes say "chatcmpl-1"'


def test_arguments_are_compared_by_value() -> None:
    def spelled(text: str) -> Any:
        made = answer()
        made["choices"][0]["message"]["tool_calls"][0]["function"]["arguments"] = text
        return normalize(json.dumps(made), "openai.chat")

    assert first_difference(spelled('{"a": 1}'), spelled('{"a":1}')) is None
    assert first_difference(spelled('{"a": 1}'), spelled('{"a":2}')) is not None
