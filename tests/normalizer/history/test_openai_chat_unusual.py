"""Chat bodies that are valid JSON and no sensible request: they go back as they were, or are refused by name."""

from __future__ import annotations

from typing import Any

import pytest

from toolparity.normalizer.errors import MalformedBody
from toolparity.normalizer.requests import check_request, read_request, write_request

WIRE = "openai.chat"
USER = {"role": "user", "content": "go"}
CALL = {"id": "abcdefgh1", "type": "function", "function": {"name": "f", "arguments": "{}"}}
ASKS = {"role": "assistant", "content": "", "tool_calls": [CALL]}


def told(content: Any) -> dict[str, Any]:
    return {"role": "tool", "tool_call_id": "abcdefgh1", "content": content}


ODD: dict[str, list[Any]] = {
    "calls that are a number": [USER, {"role": "assistant", "content": "a", "tool_calls": 1.5}],
    "a message that is a list before a user": [["x"], USER],
    "a message that is a number at the end": [USER, 5],
    "a result of texts that are no parts": [USER, ASKS, told(["x"])],
    "a result's part without a type": [USER, ASKS, told([{"text": "x"}])],
    "a result's text part without text": [USER, ASKS, told([{"type": "text"}])],
    "a result's text part whose text is a number": [USER, ASKS, told([{"type": "text", "text": 1}])],
    "a part whose type is a list": [{"role": "user", "content": [{"type": ["text"]}]}],
}


@pytest.mark.parametrize("case", ODD)
def test_what_is_odd_goes_back_to_its_own_provider_as_it_was(case: str) -> None:
    body = {"model": "m", "messages": ODD[case]}
    written = write_request(read_request(body, WIRE, provider="openrouter")).body
    assert written == body
    check_request(written, WIRE, provider="openrouter")


@pytest.mark.thorough(keep=1, per="{target}")
@pytest.mark.parametrize("case", ODD)
@pytest.mark.parametrize("target", ["mistral", "deepseek", "openai"])
def test_what_is_odd_goes_to_another_provider_without_an_exception(case: str, target: str) -> None:
    request = read_request({"model": "m", "messages": ODD[case]}, WIRE, provider="openrouter")
    assert isinstance(write_request(request, WIRE, provider=target).body["messages"], list)


def test_an_id_that_is_an_object_becomes_one_that_is_a_text() -> None:
    asks = {**ASKS, "tool_calls": [{**CALL, "id": {}, "index": 0}]}
    body = {"model": "m", "messages": [USER, asks, {"role": "tool", "content": "done"}]}
    written = write_request(read_request(body, WIRE), WIRE, provider="xai").body
    assert check_request(written, WIRE, provider="xai") == []


def test_a_message_that_is_nested_too_deep_is_refused_by_name() -> None:
    deep: list[Any] = []
    for _ in range(5000):
        deep = [deep]
    body = {"messages": [USER, {"role": "assistant", "content": deep}]}
    with pytest.raises(MalformedBody, match="nested too deep"):
        read_request(body, WIRE)
