"""Requests of valid JSON and unusual types are read and written, or refused with an error of this package."""

from __future__ import annotations

from contextlib import suppress
from typing import Any

import pytest

from tests.normalizer.history.conversations import PROVIDERS, call, response
from toolparity.normalizer.answers import answer, result_of
from toolparity.normalizer.conversation import JsonPart
from toolparity.normalizer.errors import MalformedBody, ToolparityError, UnserializableResult
from toolparity.normalizer.model import Wire
from toolparity.normalizer.policies import select
from toolparity.normalizer.requests import check_request, read_request, write_request

Body = dict[str, Any]
USER: Body = {"role": "user", "content": "hi"}
USE: Body = {"type": "tool_use", "id": "a", "name": "f", "input": {}}
CALL: Body = {"type": "function", "index": 0, "function": {"name": "f", "arguments": "{}"}}
RESULT: Body = {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "a"}]}
LIST_TYPE: Body = {"type": ["a"]}


def deep() -> list[Any]:
    nest: list[Any] = []
    for _ in range(5000):
        nest = [nest]
    return nest


def anthropic(*messages: Any, **more: Any) -> Body:
    return {"model": "m", "max_tokens": 9, "messages": list(messages) or [USER], **more}


def responses(*items: Any, **more: Any) -> Body:
    return {"model": "m", "input": list(items) or [USER], **more}


def by(role: str, *content: Any) -> Body:
    return {"role": role, "content": [*content]}


CASES: dict[Wire, dict[str, Body]] = {
    "anthropic.messages": {
        "the type of a block": anthropic(by("user", LIST_TYPE)),
        "the type of a block of the model": anthropic(USER, by("assistant", LIST_TYPE)),
        "the type of a source": anthropic(by("user", {"type": "image", "source": LIST_TYPE})),
        "the type of a choice": anthropic(tool_choice=LIST_TYPE),
        "the id of a call": anthropic(USER, by("assistant", USE, {**USE, "id": {}}), RESULT),
        "the name of a hosted tool": anthropic(tools=[{"type": "x", "name": ["a"]}]),
        "a schema": anthropic(tools=[{"name": "f", "strict": True, "input_schema": 5}]),
        "a description": anthropic(tools=[{"name": "f", "description": {}}]),
        "the name of a tool": anthropic(tools=[{"name": 5}]),
        "messages": anthropic(USER, 5, RESULT, 7, thinking={"type": "enabled", "budget_tokens": 1024}),
        "the model": {**anthropic(), "model": 5},
        "blocks": anthropic(USER, by("assistant", 3, {"type": "tool_use", "input": 3}, {"type": "text", "text": 3})),
        "parts": anthropic(by("user", 3, {"type": "tool_result", "tool_use_id": 3, "content": {}}, {"type": "image"})),
        "tools": anthropic(by("user", {"type": "document", "source": {"type": "text"}}), tools={"a": 1}),
        "no content": anthropic(USER, {"role": "assistant", "content": None}),
        "content": anthropic(USER, {"role": "assistant", "content": {"type": "text"}}),
    },
    "openai.chat": {
        "the id of a call": {
            "model": "m",
            "messages": [{"role": "assistant", "tool_calls": [{"id": {}, **CALL}, {"id": "a", **CALL}]}],
        },
        "an old function": {"model": "m", "messages": [USER], "functions": [{"parameters": {}}, {"name": "f"}]},
    },
    "google.interactions": {"effort": {"model": "m", "input": "hi", "generation_config": {"thinking_level": {}}}},
    "google.gemini": {
        "data": {"contents": [{"role": "user", "parts": [{"inlineData": {"mimeType": "text/plain", "data": "ä"}}]}]}
    },
    "openai.responses": {
        "the type of an item": responses(LIST_TYPE),
        "the type of a part": responses(by("user", LIST_TYPE)),
        "the format of sound": responses(
            by("user", {"type": "input_audio", "input_audio": {"data": "", "format": []}})
        ),
        "the name of a choice": responses(tool_choice={"type": "function", "name": {}}),
        "a tool": responses(tools=[["x"]], tool_choice={"type": "function", "name": "f"}),
    },
    "xai.grpc": {"a role": {"model": "m", "messages": [{"role": ["x"], "content": []}]}},
}
#: Cases that cannot go back as they came.
CHANGED = ("the id of a call", "the type of a choice", "messages", "blocks", "parts")


