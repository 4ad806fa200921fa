"""The same conversation is the same bytes, in every process; closed messages stay as they are while it grows."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from tests.normalizer.history.processes import printed_under_any_hash_seed
from tests.normalizer.history.talks import WIRES, conversations
from tests.normalizer.recorded.rows import rows
from tests.support.thoroughness import examples
from toolparity.normalizer.conversation import (
    Assistant,
    Message,
    Request,
    System,
    TextPart,
    ToolResult,
    ToolResults,
    User,
)
from toolparity.normalizer.json_codec import encode
from toolparity.normalizer.model import Choice, Response, Stop, Text, ToolCall
from toolparity.normalizer.requests import check_request, read_request, write_request

WIRE = "anthropic.messages"
PARAMS = {"max_tokens": 9}


def write(turns: list[Message], source: str) -> dict[str, Any]:
    body: dict[str, Any] = write_request(Request(source, "m", turns, params=PARAMS), WIRE).body
    return body


def closed(body: dict[str, Any]) -> list[bytes]:
    """Each message's bytes; an answer that the request asks to continue is not closed yet."""
    messages = body["messages"]
    if messages and messages[-1]["role"] == "assistant":
        messages = messages[:-1]
    return [encode(message) for message in messages]


def said(*blocks: Any, wire: str = WIRE) -> Assistant:
    return Assistant(Response(wire, None, None, "m", [Choice(0, list(blocks), Stop("end_turn"))]))


@given(conversations(), st.sampled_from(WIRES))
@example([[User([TextPart("a")]), said(Text("b "))], [User([TextPart("c")])]], WIRE)
@examples(150)
def test_a_conversation_that_grows_keeps_its_closed_messages(talk: list[list[Message]], source: str) -> None:
    before: list[bytes] = []
    turns: list[Message] = []
    for more in talk:
        turns = [*turns, *more]
        now = closed(write(turns, source))
        assert now[: len(before)] == before
        assert closed(write(turns, source)) == now
        before = now


@given(conversations(), st.sampled_from(WIRES))
@examples(150)
def test_whatever_was_said_on_whatever_wire_is_written_legally(talk: list[list[Message]], source: str) -> None:
    turns = [turn for part in talk for turn in part]
    if not any(isinstance(turn, (User, Assistant)) for turn in turns):
        return  # instructions alone are not a request here
    assert check_request(write(turns, source), WIRE) == []


@given(conversations(WIRE))
@examples(100)
def test_what_was_written_is_written_again_the_same_after_reading(talk: list[list[Message]]) -> None:
    once = write([turn for part in talk for turn in part], WIRE)
    assert encode(write_request(read_request(once, WIRE)).body) == encode(once)


def test_recorded_conversations_keep_their_closed_messages_round_by_round(recordings: Path) -> None:
    grown = 0
    for row in rows(recordings, WIRE):
        if row.request is None or row.failed:
            continue
        request = read_request(row.request, WIRE, provider=row.provider)
        ends = [place for place, turn in enumerate(request.messages) if isinstance(turn, Assistant)]
        whole = [encode(message) for message in write_request(request).body["messages"]]
        for end in ends:
            body = write(request.messages[:end], WIRE)
            assert closed(body) == whole[: len(closed(body))], row.id
            grown += 1
    assert grown > 400


PROGRAM = """
import json
from toolparity.normalizer.conversation import Assistant, Request, TextPart, ToolDefinition
from toolparity.normalizer.conversation import ToolResult, ToolResults, User
from toolparity.normalizer.json_codec import text
from toolparity.normalizer.model import Choice, Response, ServerToolCall, ServerToolResult, Stop, Text, ToolCall
from toolparity.normalizer.requests import write_request
called = (("call 0", "a.b"), ("call:0", "a b"))
calls = [ToolCall(id, name, {"b": 1, "a": 2}, '{"b":1,"a":2}', extra={"y": 1, "x": 2}) for id, name in called]
served = [ServerToolCall(id, "web_search", "web_search") for id in ("srvtoolu_1", "srvtoolu_2", "srvtoolu_3")]
found = [ServerToolResult("srvtoolu_2", "web_search", raw={"type": "web_search_tool_result"})]
end = Stop("end_turn")
turns = [
    User([TextPart("hi", {"cache": 1, "mark": 2})]),
    Assistant(Response("openai.chat", "openai", None, "m", [Choice(0, calls, Stop("tool_calls"))])),
    ToolResults([ToolResult(call.id, [TextPart("ok")]) for call in calls]),
    Assistant(Response("anthropic.messages", None, None, "m", [Choice(0, [*served, *found, Text("a")], end)])),
    User([TextPart("bye")]),
]
schema = {"type": "object", "properties": {"z": {}, "a": {}}}
tools = [ToolDefinition(name, parameters=schema) for name in ("a.b", "a b")]
request = Request("openai.chat", "m", turns, tools, params={"user": "u", "seed": 2, "n": 1})
encoded = write_request(request, "anthropic.messages")
print(text(encoded.body), [(l.code, l.message) for l in encoded.losses], encoded.ids, encoded.names)
"""


@pytest.mark.thorough(keep=1)
@pytest.mark.parametrize("optimized", [[], ["-O"]], ids=["", "-O"])
def test_every_process_writes_the_same_whatever_its_hash_seed(optimized: list[str]) -> None:
    line = printed_under_any_hash_seed(PROGRAM, optimized)
    body = json.JSONDecoder().raw_decode(line)[0]
    assert [block["id"] for block in body["messages"][3]["content"][:1]] == ["srvtoolu_2"]


def test_ids_that_return_in_later_rounds_become_unique_without_touching_the_earlier_ones() -> None:
    """Failures ID-10 and ID-21: elsewhere ids are unique only within a turn."""
    turns: list[Message] = []
    for number in range(3):
        turns += [
            User([TextPart(f"question {number}")]),
            said(ToolCall("call_0", "f", {}, "{}"), wire="openai.chat"),
            ToolResults([ToolResult("call_0", [TextPart(f"answer {number}")])]),
        ]
    encoded = write_request(Request("openai.chat", "m", [System([TextPart("s")]), *turns], params=PARAMS), WIRE)
    ids = [message["content"][0]["id"] for message in encoded.body["messages"] if message["role"] == "assistant"]
    answers = [
        (message["content"][0]["tool_use_id"], message["content"][0]["content"])
        for message in encoded.body["messages"]
        if message["role"] == "user" and not isinstance(message["content"], str)
    ]
    assert ids[0] == "call_0"
    assert len(set(ids)) == 3
    assert answers == [(id, f"answer {number}") for number, id in enumerate(ids)]
    assert {encoded.ids[id] for id in ids[1:]} == {"call_0"}
    assert check_request(encoded.body, WIRE) == []
