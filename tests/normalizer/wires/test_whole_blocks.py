"""A block that a stream sends whole, without deltas, is shown whole: events alone are enough to show an answer."""

from __future__ import annotations

from typing import Any

import pytest

from tests.support.decoding import feed
from tests.support.events import added, block_delta, block_start, block_stop, delta_chunk, done, sse
from toolparity import normalize
from toolparity.normalizer.events import BlockDelta, BlockStart, BlockStop, Event


def shown(wire: str, events: list[dict[str, Any]], **options: Any) -> list[Event]:
    """The events of blocks that a stream gives."""
    _, out = feed(wire, [sse(*events)], **options)
    return [event for event in out if isinstance(event, BlockStart | BlockDelta | BlockStop)]


def item(**members: Any) -> list[dict[str, Any]]:
    """An output item that is added and done with nothing in between."""
    return [added(0, {**members, "status": "in_progress"}), done(0, {**members, "status": "completed"})]


def test_a_call_without_deltas_is_shown_with_its_arguments_and_a_message_part_by_part() -> None:
    call = item(type="function_call", id="fc", call_id="c", name="f", arguments='{"a": 1}')
    start = BlockStart(0, 0, "tool_call", "c", "f")
    assert shown("openai.responses", call) == [start, BlockDelta(0, 0, '{"a": 1}'), BlockStop(0, 0)]
    parts = [{"type": "output_text", "text": "Well."}, {"type": "refusal", "refusal": "No."}]
    assert shown("openai.responses", item(type="message", id="m", role="assistant", content=parts)) == [
        *(BlockStart(0, 0, "text"), BlockDelta(0, 0, "Well."), BlockStart(0, 1, "refusal"), BlockDelta(0, 1, "No.")),
        *(BlockStop(0, 0), BlockStop(0, 1)),
    ]


SEARCH = {"type": "tool_search_call", "arguments": {"q": 1}}
SHELL = {"type": "shell_call", "action": {"q": 1}}


@pytest.mark.parametrize(
    ("members", "block"),
    [
        (SEARCH | {"execution": "client"}, "tool_call"),
        (SEARCH | {"execution": "server"}, "server_tool_call"),
        (SHELL, "tool_call"),
        (SHELL | {"environment": {"type": "local"}}, "tool_call"),
        (SHELL | {"environment": {"type": "container_reference"}}, "server_tool_call"),
    ],
)
def test_a_call_is_shown_as_the_type_that_it_has_in_the_response(members: dict[str, Any], block: str) -> None:
    events = item(id="i", call_id="c", **members)
    begun, delta, _ = shown("openai.responses", events)
    assert (begun, delta) == (BlockStart(0, 0, block, "c", None), BlockDelta(0, 0, '{"q": 1}'))
    response = normalize({"object": "response", "status": "completed", "output": [events[1]["item"]]})
    assert [found.__struct_config__.tag for _, _, found in response.walk()] == [block]


def test_a_custom_call_of_xai_is_shown_as_its_own() -> None:
    call = item(type="custom_tool_call", id="i", call_id="c", name="x_keyword_search", input="q")
    for provider, block in (("xai", "server_tool_call"), ("openai", "tool_call")):
        begun, delta, _ = shown("openai.responses", call, provider=provider, request={"tools": []})
        assert (begun, delta) == (BlockStart(0, 0, block, "c", "x_keyword_search"), BlockDelta(0, 0, "q"))


@pytest.mark.parametrize("kind", ["tool_use", "server_tool_use", "mcp_tool_use"])
def test_the_input_of_a_block_is_shown_once_also_if_it_comes_with_the_start(kind: str) -> None:
    block = "tool_call" if kind == "tool_use" else "server_tool_call"
    for given, deltas in (({}, []), ({"a": 1}, [block_delta(0, "input_json", '{"a":1}')])):
        start = block_start(0, type=kind, id="t", name="f", input=given)
        assert shown("anthropic.messages", [start, *deltas, block_stop(0)]) == [
            BlockStart(0, 0, block, "t", "f"),
            BlockDelta(0, 0, '{"a":1}' if deltas else "{}"),
            BlockStop(0, 0),
        ]


def test_members_beside_the_words_of_a_streamed_thinking_part_are_kept() -> None:
    def part(text: str) -> dict[str, Any]:
        return {"type": "thinking", "thinking": [{"type": "text", "text": text}], "closed": True}

    response, _ = feed("openai.chat", [sse(delta_chunk({"content": [part(text)]})) for text in ("a", "b")])
    whole = {"choices": [{"index": 0, "message": {"content": [part("ab")]}, "finish_reason": "stop"}]}
    assert response.choices[0].blocks == normalize(whole, "openai.chat").choices[0].blocks


def test_the_200_of_a_stream_does_not_make_its_error_final() -> None:
    errors = [(200, "overloaded_error", True), (200, "invalid_request_error", False)]
    for status, kind, retryable in (*errors, (200, "other", None), (529, "other", True)):
        event = {"type": "error", "error": {"type": kind, "message": "m"}}
        error = feed("anthropic.messages", [sse(event)], status=status)[0].error
        assert error is not None
        assert (error.type, error.status, error.retryable) == (kind, status, retryable)


def test_words_of_the_user_in_a_compacted_conversation_keep_their_role() -> None:
    content = [{"type": "input_text", "text": "Hi"}]
    body = {"object": "response.compaction", "output": [{"type": "message", "role": "user", "content": content}]}
    (block,) = normalize(body, "openai.responses").choices[0].blocks
    assert block.extra["role"] == "user"
