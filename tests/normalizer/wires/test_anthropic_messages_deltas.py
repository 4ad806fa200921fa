"""Deltas of anthropic.messages with other members than their block expects: each piece is kept somewhere."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.support.decoding import codes, feed, only
from tests.support.events import anthropic_body, anthropic_stream, block_start, block_stop, json_delta, text_delta
from toolparity import Opaque, Reasoning, Response, Text, ToolCall, normalize
from toolparity.normalizer.events import BlockDelta


def delta(kind: str, **members: Any) -> dict[str, Any]:
    """A delta for the first block."""
    return {"type": "content_block_delta", "index": 0, "delta": {"type": kind, **members}}


def read(block: dict[str, Any], *deltas: dict[str, Any], stop: str = "end_turn") -> list[Response]:
    """One block and its deltas: bytes in one piece, event by event, with spaces in the JSON, and as objects."""
    given = anthropic_stream(block_start(0, **block), *deltas, block_stop(0), stop=stop)
    events = [json.loads(line[6:]) for line in given.decode().splitlines() if line.startswith("data: ")]
    separators = ((",", ":"), (", ", ": "))
    lines = [[b"data: " + json.dumps(e, separators=s).encode() + b"\n\n" for e in events] for s in separators]
    forms: list[list[Any]] = [[b"".join(lines[0])], lines[0], [b"".join(lines[1])], events]
    return [feed("anthropic.messages", pieces)[0] for pieces in forms]


TOOL = {"type": "tool_use", "id": "a", "name": "f", "input": {}}


@pytest.mark.parametrize("more", [{"text": ""}, {"thinking": ""}, {"text": None}, {"text": "x"}])
def test_arguments_are_kept_whatever_is_beside_them(more: dict[str, Any]) -> None:
    first = delta("input_json_delta", **more, partial_json='{"a":')
    for response in read(TOOL, first, json_delta(0, "1}"), stop="tool_use"):
        assert response.choices[0].blocks == [ToolCall("a", "f", {"a": 1}, '{"a":1}')]
    for response in read(TOOL, delta("input_json_delta", partial_json="", text='{"a":1}'), stop="tool_use"):
        assert only(response).arguments == {"a": 1}


def test_a_streamed_block_of_an_unknown_type_is_what_it_is_in_a_whole_body() -> None:
    head = {"type": "new_tool_use", "id": "n", "name": "z"}
    late = {"thinking": "Hm.", "signature": "SIG", "citations": [{"n": 1}, {"n": 2}]}
    whole = head | {"input": {"q": ["x"]}, "text": "Well, then."} | late
    deltas = [
        *(json_delta(0, '{"q":'), json_delta(0, '["x"]}'), text_delta(0, ", "), text_delta(0, "then.")),
        *(delta("thinking_delta", thinking="Hm."), delta("signature_delta", signature="SIG")),
        *(delta("citations_delta", citation=citation) for citation in late["citations"]),
    ]
    expected = normalize(anthropic_body(whole, stop="end_turn"), "anthropic.messages").choices[0].blocks
    assert expected == [Opaque("new_tool_use", whole)]
    for response in read(head | {"input": {}, "text": "Well"}, *deltas):
        assert response.choices[0].blocks == expected
        assert codes(response) == ["unknown-block"]


def test_invalid_arguments_of_an_unknown_block_remain_text_beside_it_and_its_pieces_are_shown() -> None:
    block = {"type": "new_tool_use", "id": "n", "input": {}}
    for response in read(block, json_delta(0, '{"q":'), json_delta(0, '"cut')):
        assert response.choices[0].blocks == [Opaque("new_tool_use", block, {"partial_json": '{"q":"cut'})]
    body = anthropic_stream(block_start(0, type="new_thing"), text_delta(0, "a"), text_delta(0, "b"), block_stop(0))
    shown = [event.text for event in feed("anthropic.messages", [body])[1] if isinstance(event, BlockDelta)]
    assert shown == ["a", "b"]


def test_a_compaction_and_a_thought_keep_their_signature() -> None:
    deltas = [
        delta("compaction_delta", content="What was "),
        delta("compaction_delta", content="it.", encrypted_content="EN"),
        delta("compaction_delta", encrypted_content="C"),
        delta("signature_delta", signature="SIG"),
    ]
    for response in read({"type": "compaction", "content": None}, *deltas):
        kept = Reasoning("What was it.", "SIG", "ENC", False, {"type": "compaction"})
        assert response.choices[0].blocks == [kept]
    block = {"type": "thinking", "thinking": "", "signature": ""}
    for response in read(block, delta("thinking_delta", thinking="Hm.", signature="SIG")):
        assert response.choices[0].blocks == [Reasoning("Hm.", "SIG")]


def test_a_block_without_a_place_for_a_signature_or_a_citation_keeps_both_in_extra() -> None:
    signed = delta("signature_delta", signature="SIG")
    for response in read({"type": "text", "text": ""}, text_delta(0, "Hi."), signed):
        assert response.choices[0].blocks == [Text("Hi.", [], {"signature": "SIG"})]
    cited = delta("citations_delta", citation={"n": 1})
    for response in read(TOOL, json_delta(0, "{}"), signed, cited, stop="tool_use"):
        assert only(response).extra == {"signature": "SIG", "citations": [{"n": 1}]}


def test_absent_arguments_are_reported_as_empty() -> None:
    absent = {"type": "tool_use", "id": "a", "name": "f"}
    there = {"type": "tool_use", "id": "b", "name": "g", "input": {"x": 1}}
    response = normalize(anthropic_body(absent, there), "anthropic.messages")
    assert [(f.code, f.block) for f in response.findings] == [("arguments-empty", 0), ("arguments-respelled", 1)]
