"""Requests of valid JSON and unusual types are read and written, or refused with an error of this package."""

from __future__ import annotations

from contextlib import suppress
from typing import Any

import pytest

from tests.normalizer.history.conversations import PROVIDERS
from toolparity.normalizer.answers import answer, result_of
from toolparity.normalizer.conversation import JsonPart
from toolparity.normalizer.errors import MalformedBody, ToolparityError, UnserializableResult
from toolparity.normalizer.model import Choice, Response, Stop, ToolCall
from toolparity.normalizer.policies import select
from toolparity.normalizer.requests import check_request, read_request, write_request

USER = {"role": "user", "content": "hi"}
USE: dict[str, Any] = {"type": "tool_use", "id": "a", "name": "f", "input": {}}
CALL = {"type": "function", "function": {"name": "f", "arguments": "{}"}}
TOLD = {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "a"}]}
STRICT = {"name": "f", "strict": True, "input_schema": 5}


def deep() -> list[Any]:
    nest: list[Any] = []
    for _ in range(5000):
        nest = [nest]
    return nest


def anthropic(*messages: Any, **more: Any) -> dict[str, Any]:
    return {"model": "m", "max_tokens": 9, "messages": list(messages) or [USER], **more}


def responses(*items: Any, **more: Any) -> dict[str, Any]:
    return {"model": "m", "input": list(items) or [USER], **more}


CASES: dict[str, tuple[str, dict[str, Any]]] = {
    "block type": ("anthropic.messages", anthropic({"role": "user", "content": [{"type": ["a"]}]})),
    "said block type": ("anthropic.messages", anthropic(USER, {"role": "assistant", "content": [{"type": ["a"]}]})),
    "source type": (
        "anthropic.messages",
        anthropic({"role": "user", "content": [{"type": "image", "source": {"type": ["a"]}}]}),
    ),
    "choice type": ("anthropic.messages", anthropic(tool_choice={"type": ["a"]})),
    "call id": (
        "anthropic.messages",
        anthropic(USER, {"role": "assistant", "content": [USE, {**USE, "id": {}}]}, TOLD),
    ),
    "hosted tool's name": ("anthropic.messages", anthropic(tools=[{"type": "x", "name": ["a"]}])),
    "schema": ("anthropic.messages", anthropic(tools=[STRICT])),
    "description": ("anthropic.messages", anthropic(tools=[{"name": "f", "description": {}}])),
    "tool's name": ("anthropic.messages", anthropic(tools=[{"name": 5}])),
    "messages before an answer": (
        "anthropic.messages",
        anthropic(USER, 5, TOLD, 7, thinking={"type": "enabled", "budget_tokens": 1024}),
    ),
    "model": ("anthropic.messages", {**anthropic(), "model": 5}),
    "id of an indexed call": (
        "openai.chat",
        {
            "model": "m",
            "messages": [{"role": "assistant", "tool_calls": [{"id": id, "index": 0, **CALL} for id in ({}, "a")]}],
        },
    ),
    "old function": (
        "openai.chat",
        {"model": "m", "messages": [USER], "functions": [{"parameters": {}}, {"name": "f"}]},
    ),
    "effort": ("google.interactions", {"model": "m", "input": "hi", "generation_config": {"thinking_level": {}}}),
    "data": (
        "google.gemini",
        {"contents": [{"role": "user", "parts": [{"inlineData": {"mimeType": "text/plain", "data": "ä"}}]}]},
    ),
    "item type": ("openai.responses", responses({"type": ["a"]})),
    "part type": ("openai.responses", responses({"role": "user", "content": [{"type": ["a"]}]})),
    "sound's format": (
        "openai.responses",
        responses({"role": "user", "content": [{"type": "input_audio", "input_audio": {"data": "", "format": []}}]}),
    ),
    "choice's name": ("openai.responses", responses(tool_choice={"type": "function", "name": {}})),
    "tool": ("openai.responses", responses(tools=[["x"]], tool_choice={"type": "function", "name": "f"})),
    "role": ("xai.grpc", {"model": "m", "messages": [{"role": ["x"], "content": []}]}),
}


@pytest.mark.thorough(keep=2, per="{wire}")
@pytest.mark.parametrize("wire", PROVIDERS)
@pytest.mark.parametrize("case", CASES)
def test_what_is_of_a_strange_type_never_crashes(case: str, wire: str) -> None:
    source, body = CASES[case]
    with suppress(ToolparityError):
        check_request(body, source)
    with suppress(ToolparityError):
        request = read_request(body, source, provider=PROVIDERS[source])
        write_request(request, wire, provider=PROVIDERS[wire])


@pytest.mark.parametrize("case", [case for case, (wire, _) in CASES.items() if wire == "anthropic.messages"])
def test_what_anthropic_says_strangely_goes_back_to_it_as_it_came(case: str) -> None:
    body = CASES[case][1]
    written = write_request(read_request(body, "anthropic.messages", provider="anthropic")).body
    if case not in ("call id", "choice type", "messages before an answer"):
        assert {key: written.get(key) for key in body} == body


@pytest.mark.parametrize("wire", ["openai.responses", "anthropic.messages"])
def test_a_nest_without_end_is_refused(wire: str) -> None:
    said = {"type": "message", "role": "assistant", "content": deep()}
    body = responses(USER, said) if wire == "openai.responses" else anthropic(USER, said)
    with pytest.raises(MalformedBody):
        read_request(body, wire)


CALL = ToolCall("a", "f", {}, "{}")


@pytest.mark.parametrize(
    "outcome", [object(), float("nan"), {"a": [float("inf")]}, deep()], ids=["object", "nan", "infinity", "nest"]
)
def test_an_outcome_that_json_cannot_say_is_refused_by_the_name_of_its_call(outcome: Any) -> None:
    with pytest.raises(UnserializableResult) as caught:
        result_of(CALL, outcome)
    assert caught.value.where == "f (a)"
    response = Response("openai.chat", "openai", None, "m", [Choice(0, [CALL], Stop("tool_calls"))])
    with pytest.raises(UnserializableResult):
        answer(response, select(response), {"a": outcome})


def test_an_outcome_that_json_can_say_in_another_way_is_said_so() -> None:
    assert result_of(CALL, {1: [2]}).parts == [JsonPart({"1": [2]})]
