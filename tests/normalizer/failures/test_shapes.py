"""Failures of the classes whole-in-one, parse and custom-tools: everything at once, nothing but calls, other kinds."""

from __future__ import annotations

import random

import pytest

from tests.support.decoding import (
    FORMS,
    anthropic,
    chat,
    codes,
    decode_stream,
    only,
    respond,
    responses,
    shapes,
    traffic,
    triples,
)
from tests.support.events import (
    anthropic_body,
    block_start,
    block_stop,
    chat_body,
    chat_call,
    chunk,
    function_call,
    grpc_body,
    grpc_call,
    grpc_chunk,
    item_events,
    json_delta,
    piece,
    responses_body,
    sse,
    text_delta,
    tool_start,
)
from toolparity import Response, StreamDecoder, Text, ToolCall, normalize, select
from toolparity.normalizer.events import BlockDelta

EVERY_FORM = pytest.mark.parametrize(("wire", "streamed"), FORMS)
CALLS = [("a", "f", '{"s":"\\u00e9 } \\" {"}'), ("b", "g", "{}"), ("c", "f", '{"n":[1,{"x":null}]}')]


def _canonical(response: Response) -> tuple[list[tuple[str, object, str]], str, bool]:
    return shapes(response), response.choices[0].stop.reason, response.complete


@pytest.mark.parametrize("wire", ["openai.chat", "openai.responses", "anthropic.messages"])
def test_ONE_01_the_split_of_arguments_and_bytes_does_not_change_the_response(wire: str) -> None:
    expected = _canonical(respond(wire, False, CALLS))
    assert expected == (
        [("f", {"s": 'é } " {'}, "complete"), ("g", {}, "complete"), ("f", {"n": [1, {"x": None}]}, "complete")],
        "tool_calls",
        True,
    )
    for size in (1, 2, 3, 5, 1000):
        body = b"".join(traffic(wire, True, CALLS, size))
        random_source = random.Random(size)
        cuts = sorted(random_source.sample(range(1, len(body)), 40))
        pieces = [body[a:b] for a, b in zip([0, *cuts], [*cuts, len(body)], strict=True)]
        for fed in (body, [body[at : at + 1] for at in range(len(body))], pieces):
            response = decode_stream(wire, fed)
            assert _canonical(response) == expected
            assert codes(response) == []


def test_ONE_01_a_complete_message_in_one_delta_keeps_all_its_calls() -> None:
    pieces = [piece(index, *call) for index, call in enumerate(CALLS)]
    response = chat(chunk(*pieces, role="assistant", content="Both."))
    assert response.choices[0].blocks[0] == Text("Both.")
    assert _canonical(response) == _canonical(respond("openai.chat", False, CALLS))


@pytest.mark.parametrize("size", [1, 2, 3, 1000])
def test_ONE_01_call_fragments_are_concatenated_on_the_protobuf_wire(size: int) -> None:
    chunks = []
    for id, name, text in CALLS:
        for at in range(0, len(text), size):
            chunks.append(grpc_chunk(grpc_call(id, name, text[at : at + size]), role=2))
    response = decode_stream("xai.grpc", [*chunks, grpc_chunk(finish=4)])
    assert _canonical(response) == _canonical(respond("xai.grpc", False, CALLS))


BLOCKS = [Text("before "), ToolCall("a", "f", {"x": 1}, '{"x":1}'), Text("after")]


def _said(response: Response) -> list[object]:
    """The blocks, without what only their own wire knows."""
    return [
        Text(block.text)
        if isinstance(block, Text)
        else ToolCall(block.id, block.name, block.arguments, block.arguments_text)
        for block in response.choices[0].blocks
        if isinstance(block, (Text, ToolCall))
    ]


def test_ONE_03_text_around_a_call_is_kept_in_order_on_anthropic() -> None:
    body = anthropic_body(
        {"type": "text", "text": "before "},
        {"type": "tool_use", "id": "a", "name": "f", "input": {"x": 1}},
        {"type": "text", "text": "after"},
    )
    streamed = anthropic(
        *(block_start(0, type="text", text=""), text_delta(0, "bef"), text_delta(0, "ore "), block_stop(0)),
        *(tool_start(1, "a", "f"), json_delta(1, '{"x":1}'), block_stop(1)),
        *(block_start(2, type="text", text=""), text_delta(2, "after"), block_stop(2)),
    )
    assert _said(streamed) == _said(normalize(body, "anthropic.messages")) == BLOCKS


def test_ONE_03_text_around_a_call_is_kept_in_order_on_responses() -> None:
    def message(id: str, text: str) -> dict[str, object]:
        part = {"type": "output_text", "text": text, "annotations": []}
        return {"type": "message", "id": id, "role": "assistant", "status": "completed", "content": [part]}

    def text_events(index: int, id: str, text: str) -> list[dict[str, object]]:
        begun = {**message(id, ""), "content": [], "status": "in_progress"}
        return [
            {"type": "response.output_item.added", "output_index": index, "item": begun},
            {
                "type": "response.output_text.delta",
                "output_index": index,
                "item_id": id,
                "content_index": 0,
                "delta": text,
            },
        ]

    call = function_call("a", "f", '{"x":1}', id="fc_1")
    body = responses_body(message("m1", "before "), call, message("m2", "after"))
    events = [*text_events(0, "m1", "before "), *item_events(1, call), *text_events(2, "m2", "after")]
    assert _said(normalize(body, "openai.responses")) == BLOCKS
    assert _said(responses(*events, end=body)) == BLOCKS
    assert _said(responses(*events)) == BLOCKS


