"""Failures of the classes whole-in-one, parse and custom-tools: everything at once, nothing but calls, other kinds."""

from __future__ import annotations

import random

import pytest

from tests.support.decoding import FORMS, both, chat, codes, decode_stream, only, respond, responses, shapes, traffic
from tests.support.emit import LOOKUP
from tests.support.events import (
    added,
    chat_body,
    chunk,
    done,
    function_call,
    grpc_call,
    grpc_chunk,
    item_events,
    responses_body,
    sse,
)
from toolparity import Response, StreamDecoder, Text, ToolCall, normalize, select
from toolparity.cassettes.scripts import Say
from toolparity.normalizer.events import BlockDelta

CHAT, RESPONSES, CLAUDE, XAI = "openai.chat", "openai.responses", "anthropic.messages", "xai.grpc"
CALLS = [("a", "f", '{"s":"\\u00e9 } \\" {"}'), ("b", "g", "{}"), ("c", "f", '{"n":[1,{"x":null}]}')]
SHAPES = [("f", {"s": 'é } " {'}, "complete"), ("g", {}, "complete"), ("f", {"n": [1, {"x": None}]}, "complete")]


def assert_complete(response: Response) -> None:
    """The response has the three calls, and nothing to report."""
    assert shapes(response) == SHAPES
    assert (response.choices[0].stop.reason, response.complete, codes(response)) == ("tool_calls", True, [])


@pytest.mark.parametrize("wire", [CHAT, RESPONSES, CLAUDE])
def test_ONE_01_the_split_of_arguments_and_bytes_does_not_change_the_response(wire: str) -> None:
    assert_complete(respond(wire, False, CALLS))
    for size in (1, 2, 3, 5, 1000):
        body = b"".join(traffic(wire, True, CALLS, size))
        cuts = sorted(random.Random(size).sample(range(1, len(body)), 40))
        pieces = [body[a:b] for a, b in zip([0, *cuts], [*cuts, len(body)], strict=True)]
        for fed in (body, [body[at : at + 1] for at in range(len(body))], pieces):
            assert_complete(decode_stream(wire, fed))
        parts = [(id, name, text[at : at + size]) for id, name, text in CALLS for at in range(0, len(text), size)]
        chunks = [grpc_chunk(grpc_call(*given), role=2) for given in parts]
        assert shapes(decode_stream(XAI, [*chunks, grpc_chunk(finish=4)])) == SHAPES


#: The wires whose answers have an order of texts and calls.
ORDERED = (RESPONSES, CLAUDE, "bedrock.converse", "google.gemini", "google.interactions")


@pytest.mark.parametrize("wire", ORDERED)
def test_ONE_03_text_around_a_call_is_kept_in_order(wire: str) -> None:
    for response in both(wire, [Say("before "), LOOKUP, Say("after")], "tool_calls"):
        before, call, after = response.choices[0].blocks
        assert isinstance(before, Text)
        assert isinstance(after, Text)
        assert (before.text, call, after.text) == ("before ", only(response), "after")
        assert only(response).arguments == {"city": "Turin"}


@pytest.mark.parametrize(("wire", "streamed"), FORMS)
def test_BED_04_an_answer_of_only_calls_is_complete(wire: str, streamed: bool) -> None:
    response = respond(wire, streamed, CALLS)
    assert_complete(response)
    assert [type(block) for block in response.choices[0].blocks] == [ToolCall] * 3
    assert (response.error, [ref.id for ref in select(response).kept]) == (None, ["a", "b", "c"])


@pytest.mark.parametrize("empty", [[], None], ids=["list", "null"])
def test_EMPTY_02_an_empty_list_of_calls_adds_no_call(empty: list[object] | None) -> None:
    decoder = StreamDecoder(CHAT)
    texts = [chunk(content=word, tool_calls=empty) for word in ("One ", "two.")]
    events = decoder.feed(sse(*texts, chunk(finish="stop", tool_calls=empty), done=True))
    assert {event.key for event in events if isinstance(event, BlockDelta)} == {0}
    whole = normalize(chat_body(finish="stop", content="One two.", tool_calls=empty), CHAT)
    for response in (decoder.finish(), whole):
        assert (response.choices[0].blocks, response.choices[0].stop.reason) == ([Text("One two.")], "end_turn")
        assert codes(response) == []


def test_CUST_01_the_input_of_a_custom_call_is_text_and_never_parsed() -> None:
    patch = 'not json {\n*** "begin"'
    item = function_call("a", "patch", "", type="custom_tool_call", id="ctc_1", input=patch)
    del item["arguments"]
    call = {"id": "a", "type": "custom", "custom": {"name": "patch", "input": patch}}
    head = {"index": 0, "id": "a", "type": "custom", "custom": {"name": "patch", "input": ""}}
    for response in (
        normalize(responses_body(item), RESPONSES),
        responses(*item_events(0, item)),
        responses(*item_events(0, item), end=responses_body(item)),
        normalize(chat_body(call), CHAT),
        chat(head, *({"index": 0, "custom": {"input": part}} for part in (patch[:7], patch[7:]))),
    ):
        made = only(response)
        assert (made.id, made.name, made.kind, made.status) == ("a", "patch", "custom", "complete")
        assert (made.arguments, made.arguments_text) == (None, patch)
        assert not [code for code in codes(response) if code.startswith("arguments")]
        assert [ref.id for ref in select(response).kept] == ["a"]


OF_THE_CALLER: list[tuple[str, str, dict[str, object]]] = [
    ("apply_patch", "operation", {"type": "delete_file", "path": "a"}),
    ("local_shell", "action", {"type": "exec", "command": ["ls"]}),
    ("shell", "action", {"commands": ["ls"]}),
    ("computer", "action", {"type": "click", "x": 1, "y": 2}),
]


def test_CUST_02_tools_that_the_provider_defines_and_the_caller_runs_are_client_calls() -> None:
    for kind, member, given in OF_THE_CALLER:
        item = {"type": f"{kind}_call", "id": "i_1", "call_id": "a", "status": "completed", member: given}
        events = added(0, {**item, "status": "in_progress"}), done(0, item)
        for response in (normalize(responses_body(item), RESPONSES), responses(*events)):
            call = only(response)
            assert (call.id, call.wire_id, call.kind, call.status) == ("a", "i_1", kind, "complete")
            assert (call.arguments, response.choices[0].stop.reason) == (given, "tool_calls")
            assert [ref.id for ref in select(response).kept] == ["a"]
