"""A diff reports what changed between two recordings: fields, calls, stops and token figures, not texts and ids."""

from __future__ import annotations

import copy
import json
from typing import Any

import pytest
from vcr.request import Request

from toolparity import normalize
from toolparity.cassettes.errors import UnreadableSource
from toolparity.cassettes.library import files
from toolparity.cassettes.recorder.diff import Outline, RecordingChange, diff, first_difference, outline, render
from toolparity.cassettes.surfaces import SURFACES

Answer = dict[str, Any]


def call(name: str = "look", arguments: str = '{"at":"it"}', id: str = "call_1") -> dict[str, Any]:
    return {"id": id, "type": "function", "function": {"name": name, "arguments": arguments}}


def answer(*calls: dict[str, Any], **members: Any) -> Answer:
    message = {"role": "assistant", "content": None, "tool_calls": list(calls or (call(),))}
    choice = {"index": 0, "message": message, "finish_reason": "tool_calls"}
    usage = {"prompt_tokens": 1, "completion_tokens": 2, "total_tokens": 3}
    head = {"id": "chatcmpl-1", "object": "chat.completion", "created": 1, "model": "m"}
    return {**head, "choices": [choice], "usage": usage, **members}


def pair(answer: Answer, status: int = 200) -> tuple[Request, dict[str, Any]]:
    asked = json.dumps({"model": "m", "messages": [{"role": "user", "content": "Look"}]}).encode()
    request = Request("POST", "https://api.openai.com/v1/chat/completions", asked, {})
    body = {"string": json.dumps(answer).encode()}
    return request, {"status": {"code": status, "message": ""}, "headers": {}, "body": body}


def of(*answers: Answer) -> Outline:
    return outline(pair(one) for one in answers)


def without(name: str) -> Answer:
    return {key: value for key, value in answer().items() if key != name}


def _cut() -> Answer:
    cut = answer(call(arguments='{"at":'))
    cut["choices"][0]["finish_reason"] = "length"
    return cut


def _refusing() -> Answer:
    refusing = answer()
    refusing["choices"][0]["message"]["refusal"] = None
    return refusing


_OTHER_USAGE = {"prompt_tokens": 7, "completion_tokens": 8, "total_tokens": 15}
#: What changed -> the new answer, and the changes that are reported.
CHANGES: dict[str, tuple[Answer, list[str]]] = {
    "ids, times, models, figures and arguments": (
        answer(call(arguments='{"elsewhere":[1]}', id="call_2"), id="c", created=99, model="m-2", usage=_OTHER_USAGE),
        [],
    ),
    "a new field": (answer(service_tier="default"), ["+ field openai.chat answer: service_tier: string"]),
    "a lost field": (without("created"), ["- field openai.chat answer: created: number"]),
    "another type": (answer(created="now"), ["~ field openai.chat answer: created: number -> string"]),
    "a new field in a list": (_refusing(), ["+ field openai.chat answer: choices[].message.refusal: null"]),
    "a new call": (answer(call(), call("note", "{}", "call_2")), ["+ call exchange 1: note (function)"]),
    "a cut call": (
        _cut(),
        [
            "- call exchange 1: look (function)",
            "+ call exchange 1: look (function, truncated)",
            "~ stop exchange 1: tool_calls (tool_calls) -> max_tokens (length)",
        ],
    ),
    "lost figures": (
        without("usage"),
        [
            "- field openai.chat answer: usage.completion_tokens: number",
            "- field openai.chat answer: usage.prompt_tokens: number",
            "- field openai.chat answer: usage.total_tokens: number",
            "- field openai.chat answer: usage: object",
            "- usage exchange 1: input_tokens",
            "- usage exchange 1: output_tokens",
        ],
    ),
}


@pytest.mark.parametrize("name", CHANGES)
def test_a_change_of_an_answer_is_reported_once(name: str) -> None:
    new, expected = CHANGES[name]
    assert sorted(map(str, diff(of(answer()), of(new)))) == sorted(expected)


def test_calls_in_another_order_and_another_number_of_exchanges_are_reported() -> None:
    a, b = call("a", "{}", "call_a"), call("b", "{}", "call_b")
    assert diff(of(answer(a, b)), of(answer(b, a))) == [
        RecordingChange("call", "exchange 1, order", "a (function), b (function)", "b (function), a (function)")
    ]
    assert diff(of(answer()), of(answer(), answer())) == [RecordingChange("exchange", "count", "1", "2")]


def test_an_error_instead_of_an_answer_is_reported() -> None:
    error = {"error": {"message": "no", "type": "invalid_request_error", "param": None, "code": None}}
    found = list(map(str, diff(of(answer()), outline([pair(error, 400)]))))
    assert "+ field openai.chat error 400: 6 fields" in found
    assert "~ stop exchange 1: tool_calls (tool_calls) -> error invalid_request_error" in found


def test_arguments_that_are_objects_on_the_wire_are_not_fields() -> None:
    loaded = files.load(files.path_for("anthropic.messages", "single-call", False))
    old = list(zip(loaded.requests, loaded.responses, strict=True))

    def changed(input: Any) -> list[str]:
        new = copy.deepcopy(old)
        body = json.loads(new[0][1]["body"]["string"])
        (block,) = [block for block in body["content"] if block["type"] == "tool_use"]
        block["input"] = input
        new[0][1]["body"]["string"] = json.dumps(body).encode()
        return [str(change) for change in diff(outline(old), outline(new))]

    assert changed({"town": "Lisbon", "days": [1]}) == []
    assert "~ field anthropic.messages answer: content[].input: object -> string" in changed("Lisbon")


def test_a_long_list_of_changes_is_cut_when_it_is_shown() -> None:
    changes = [RecordingChange("field", f"f{n}", None, "string") for n in range(30)]
    shown = render(changes, most=3).splitlines()
    assert shown == ["+ field f0: string", "+ field f1: string", "+ field f2: string", "  and 27 more"]
    assert (render(changes[:1]), render([])) == ("+ field f0: string", "")


def test_an_exchange_with_an_unknown_provider_cannot_be_compared() -> None:
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


def test_the_first_difference_of_two_responses_compares_arguments_by_value() -> None:
    def difference(new: Answer) -> str | None:
        old = answer(call(arguments='{"a": 1}'))
        return first_difference(*(normalize(json.dumps(one), "openai.chat") for one in (old, new)))

    assert difference(answer(call(arguments='{"a":1}'))) is None
    assert difference(answer(call(arguments='{"a":2}'))) is not None
    assert difference(answer(id="other")) == 'id is "other", and the recorded bytes say "chatcmpl-1"'