@pytest.mark.parametrize("wire", PROVIDERS)
def test_an_unusual_type_never_raises_an_untyped_exception(wire: Wire) -> None:
    for source, cases in CASES.items():
        for body in cases.values():
            with suppress(ToolparityError):
                check_request(body, source)
            with suppress(ToolparityError):
                request = read_request(body, source, provider=PROVIDERS[source])
                write_request(request, wire, provider=PROVIDERS[wire])


@pytest.mark.parametrize("case", [case for case in CASES["anthropic.messages"] if case not in CHANGED])
def test_an_unusual_type_goes_back_to_anthropic_as_it_came(case: str) -> None:
    body = CASES["anthropic.messages"][case]
    written = write_request(read_request(body, "anthropic.messages", provider="anthropic")).body
    assert {key: written.get(key) for key in body} == body


RESULT_OF_CHAT: Body = {"role": "tool", "tool_call_id": "abcdefgh1"}
CALLS_OF_CHAT: Body = {"role": "assistant", "content": "", "tool_calls": [{**CALL, "id": "abcdefgh1"}]}
TEXT_1: Body = {"type": "text", "text": 1}
CHAT: dict[str, list[Any]] = {
    "calls that are a number": [USER, {"role": "assistant", "content": "a", "tool_calls": 1.5}],
    "a message that is a list before a user": [["x"], USER],
    "a message that is a number at the end": [USER, 5],
    "a part whose type is a list": [by("user", LIST_TYPE)],
    **{
        f"a result with {name}": [USER, CALLS_OF_CHAT, {**RESULT_OF_CHAT, "content": [part]}]
        for name, part in {
            "a text": "x",
            "no type": {"text": "x"},
            "no text": {"type": "text"},
            "a number": TEXT_1,
        }.items()
    },
}


@pytest.mark.parametrize("case", CHAT)
def test_an_unusual_chat_body_goes_back_unchanged_and_elsewhere_without_an_exception(case: str) -> None:
    body = {"model": "m", "messages": CHAT[case]}
    request = read_request(body, "openai.chat", provider="openrouter")
    written = write_request(request).body
    assert written == body
    check_request(written, "openai.chat", provider="openrouter")
    for target in ("mistral", "deepseek", "openai"):
        assert isinstance(write_request(request, "openai.chat", provider=target).body["messages"], list)


def test_an_id_that_is_an_object_is_replaced_by_a_text() -> None:
    calls = {**CALLS_OF_CHAT, "tool_calls": [{**CALL, "id": {}}]}
    body = {"model": "m", "messages": [USER, calls, {"role": "tool", "content": "done"}]}
    written = write_request(read_request(body, "openai.chat"), "openai.chat", provider="xai").body
    assert check_request(written, "openai.chat", provider="xai") == []


@pytest.mark.parametrize(("wire", "body"), [("openai.responses", responses), ("anthropic.messages", anthropic)])
def test_a_nest_that_is_too_deep_is_refused(wire: Wire, body: Any) -> None:
    with pytest.raises(MalformedBody):
        read_request(body(USER, {"type": "message", "role": "assistant", "content": deep()}), wire)


@pytest.mark.parametrize(
    "outcome", [object(), float("nan"), {"a": [float("inf")]}, deep()], ids=["object", "nan", "infinity", "nest"]
)
def test_an_outcome_that_json_cannot_represent_is_refused_with_the_name_of_its_call(outcome: Any) -> None:
    with pytest.raises(UnserializableResult) as caught:
        result_of(call("a"), outcome)
    assert caught.value.where == "f (a)"
    given = response(call("a"))
    with pytest.raises(UnserializableResult):
        answer(given, select(given), {"a": outcome})


def test_keys_that_are_numbers_become_texts() -> None:
    assert result_of(call("a"), {1: [2]}).parts == [JsonPart({"1": [2]})]