def test_ONE_03_text_before_and_after_a_call_is_kept_on_wires_without_order() -> None:
    expected = [Text("before after"), ToolCall("a", "f", {"x": 1}, '{"x":1}')]
    body = chat_body(chat_call("a", "f", '{"x":1}'), content="before after")
    streamed = chat(chunk(content="before "), piece(0, "a", "f", '{"x":1}'), chunk(content="after"))
    assert streamed.choices[0].blocks == normalize(body, "openai.chat").choices[0].blocks == expected
    whole = normalize(grpc_body(grpc_call("a", "f", '{"x":1}'), content="before after"), "xai.grpc")
    call = grpc_call("a", "f", '{"x":1}')
    pieces = [grpc_chunk(content="before ", role=2), grpc_chunk(call), grpc_chunk(content="after", finish=4)]
    assert decode_stream("xai.grpc", pieces).choices[0].blocks == whole.choices[0].blocks == expected


@EVERY_FORM
def test_BED_04_an_answer_of_only_calls_is_complete(wire: str, streamed: bool) -> None:
    response = respond(wire, streamed, [("a", "f", '{"x":1}')])
    assert triples(response) == [("a", "f", {"x": 1})]
    assert (response.complete, response.error, response.choices[0].stop.reason) == (True, None, "tool_calls")
    assert codes(response) == []
    assert len(select(response).kept) == 1


@pytest.mark.parametrize("empty", [[], None], ids=["list", "null"])
def test_EMPTY_02_an_empty_list_of_calls_adds_no_call(empty: list[object] | None) -> None:
    decoder = StreamDecoder("openai.chat")
    words = [chunk(content=word, tool_calls=empty) for word in ("One ", "two ", "three.")]
    events = decoder.feed(sse(*words, chunk(finish="stop", tool_calls=empty), done=True))
    assert {event.key for event in events if isinstance(event, BlockDelta)} == {0}
    response = decoder.finish()
    assert response.choices[0].blocks == [Text("One two three.")]
    assert response.choices[0].stop.reason == "end_turn"
    assert codes(response) == []
    body = chat_body(finish="stop", content="Done.", tool_calls=empty)
    whole = normalize(body, "openai.chat")
    assert (whole.choices[0].blocks, whole.choices[0].stop.reason, codes(whole)) == ([Text("Done.")], "end_turn", [])


PATCH = 'not json {\n*** "begin"'


def _custom_forms() -> dict[str, Response]:
    item = {
        "type": "custom_tool_call",
        "id": "ctc_1",
        "call_id": "a",
        "name": "patch",
        "input": PATCH,
        "status": "completed",
    }
    call = {"id": "a", "type": "custom", "custom": {"name": "patch", "input": PATCH}}
    head = {"index": 0, "id": "a", "type": "custom", "custom": {"name": "patch", "input": ""}}
    rest = [{"index": 0, "custom": {"input": part}} for part in (PATCH[:7], PATCH[7:])]
    return {
        "responses": normalize(responses_body(item), "openai.responses"),
        "responses stream": responses(*item_events(0, item)),
        "responses stream with output": responses(*item_events(0, item), end=responses_body(item)),
        "chat": normalize(chat_body(call), "openai.chat"),
        "chat stream": chat(head, *rest),
    }


@pytest.mark.parametrize("form", list(_custom_forms()))
def test_CUST_01_the_input_of_a_custom_call_is_text_and_never_parsed(form: str) -> None:
    response = _custom_forms()[form]
    call = only(response)
    assert (call.id, call.name, call.kind, call.status) == ("a", "patch", "custom", "complete")
    assert (call.arguments, call.arguments_text) == (None, PATCH)
    assert not [code for code in codes(response) if code.startswith("arguments")]
    assert [ref.id for ref in select(response).kept] == ["a"]


BUILT_IN = [
    ("apply_patch_call", "operation", {"type": "delete_file", "path": "a"}, "apply_patch"),
    ("local_shell_call", "action", {"type": "exec", "command": ["ls"]}, "local_shell"),
    ("shell_call", "action", {"commands": ["ls"]}, "shell"),
    ("computer_call", "action", {"type": "click", "x": 1, "y": 2}, "computer"),
]


@pytest.mark.parametrize(("type_", "member", "given", "kind"), BUILT_IN, ids=[row[0] for row in BUILT_IN])
def test_CUST_02_tools_that_the_provider_defines_and_the_caller_runs_are_client_calls(
    type_: str, member: str, given: dict[str, object], kind: str
) -> None:
    item = {"type": type_, "id": "i_1", "call_id": "call_1", "status": "completed", member: given}
    added = {"type": "response.output_item.added", "output_index": 0, "item": {**item, "status": "in_progress"}}
    done = {"type": "response.output_item.done", "output_index": 0, "item": item}
    for response in (normalize(responses_body(item), "openai.responses"), responses(added, done)):
        call = only(response)
        assert (call.id, call.wire_id, call.kind, call.arguments, call.status) == (
            "call_1",
            "i_1",
            kind,
            given,
            "complete",
        )
        assert response.choices[0].stop.reason == "tool_calls"
        assert [ref.id for ref in select(response).kept] == ["call_1"]
