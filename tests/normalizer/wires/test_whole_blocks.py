"""What a stream sends whole, without deltas, is shown whole: a caller who draws from events misses nothing."""

from __future__ import annotations

import json
from typing import Any

import pytest

from toolparity import StreamDecoder, normalize
from toolparity.normalizer.events import BlockDelta, BlockStart, BlockStop, Event


def shown(wire: str, events: list[dict[str, Any]], **told: Any) -> list[Event]:
    """The events of blocks that a stream gives."""
    decoder = StreamDecoder(wire, **told)
    out = decoder.feed(b"".join(b"data: " + json.dumps(event).encode() + b"\n\n" for event in events))
    return [event for event in out if isinstance(event, BlockStart | BlockDelta | BlockStop)]


def item(**members: Any) -> list[dict[str, Any]]:
    """An output item that is added and done with nothing in between."""
    return [
        {"type": "response.output_item.added", "output_index": 0, "item": {**members, "status": "in_progress"}},
        {"type": "response.output_item.done", "output_index": 0, "item": {**members, "status": "completed"}},
    ]


def test_a_function_call_without_deltas_is_shown_with_its_arguments() -> None:
    call = item(type="function_call", id="fc", call_id="c", name="f", arguments='{"a": 1}')
    assert shown("openai.responses", call) == [
        BlockStart(0, 0, "tool_call", "c", "f"),
        BlockDelta(0, 0, '{"a": 1}'),
        BlockStop(0, 0),
    ]


def test_a_message_without_deltas_is_shown_part_by_part() -> None:
    parts = [{"type": "output_text", "text": "Well."}, {"type": "refusal", "refusal": "No."}]
    assert shown("openai.responses", item(type="message", id="m", role="assistant", content=parts)) == [
        BlockStart(0, 0, "text"),
        BlockDelta(0, 0, "Well."),
        BlockStart(0, 1, "refusal"),
        BlockDelta(0, 1, "No."),
        BlockStop(0, 0),
        BlockStop(0, 1),
    ]


@pytest.mark.parametrize(
    ("members", "block"),
    [
        ({"type": "tool_search_call", "execution": "client", "arguments": {"q": 1}}, "tool_call"),
        ({"type": "tool_search_call", "execution": "server", "arguments": {"q": 1}}, "server_tool_call"),
        ({"type": "shell_call", "action": {"q": 1}}, "tool_call"),
        ({"type": "shell_call", "action": {"q": 1}, "environment": {"type": "local"}}, "tool_call"),
        (
            {"type": "shell_call", "action": {"q": 1}, "environment": {"type": "container_reference"}},
            "server_tool_call",
        ),
    ],
)
def test_who_runs_a_call_is_shown_as_it_will_stand_in_the_response(members: dict[str, Any], block: str) -> None:
    events = item(id="i", call_id="c", **members)
    begun, delta, _ = shown("openai.responses", events)
    assert begun == BlockStart(0, 0, block, "c", None)
    assert delta == BlockDelta(0, 0, '{"q": 1}')
    body = {"object": "response", "status": "completed", "output": [events[1]["item"]]}
    (stands,) = json.loads(json.dumps([b.__struct_config__.tag for _, _, b in normalize(body).walk()]))
    assert stands == block


@pytest.mark.parametrize(("provider", "block"), [("xai", "server_tool_call"), ("openai", "tool_call")])
def test_a_custom_call_of_xai_is_shown_as_its_own(provider: str, block: str) -> None:
    call = item(type="custom_tool_call", id="i", call_id="c", name="x_keyword_search", input="q")
    begun, delta, _ = shown("openai.responses", call, provider=provider, request={"tools": []})
    assert begun == BlockStart(0, 0, block, "c", "x_keyword_search")
    assert delta == BlockDelta(0, 0, "q")


@pytest.mark.parametrize("kind", ["tool_use", "server_tool_use", "mcp_tool_use"])
def test_input_that_comes_with_the_start_of_a_block_is_shown_at_its_end(kind: str) -> None:
    events = [
        {
            "type": "content_block_start",
            "index": 0,
            "content_block": {"type": kind, "id": "t", "name": "f", "input": {}},
        },
        {"type": "content_block_stop", "index": 0},
    ]
    block = "tool_call" if kind == "tool_use" else "server_tool_call"
    assert shown("anthropic.messages", events) == [
        BlockStart(0, 0, block, "t", "f"),
        BlockDelta(0, 0, "{}"),
        BlockStop(0, 0),
    ]


def test_input_that_was_streamed_is_not_shown_again_at_the_end() -> None:
    delta = {"type": "input_json_delta", "partial_json": '{"a":1}'}
    events = [
        {
            "type": "content_block_start",
            "index": 0,
            "content_block": {"type": "tool_use", "id": "t", "name": "f", "input": {"a": 1}},
        },
        {"type": "content_block_delta", "index": 0, "delta": delta},
        {"type": "content_block_stop", "index": 0},
    ]
    assert shown("anthropic.messages", events) == [
        BlockStart(0, 0, "tool_call", "t", "f"),
        BlockDelta(0, 0, '{"a":1}'),
        BlockStop(0, 0),
    ]


def test_members_beside_the_words_of_a_streamed_thinking_part_are_kept() -> None:
    parts = [{"type": "thinking", "thinking": [{"type": "text", "text": word}], "closed": True} for word in ("a", "b")]
    decoder = StreamDecoder("openai.chat")
    for part in parts:
        chunk = {"id": "c", "choices": [{"index": 0, "delta": {"content": [part]}, "finish_reason": None}]}
        decoder.feed(f"data: {json.dumps(chunk)}\n\n".encode())
    (block,) = decoder.finish().choices[0].blocks
    whole = {"type": "thinking", "thinking": [{"type": "text", "text": "ab"}], "closed": True}
    body = {"choices": [{"index": 0, "message": {"content": [whole]}, "finish_reason": "stop"}]}
    assert [block] == normalize(body, "openai.chat").choices[0].blocks


@pytest.mark.parametrize(
    ("status", "kind", "retryable"),
    [(200, "overloaded_error", True), (200, "invalid_request_error", False), (200, "odd", None), (529, "odd", True)],
)
def test_the_200_of_a_stream_does_not_make_its_error_final(status: int, kind: str, retryable: bool | None) -> None:
    decoder = StreamDecoder("anthropic.messages", status=status)
    event = {"type": "error", "error": {"type": kind, "message": "m"}}
    decoder.feed(f"event: error\ndata: {json.dumps(event)}\n\n".encode())
    error = decoder.finish().error
    assert error is not None
    assert (error.type, error.status, error.retryable) == (kind, status, retryable)


def test_words_of_the_user_in_a_compacted_conversation_keep_their_role() -> None:
    said = [{"type": "input_text", "text": "Hi"}]
    body = {"object": "response.compaction", "output": [{"type": "message", "role": "user", "content": said}]}
    (block,) = normalize(body, "openai.responses").choices[0].blocks
    assert block.extra["role"] == "user"
