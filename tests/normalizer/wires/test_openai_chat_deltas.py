"""A streamed delta of openai.chat may say one thing alone; nothing that it says is lost."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.support.decoding import chat
from tests.support.events import chunk
from toolparity import (
    Block,
    Reasoning,
    Refusal,
    ServerToolCall,
    ServerToolResult,
    StreamDecoder,
    Text,
    ToolCall,
)

SEARCHED = {"index": 0, "type": "search", "arguments": "{}", "output": "found"}
DETAIL = {"type": "reasoning.text", "text": "Hm.", "index": 0}
SAID: list[tuple[str, Any, list[type[Block]]]] = [
    ("content", "Yes.", [Text]),
    ("refusal", "No.", [Refusal]),
    ("reasoning", "Hm.", [Reasoning]),
    ("reasoning_content", "Hm.", [Reasoning]),
    ("reasoning_details", [DETAIL], [Reasoning]),
    ("function_call", {"name": "f", "arguments": "{}"}, [ToolCall]),
    ("tool_calls", [{"index": 0, "id": "a", "function": {"name": "f", "arguments": "{}"}}], [ToolCall]),
    ("executed_tools", [SEARCHED], [ServerToolCall, ServerToolResult]),
]


@pytest.mark.parametrize("beside", [{}, {"role": "assistant"}], ids=["alone", "with role"])
@pytest.mark.parametrize(("member", "value", "blocks"), SAID, ids=[said[0] for said in SAID])
def test_what_a_delta_says_is_read(member: str, value: Any, blocks: list[type[Block]], beside: dict[str, str]) -> None:
    response = chat(chunk(**{member: value}, **beside), finish="stop")
    assert [type(block) for block in response.choices[0].blocks] == blocks


@pytest.mark.parametrize(("member", "value", "blocks"), SAID[1:], ids=[said[0] for said in SAID[1:]])
def test_what_stands_beside_text_is_read_too(member: str, value: Any, blocks: list[type[Block]]) -> None:
    response = chat(chunk(content="Yes.", **{member: value}), finish="stop")
    assert sorted(type(block).__name__ for block in response.choices[0].blocks) == sorted(
        kind.__name__ for kind in [Text, *blocks]
    )


def test_the_order_of_kept_members_does_not_depend_on_the_pieces() -> None:
    members = [{"system_fingerprint": "f"}, {"service_tier": "default", "created": 1}, {"provider": "p", "created": 2}]
    chunks = [f"data: {json.dumps(chunk(content='a') | more)}\n\n".encode() for more in members]
    for pieces in ([b"".join(chunks)], chunks, [chunks[0], b"".join(chunks[1:])]):
        decoder = StreamDecoder("openai.chat")
        for piece in pieces:
            decoder.feed(piece)
        assert list(decoder.finish().extra) == ["provider", "created", "service_tier", "system_fingerprint"]


def test_members_without_a_canonical_field_survive_alone() -> None:
    assert chat(chunk(strange=1), finish="stop").choices[0].extra == {"message": {"strange": 1}}
    assert chat(chunk(annotations=[{"a": 1}]), finish="stop").choices[0].extra == {"annotations": [{"a": 1}]}
