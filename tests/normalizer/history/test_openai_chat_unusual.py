"""Chat bodies that are valid JSON but not a sensible request go back unchanged, and elsewhere without an exception."""

from __future__ import annotations

from typing import Any

import pytest

from toolparity.normalizer.model import Wire
from toolparity.normalizer.requests import check_request, read_request, write_request

WIRE: Wire = "openai.chat"
USER = {"role": "user", "content": "go"}
CALL = {"id": "abcdefgh1", "type": "function", "function": {"name": "f", "arguments": "{}"}}
CALLS = {"role": "assistant", "content": "", "tool_calls": [CALL]}
RESULT = {"role": "tool", "tool_call_id": "abcdefgh1"}
UNUSUAL: dict[str, list[Any]] = {
    "calls that are a number": [USER, {"role": "assistant", "content": "a", "tool_calls": 1.5}],
    "a message that is a list before a user": [["x"], USER],
    "a message that is a number at the end": [USER, 5],
    "a result of texts that are not parts": [USER, CALLS, {**RESULT, "content": ["x"]}],
    "a result's part without a type": [USER, CALLS, {**RESULT, "content": [{"text": "x"}]}],
    "a result's text part without text": [USER, CALLS, {**RESULT, "content": [{"type": "text"}]}],
    "a result's text part whose text is a number": [USER, CALLS, {**RESULT, "content": [{"type": "text", "text": 1}]}],
    "a part whose type is a list": [{"role": "user", "content": [{"type": ["text"]}]}],
}


@pytest.mark.parametrize("case", UNUSUAL)
def test_an_unusual_body_goes_back_unchanged_and_elsewhere_without_an_exception(case: str) -> None:
    body = {"model": "m", "messages": UNUSUAL[case]}
    request = read_request(body, WIRE, provider="openrouter")
    written = write_request(request).body
    assert written == body
    check_request(written, WIRE, provider="openrouter")
    for target in ("mistral", "deepseek", "openai"):
        assert isinstance(write_request(request, WIRE, provider=target).body["messages"], list)


def test_an_id_that_is_an_object_is_replaced_by_a_text() -> None:
    calls = {**CALLS, "tool_calls": [{**CALL, "id": {}, "index": 0}]}
    body = {"model": "m", "messages": [USER, calls, {"role": "tool", "content": "done"}]}
    written = write_request(read_request(body, WIRE), WIRE, provider="xai").body
    assert check_request(written, WIRE, provider="xai") == []
